"""Run folders against the format's own schemas and its checker, and against its worked example."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from folder_helpers import (
    ENDED,
    PATHS,
    RUN_ID,
    STATES,
    checker,
    close,
    fill,
    finished,
    header,
    metrics,
    reference,
    result,
    summary,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from closecall.records import Case
from closecall.runs.aef import result_line, run_hash, score, seal_document, summary_document
from closecall.runs.caselines import case_line
from closecall.runs.folder import RunFolder
from closecall.runs.reader import open_run
from closecall.runs.tally import Tally
from closecall.runs.values import case_id
from closecall.runs.wire import dump_document, dump_line

TEXT = st.text(
    st.characters(exclude_categories=())
    | st.sampled_from('\u2028\u2029\x85\r\n\t\ud800\x1f😀\\"'),
    max_size=30,
)
NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e308, -1e308, 0.0])
RESULT = st.tuples(st.sampled_from(STATES), NUMBER, st.none() | TEXT.filter(str.strip))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    cases=st.lists(
        st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3), st.tuples(RESULT, RESULT)),
        max_size=8,
        unique_by=lambda c: case_id(c[0]),
    ),
)
def test_every_run_conforms_and_verifies(shared_data, cases):
    check = checker(shared_data)
    with tempfile.TemporaryDirectory() as parent:
        place = Path(parent) / "run"
        lines = []
        with RunFolder.create(place, header(), metrics()) as folder:
            for name, text, references, results in cases:
                own = Case(id=name, input=text, response=text, references=tuple(references))
                folder.append_case([case_line(own)])
                made = [
                    result(name, path, state, value, reason)
                    for path, (state, value, reason) in zip(PATHS, results, strict=True)
                ]
                folder.append(made)
                lines += made
            folder.close(summary=summary(lines))
        assert check(place) == []
        run = open_run(place)
        assert run.verify() == []
        assert [json.loads(dump_line(line)) for line in lines] == list(run.results())
        assert [c.references for c in run.cases()] == [
            tuple(t.encode("utf-8", "backslashreplace").decode() for t in c[2]) for c in cases
        ]


def test_a_run_with_every_member_conforms(shared_data, tmp_path):
    line = result_line(
        RUN_ID,
        "c",
        PATHS[0],
        ("closecall.x", "1"),
        "inconclusive",
        reason="near the cutoff",
        scores=[score(PATHS[0], 70.0, 0.7)],
        verdict_rule={"expr": "x >= 70", "threshold": 70.0, "source": "default"},
        annotator={"kind": "CODE", "model": "m" * 300},
        severity="low",
        duration_ms=1.5,
        ext={"closecall": {"similarity": 0.7}},
    )
    tally = Tally(PATHS[0], "score", PATHS[0])
    tally.add(line)
    whole = summary_document(RUN_ID, {"quality": [tally.entry()]})
    with RunFolder.create(tmp_path / "run", header(), metrics(), paths=PATHS[:1]) as folder:
        folder.append([line])
        folder.close(summary=whole)
    assert checker(shared_data)(tmp_path / "run") == []
    assert open_run(tmp_path / "run").verify() == []


def test_a_run_without_texts_and_one_without_results_conform(shared_data, tmp_path):
    bare = finished(tmp_path / "bare", contentCapture="off")
    kept = [json.loads(x) for x in (bare / "ext/closecall/cases.ndjson").read_bytes().splitlines()]
    assert len(kept) == 12
    assert {name for line in kept for name in line} == {"id", "label", "group"}
    empty = finished(tmp_path / "empty", cases=0)
    for place in (bare, empty):
        assert checker(shared_data)(place) == []
        assert open_run(place).verify() == []


def test_the_worked_example_reads_verifies_and_seals_to_the_same_hash(shared_data, tmp_path):
    example = reference(shared_data) / "example" / "run"
    run = open_run(example)
    assert run.verify() == []
    assert run.summary["lanes"][0]["metrics"][0]["value"] == 0.8731
    from closecall.runs.sealing import digests_of

    digests = digests_of(example, {})
    expected = "7efaa49ae5c97197c5cdb71dfc32a3f4da2141d22dfcfba9118f4304ea55cc17"
    assert run_hash(digests) == expected
    sealed = json.loads((example / "seal.json").read_bytes())
    assert seal_document(run.header, digests, sealed["predicate"]["sealedAt"]) == sealed


def test_the_worked_example_adds_up_to_its_own_summary(shared_data):
    run = open_run(reference(shared_data) / "example" / "run")
    kinds = {m["id"]: m["kind"] for m in run.metrics}
    for entry in run.summary["lanes"][0]["metrics"]:
        tally = Tally(entry["metric"], kinds[entry["metric"]], entry["path"])
        for line in run.results():
            tally.add(line)
        again = tally.entry()
        assert again.pop("sumSq") == pytest.approx(entry.pop("sumSq"))
        # What a rule on the set decided is the producer's to say.
        assert again.pop("verdict") == "scored"
        assert again == {k: v for k, v in entry.items() if k not in {"verdict", "rule"}}


def test_the_checker_notices_what_we_would_get_wrong(shared_data, tmp_path):
    """The tests above mean something only if the checker can say no."""
    place = finished(tmp_path / "run")
    check = checker(shared_data)
    (place / "notes.txt").write_bytes(b"x")
    assert check(place)
    (place / "notes.txt").unlink()
    assert check(place) == []
    broken = shutil.copytree(place, tmp_path / "broken")
    whole = json.loads((broken / "summary.json").read_bytes())
    whole["lanes"][0]["metrics"][0]["n"] += 1
    (broken / "summary.json").write_bytes(dump_document(whole))
    assert check(broken)


def test_an_open_run_is_valid_line_by_line(shared_data, tmp_path):
    with RunFolder.create(tmp_path / "run", header(), metrics()) as folder:
        fill(folder, 3)
        assert open_run(tmp_path / "run").verify() == []
        close(folder, ended_at=ENDED)
    assert checker(shared_data)(tmp_path / "run") == []
