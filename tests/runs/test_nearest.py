"""The nearest labelled answers beside unsure ones: which, in what order, and at what cost."""

import io
import json
import math
from pathlib import Path

import pytest
from labelled_rows import made, rows, unlabelled, write

from closecall import Goal, evaluate, load_run, resume, save_calibration
from closecall.errors import DataError, UsageError
from closecall.records import Case, State
from closecall.report.formats import write as write_report
from closecall.report.overview import overview
from closecall.testing import HashEmbedder

TWO = Goal(max_far=0.1, max_frr=0.2)


@pytest.fixture(scope="module")
def calibration():
    found = made(goal=TWO)
    assert found.reject_cutoff is not None
    return found


def run_of(cases, calibration, embedder=None, **options):
    options.setdefault("cache", False)
    return evaluate(cases, None, embedder or HashEmbedder(), calibration=calibration, **options)


def beside(row):
    found = [
        result.measurement.details.get("nearestLabelled")
        for result in row.results
        if result.state.measured
    ]
    return next(filter(None, found), None)


def bare(row):
    """A case's results without what is only shown."""
    return [
        (r.metric, r.state, r.reason, r.measurement.value, r.measurement.similarity, r.held)
        for r in row.results
    ]


FRESH = unlabelled(rows(seed=3))
LABELLED = [
    Case(id=r["id"], input=r["input"], response=r["response"], label=r["label"])
    for r in rows(seed=9)
]


def cosine(one, other):
    vectors = HashEmbedder().embed([one, other]).astype(float)
    return float(
        vectors[0] @ vectors[1] / math.sqrt((vectors[0] ** 2).sum() * (vectors[1] ** 2).sum())
    )


def test_three_of_each_label_by_a_plain_search(calibration):
    run = run_of(FRESH, calibration, labelled=LABELLED)
    unsure = [row for row in run if row.state is State.INCONCLUSIVE]
    assert len(unsure) > 3
    for row in unsure:
        shown = beside(row)
        assert [one["label"] for one in shown] == ["accept"] * 3 + ["reject"] * 3
        for label in ("accept", "reject"):
            # Ten of the fresh questions are asked in the labelled file too, by number.
            ranked = sorted(
                (one for one in LABELLED if one.label == label),
                key=lambda one: (
                    one.input != row.case.input,
                    -round(cosine(one.response, row.case.response), 5),
                    one.id,
                ),
            )
            own = [one for one in shown if one["label"] == label]
            assert [one["id"] for one in own] == [one.id for one in ranked[:3]]
            for entry, case in zip(own, ranked, strict=False):
                assert entry["similarity"] == pytest.approx(
                    cosine(case.response, row.case.response), abs=1e-5
                )
                assert entry["sameQuestion"] == (case.input == row.case.input)
                assert entry["response"] == case.response


def test_no_verdict_changes_and_decided_answers_have_nothing_beside_them(calibration):
    plain = run_of(FRESH, calibration)
    shown = run_of(FRESH, calibration, labelled=LABELLED)
    assert [bare(row) for row in shown] == [bare(row) for row in plain]
    assert (shown.metrics, shown.cases, shown.exit_code) == (
        plain.metrics, plain.cases, plain.exit_code,
    )  # fmt: skip
    assert shown.header.definition_digest == plain.header.definition_digest
    for row in shown:
        assert (beside(row) is not None) == (row.state is State.INCONCLUSIVE)
    assert all(beside(row) is None for row in plain)


def test_what_a_guard_leaves_unsure_has_them_too():
    cases = [
        Case(id="a", references=("it takes 21 days",), response="it takes 22 days"),
        Case(id="b", references=("it takes 21 days",), response="it takes 21 days"),
    ]
    labelled = [
        Case(id="z", response="it takes 22 days", label="reject"),
        Case(id="y", response="about 21 days", label="accept"),
    ]
    run = evaluate(cases, None, HashEmbedder(), labelled=labelled, cache=False)
    held, passed = list(run)
    assert held.state is State.INCONCLUSIVE
    assert [(one["id"], one["label"]) for one in beside(held)] == [
        ("y", "accept"),
        ("z", "reject"),
    ]
    assert beside(passed) is None


def test_nothing_is_read_or_embedded_without_an_unsure_answer(calibration):
    sure = [
        {"id": "x", "response": "harbour lantern orchard", "reference": "harbour lantern orchard"}
    ]
    plain, shown = HashEmbedder(), HashEmbedder()
    run_of(sure, calibration, plain)
    run_of(sure, calibration, shown, labelled=LABELLED)
    assert shown.texts == plain.texts


def test_the_labels_in_a_calibration_are_used_where_asked_for(calibration):
    run = run_of(FRESH, calibration, labelled=True)
    unsure = next(row for row in run if row.state is State.INCONCLUSIVE)
    ids = {one["id"] for one in beside(unsure)}
    assert len(ids) == 6
    assert ids <= set(calibration.sample.ids)


def test_a_case_is_not_shown_beside_itself(calibration):
    run = run_of(rows(), calibration, labelled=True)
    for row in run:
        if row.state is State.INCONCLUSIVE:
            assert row.case.id not in {one["id"] for one in beside(row)}


def test_a_calibration_without_texts_takes_the_very_file_or_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "labels.jsonl", rows())
    kept = made(str(file), goal=TWO, keep_texts=False)
    save_calibration(kept, tmp_path / "cutoff.json")
    told = []
    options = {"labelled": True, "on_notice": told.append}
    run = run_of(FRESH, tmp_path / "cutoff.json", **options)
    assert any(beside(row) for row in run)
    assert told == []
    write(file, rows(seed=5))
    run = run_of(FRESH, tmp_path / "cutoff.json", **options)
    assert not any(beside(row) for row in run)
    assert [text for text in told if "--labels FILE" in text]
    file.unlink()
    run = run_of(FRESH, tmp_path / "cutoff.json", **options)
    assert not any(beside(row) for row in run)


def test_an_answer_with_no_other_label_in_sight_shows_one_side(calibration):
    only = [one for one in LABELLED if one.label == "accept"]
    run = run_of(FRESH, calibration, labelled=only)
    unsure = next(row for row in run if row.state is State.INCONCLUSIVE)
    assert [one["label"] for one in beside(unsure)] == ["accept"] * 3


def test_labels_that_are_none_are_refused_before_the_run(calibration, tmp_path):
    with pytest.raises(DataError, match="none of 60 cases has a label"):
        run_of(FRESH, calibration, labelled=FRESH[:60])
    with pytest.raises(UsageError):
        run_of(FRESH, calibration, labelled=[])
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"response"\n')
    with pytest.raises(DataError, match=r"bad\.jsonl:1"):
        run_of(FRESH, calibration, labelled=bad)


def test_a_folder_without_content_holds_ids_and_no_text(calibration, tmp_path):
    run = run_of(FRESH, calibration, labelled=LABELLED, aef=tmp_path / "run", content=False)
    found = [entry for row in run for entry in beside(row) or ()]
    assert found
    assert all(set(one) == {"id", "label", "similarity", "sameQuestion"} for one in found)
    whole = "".join(path.read_text() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert not any(one.response in whole for one in LABELLED)


def test_a_run_read_back_and_its_reports_show_them(calibration, tmp_path):
    run = run_of(FRESH, calibration, labelled=LABELLED, aef=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert [beside(row) for row in again] == [beside(row) for row in run]
    lines = overview(again).unsure
    first = next(row for row in run if row.state is State.INCONCLUSIVE)
    assert lines[0].startswith(f"{first.case.id} (unsure)")
    assert lines[1].strip().startswith(f"accepted {beside(first)[0]['similarity']:.3f}")
    unsure = sum(row.state is State.INCONCLUSIVE for row in run)
    assert unsure > 5
    assert lines[-1] == f"5 of {unsure} unsure cases; the JSON report has all of them"
    for form in ("table", "markdown"):
        out = io.StringIO()
        write_report(again, form, out)
        assert "Unsure, beside the nearest labelled answers" in out.getvalue()
    out = io.StringIO()
    write_report(again, "json", out)
    results = {one["name"]: one for one in json.loads(out.getvalue())["results"]}
    details = results[first.case.id]["metrics"][0]["details"]
    assert details["nearestLabelled"] == beside(first)
    assert overview(run_of(FRESH, calibration)).unsure == ()


def test_a_run_that_goes_on_shows_the_same(calibration, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 16)
    save_calibration(calibration, tmp_path / "cutoff.json")
    labels = write(
        tmp_path / "labels.jsonl", [{**one, "id": f"l-{one['id']}"} for one in rows(seed=9)]
    )
    cases = write(tmp_path / "cases.jsonl", FRESH)

    class StoppedError(Exception):
        pass

    def progress(done, _):
        if done >= 40:
            raise StoppedError

    options = {"labelled": labels, "aef": tmp_path / "run"}
    with pytest.raises(StoppedError):
        run_of(cases, tmp_path / "cutoff.json", progress=progress, **options)
    gone_on = run_of(cases, tmp_path / "cutoff.json", resume=True, **options)
    whole = run_of(cases, tmp_path / "cutoff.json", labelled=labels)
    assert [beside(row) for row in gone_on] == [beside(row) for row in whole]


def test_a_resumed_run_takes_its_labels_from_its_header(tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 4)
    cases = write(
        tmp_path / "cases.jsonl",
        [
            {
                "id": f"c{n}",
                "reference": f"it takes {n} days",
                "response": f"it takes {n + 1} days",
            }
            for n in range(20, 32)
        ],
    )
    labels = write(
        tmp_path / "labels.jsonl",
        [
            {"id": "good", "response": "it takes 21 days", "label": "accept"},
            {"id": "bad", "response": "it takes 22 days", "label": "reject"},
        ],
    )

    class StoppedError(Exception):
        pass

    def progress(done, _):
        if done >= 4:
            raise StoppedError

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        with pytest.raises(StoppedError):
            evaluate(cases, aef=folder, labelled=labels, progress=progress, cache=False)
    run = resume(folders[0], cache=False)
    assert all(len(beside(row)) == 2 for row in run)
    Path(labels).unlink()
    told = []
    run = resume(folders[1], cache=False, on_notice=told.append)
    assert sum(beside(row) is not None for row in run) == 4
    assert any("labels.jsonl is not there any more" in text for text in told)


def test_a_run_that_embeds_nothing_shows_nothing():
    cases = [Case(id="a", references=("it takes 21 days",), response="it takes 22 days")]
    run = evaluate(cases, "token_f1", labelled=LABELLED, cutoffs={"token_f1": 0.5}, cache=False)
    row = next(iter(run))
    assert row.state is State.INCONCLUSIVE
    assert beside(row) is None
