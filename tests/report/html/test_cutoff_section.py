"""What the section of the cutoff says, and what it leaves unsaid where it does not know."""

import io
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "runs"))  # for labelled_rows

from labelled_rows import made, rows, unlabelled

from closecall import Case, evaluate
from closecall.calibration.store import save_calibration
from closecall.metrics.function import FunctionMetric
from closecall.report.html.page import write
from closecall.testing import HashEmbedder


def shown(run):
    """The section as it stands without scripts."""
    out = io.StringIO()
    write(run, out)
    text = out.getvalue()
    start = text.index('<section id="cutoff"')
    return text[start : text.index("</section>\n", text.index("</article>", start))]


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def scored(cases, **more):
    return evaluate(
        cases,
        more.pop("metric", "embed_answer_similarity"),
        HashEmbedder(),
        cache=False,
        name="n",
        **more,
    )


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "cutoff.json"
    cases = rows(150, 150)
    one = made(cases, lock=False)
    save_calibration(one, path)
    return one, path, cases


def test_the_evidence_of_the_calibration_stands_in_the_page(calibrated):
    one, path, cases = calibrated
    found = words(shown(scored(cases, calibration=path)))
    assert "What the calibration promises" in found
    assert "Guarantee: " in found
    assert "Held out (5x5 cross-validation" in found
    assert "Slices" in found
    assert "These very labels chose the cutoff" in found
    counts = one.accept_cutoff.counts
    assert f"{counts.false_accepts} of {counts.rejects}" in found


def test_labels_to_look_at_again_tell_neither_score_nor_label_nor_kind(calibrated):
    one, path, cases = calibrated
    html = shown(scored(cases, calibration=path))
    table = html[html.index("Labels to look at again, in no order") :]
    table = table[: table.index("</table>")]
    listed = [entry for entry in one.audit.entries if entry.score is not None]
    assert len(listed) > 10
    for entry in listed:
        assert f"#cases?case={entry.id}" in table
        assert f"{entry.score:.4g}" not in table
    assert "labelled" not in table
    order = re.findall(r"case=(row-\d+)", table)
    kinds = {entry.id: entry.kind for entry in listed}
    turns = sum(kinds[a] != kinds[b] for a, b in pairwise(order))
    assert turns > 3, "the kinds stand one after the other"


def test_a_calibration_file_that_is_gone_is_said_to_be(calibrated, tmp_path):
    one, _, cases = calibrated
    path = tmp_path / "moved.json"
    save_calibration(one, path)
    run = scored(cases, calibration=path)
    path.unlink()
    found = words(shown(run))
    assert "The calibration file moved.json is not there any more" in found
    assert "What the calibration promises" not in found
    assert str(tmp_path) not in found


def test_a_calibration_file_made_anew_says_nothing_of_an_older_run(calibrated, tmp_path):
    one, _, cases = calibrated
    path = tmp_path / "cutoff.json"
    save_calibration(one, path)
    run = scored(cases, calibration=path)
    save_calibration(made(rows(160, 150), lock=False), path)
    found = words(shown(run))
    assert "was made anew since this run" in found
    assert "What the calibration promises" not in found


def test_a_cutoff_of_another_embedder_promises_nothing_here(calibrated):
    _, path, cases = calibrated
    run = evaluate(
        cases,
        "embed_answer_similarity",
        HashEmbedder(model="another"),
        cache=False,
        calibration=path,
        uncalibrated=True,
        name="n",
    )
    found = words(shown(run))
    assert "what was promised there says nothing of this run" in found
    assert "What the calibration promises" not in found
    assert "UNCALIBRATED" in found


def test_without_labels_errors_are_counted_on_those_of_the_calibration(calibrated):
    one, path, _ = calibrated
    run = scored(unlabelled(rows(40, 40, seed=3)), calibration=path)
    found = words(shown(run))
    assert "counted on the labels that chose the cutoff: 150 accepts and 150 rejects" in found
    assert "n = 150 accepts and 150 rejects" in found
    assert one.accept_cutoff.counts.rejects == 150


def test_without_any_label_it_says_so_and_what_to_type(tmp_path):
    found = words(shown(scored(unlabelled(rows(20, 20)))))
    assert "No case of this run has a label, so no error of any cutoff is known." in found
    for command in ("closecall plan", "closecall label", "closecall calibrate"):
        assert command in found
    assert "false accepts" not in found.lower().replace("of false accepts", "")


def test_labels_of_one_kind_tell_no_error():
    found = words(shown(scored(rows(20, 0))))
    assert "20 are accepts and 0 rejects" in found
    assert "20 accepted and none rejected" in found


def test_a_run_without_a_number_has_nothing_to_cut():
    run = scored([Case(id="a", response=" ", references=("b",))])
    out = io.StringIO()
    write(run, out)
    assert "Nothing was measured in this run, so there is no score to cut." in out.getvalue()


def test_hostile_texts_are_text(tmp_path):
    evil = "</script><script>alert(1)</script><b onclick=x>\x1b[31m\u202e"

    def judged(case: Case) -> float:
        return 0.6 if case.label == "accept" else 0.5

    cases = [
        Case(
            id=f"{evil} {at}",
            response=evil,
            references=(evil,),
            label="accept" if at % 2 else "reject",
        )
        for at in range(60)
    ]
    run = scored(cases, metric=FunctionMetric(judged, name=evil, cutoff=0.55))
    html = shown(run)
    assert "<script" not in html
    assert "<b onclick" not in html
    assert "\x1b" not in html
    assert "alert(1)" in html


def test_every_id_of_the_section_is_its_own(calibrated):
    _, path, cases = calibrated
    run = evaluate(
        cases,
        ["embed_answer_similarity", "token_f1"],
        HashEmbedder(),
        cache=False,
        calibration=path,
        name="n",
    )
    ids = re.findall(r' id="([^"]+)"', shown(run))
    assert len(ids) == len(set(ids))
    html = shown(run)
    for named in re.findall(r'aria-labelledby="([^"]+)"', html):
        assert set(named.split()) <= set(ids)


def test_the_same_run_gives_the_same_section(calibrated):
    _, path, cases = calibrated
    run = scored(cases, calibration=path)
    assert shown(run) == shown(run)
