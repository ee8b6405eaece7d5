"""Whether the cases of a run look like the labelled ones: what is found, said, and kept."""

import io
import json
import random

import pytest
from labelled_rows import made, rows
from msgspec.structs import replace

from closecall import evaluate, load_run
from closecall.errors import RunFolderError
from closecall.report.formats import write as report
from closecall.runs.calibrations import Given
from closecall.runs.monitor import Monitor, from_json, to_json
from closecall.testing import HashEmbedder


def talkative(cases):
    """The same cases with long answers, as by another assistant."""
    draw = random.Random(4)
    return [
        case
        | {
            "response": f"{case['response']} {' '.join(draw.choices(['well', 'so', 'then'], k=30))}"
        }
        for case in cases
    ]


@pytest.fixture(scope="module")
def calibration():
    return made(rows(system="first", bot={"name": "ada"}), slices=["bot.name"])


def run_of(cases, calibration, **options):
    return evaluate(
        cases, embedder=HashEmbedder(), calibration=calibration, cache=False, **options
    )


def table(run):
    out = io.StringIO()
    report(run, "table", out)
    return " ".join(out.getvalue().split())


def test_cases_like_the_labelled_ones_are_compared_and_nothing_is_found(calibration):
    (found,) = run_of(rows(seed=8, system="first"), calibration).watched
    assert found.metric == "embed_answer_similarity"
    assert (found.shift.findings, found.to_label, found.age) == ((), (), None)
    assert {"score", "length", "negation"} <= set(found.shift.tested)
    assert (found.shift.n_reference, found.shift.n_run) == (120, 120)


def test_what_moved_is_told_with_cases_to_label(calibration, tmp_path):
    cases = talkative(rows(seed=8, system="second"))
    run = run_of(cases, calibration, aef=tmp_path / "run")
    (found,) = run.watched
    moved = {(finding.what, finding.kind, finding.code) for finding in found.shift.findings}
    assert {
        ("length", "numbers", "W10"),
        ("score", "numbers", None),
        ("system", "new_value", "W11"),
    } <= moved
    assert len(set(found.to_label)) == 30
    assert set(found.to_label) <= {case["id"] for case in cases}
    said = table(run)
    head = "embed_answer_similarity, against the labels of its calibration:"
    assert f"{head} W10: answers are longer: median" in said
    assert f"{head} W11: system: 'second' has 120 of 120 cases here" in said
    assert f"{head} label these, drawn at random: {found.to_label[0]}, {found.to_label[1]}" in said
    assert "and 20 more (--format json lists them)" in said
    again = load_run(tmp_path / "run")
    assert again.watched == run.watched
    assert table(again) == said
    out = io.StringIO()
    report(again, "json", out)
    (watched,) = json.loads(out.getvalue())["watched"]
    assert watched["toLabel"] == list(found.to_label)
    assert watched["shift"]["nRun"] == watched["shift"]["findings"][0]["nRun"] == 120
    assert watched["shift"]["findings"][0].keys() >= {"what", "kind", "p", "words"}


def test_the_same_cases_are_drawn_every_time(calibration):
    first, second = (run_of(talkative(rows(seed=8)), calibration).watched for _ in range(2))
    assert first == second
    assert first[0].to_label


def test_a_few_cases_are_not_enough_to_tell(calibration):
    (found,) = run_of(talkative(rows(5, 5, seed=8)), calibration).watched
    assert found.shift.findings == ()
    assert "10 independent cases here" in found.shift.untested["score"]


def test_cases_without_a_value_are_not_watched(calibration):
    (found,) = run_of(rows(30, 30, response=" "), calibration).watched
    assert found.shift.n_run == 0
    assert found.to_label == ()


def test_an_old_calibration_that_decided_much_says_so(calibration, tmp_path):
    old = replace(calibration, created="2020-01-31T00:00:00Z")
    monitor = Monitor([Given(old, "")])
    for row in run_of(rows(50, 50), calibration):
        monitor.add([row] * 11)
    (found,) = monitor.finish("2020-06-01T00:00:00Z")
    assert found.age.startswith("the calibration is 122 days old and has made 1100 decisions")
    (young,) = monitor.finish("2020-03-01T00:00:00Z")
    assert young.age is None
    assert from_json(json.loads(json.dumps(to_json([found])))) == (found,)


def test_no_text_of_a_case_gets_into_a_folder_that_is_to_hold_none(tmp_path):
    # Slices by a text would be quoted where they are new; those of metadata may be.
    mark = "zq-mark"
    labelled = [
        case | {"bot": f"name {at % 2}", "context": ["one passage"]}
        for at, case in enumerate(rows())
    ]
    found = made(labelled, slices=["input", "response", "context", "bot"])
    cases = [
        case
        | {
            "input": f"{mark} asked?",
            "context": [f"{mark} passage"],
            "bot": "new name",
            "group": case["id"],
        }
        for case in rows(seed=8)
    ]
    cases = [case | {"response": f"{mark} {case['response']}"} for case in cases]
    run_of(cases, found, aef=tmp_path / "with")
    run = run_of(cases, found, aef=tmp_path / "without", content=False)
    held = b"".join(p.read_bytes() for p in (tmp_path / "with").rglob("*") if p.is_file())
    assert held.count(mark.encode()) > 3 * len(cases)
    for path in (tmp_path / "without").rglob("*"):
        if path.is_file():
            assert mark.encode() not in path.read_bytes(), path
    assert "bot" in {finding.what for finding in run.watched[0].shift.findings}
    # In memory nothing is kept from the report that a person asked for.
    (seen,) = run_of(cases, found, content=False).watched
    assert "input" in {finding.what for finding in seen.shift.findings}


def test_what_was_found_cannot_be_read_once_it_was_damaged(calibration, tmp_path):
    run_of(rows(), calibration, aef=tmp_path / "run")
    place = tmp_path / "run/summary.json"
    document = json.loads(place.read_bytes())
    for watched, readable in (("nonsense", False), ([{"metric": 1}], False), ([], True)):
        document["ext"]["closecall"]["watched"] = watched
        place.write_text(json.dumps(document), encoding="utf-8")
        if readable:
            assert load_run(tmp_path / "run").watched == ()
        else:
            with pytest.raises(RunFolderError, match=r"summary\.json: ext"):
                load_run(tmp_path / "run")
    document["ext"] = {"closecall": 3}
    place.write_text(json.dumps(document), encoding="utf-8")
    assert load_run(tmp_path / "run").watched == ()
