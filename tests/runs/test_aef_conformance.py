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
from closecall.runs import aef
from closecall.runs.caselines import case_line
from closecall.runs.folder import RunFolder
from closecall.runs.reader import open_run

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
        unique_by=lambda c: aef.case_id(c[0]),
    ),
    aborted=st.booleans(),
)
def test_every_run_conforms_and_verifies(shared_data, cases, aborted):
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
            how = {"abort_reason": "stopped by hand"} if aborted else {}
            folder.close("aborted" if aborted else "completed", summary=summary(lines), **how)
        assert check(place) == []
        run = open_run(place)
        assert run.verify() == []
        assert [json.loads(aef.dump_line(line)) for line in lines] == list(run.results())
        assert [c.references for c in run.cases()] == [
            tuple(t.encode("utf-8", "backslashreplace").decode() for t in c[2]) for c in cases
        ]


def test_a_run_with_every_member_conforms(shared_data, tmp_path):
    tokens = {"role": "other", "model": "tiny", "gen_ai.usage.input_tokens": 31}
    line = aef.result_line(
        RUN_ID,
        "c",
        PATHS[0],
        ("closecall.x", "1"),
        "inconclusive",
        reason="near the cutoff",
        scores=[aef.score(PATHS[0], 70.0, 0.7, "close")],
        verdict_rule={"expr": "x >= 70", "threshold": 70.0, "source": "default"},
        annotator={"kind": "CODE", "model": "m" * 300},
        severity="low",
        uncertainty={"ci": {"low": 1.0, "high": 2.0, "level": 0.95, "method": "wilson"}},
        usage=[tokens],
        started_at="2026-03-01T10:00:01Z",
        ended_at="2026-03-01T10:00:00Z",
        duration_ms=1.5,
        lane="quality",
        ext={"closecall": {"similarity": 0.7}},
    )
    tally = aef.Tally(PATHS[0], "score", PATHS[0])
    tally.add(line)
    made = tally.entry(
        verdict="inconclusive",
        rule="mean >= 70",
        stderr=0.1,
        ci={"low": 1.0, "high": 2.0, "level": 0.95},
    )
    whole = aef.summary_document(
        RUN_ID, {"quality": [made]}, usage=[tokens], cost={"totalUsd": 0.0}, ext={"closecall": {}}
    )
    with RunFolder.create(tmp_path / "run", header(), metrics(), paths=PATHS[:1]) as folder:
        folder.append([line])
        folder.close(summary=whole)
    assert checker(shared_data)(tmp_path / "run") == []
    assert open_run(tmp_path / "run").verify() == []


def test_a_run_without_texts_and_one_without_results_conform(shared_data, tmp_path):
    bare = finished(tmp_path / "bare", contentCapture="off")
    kept = [json.loads(x) for x in (bare / "ext/closecall/cases.ndjson").read_bytes().splitlines()]
    assert len(kept) == 12
    assert {name for line in kept for name in line} == {"id", "label"}
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
    assert aef.run_hash(digests) == expected
    sealed = json.loads((example / "seal.json").read_bytes())
    assert aef.seal_document(run.header, digests, sealed["predicate"]["sealedAt"]) == sealed


def test_the_worked_example_can_be_rebuilt_line_by_line(shared_data):
    example = reference(shared_data) / "example" / "run"
    run = open_run(example)
    rebuilt = [
        aef.result_line(
            run.run_id,
            line["caseId"],
            line["path"],
            (line["evaluator"]["id"], line["evaluator"]["version"]),
            line["state"],
            reason=line.get("reason"),
            scores=line.get("scores"),
            verdict_rule=line.get("verdictRule"),
            annotator=line.get("annotator"),
            usage=line.get("usage", ()),
            started_at=line["startedAt"],
            ended_at=line["endedAt"],
            duration_ms=line["durationMs"],
        )
        for line in run.results()
    ]
    assert b"".join(map(aef.dump_line, rebuilt)) == (example / "results.ndjson").read_bytes()
    kinds = {m["id"]: m["kind"] for m in run.metrics}
    stated = run.summary["lanes"][0]["metrics"]
    for entry in stated:
        tally = aef.Tally(entry["metric"], kinds[entry["metric"]], entry["path"])
        for line in rebuilt:
            tally.add(line)
        again = tally.entry(verdict=entry["verdict"], rule=entry.get("rule"))
        assert again.pop("sumSq") == pytest.approx(entry.pop("sumSq"))
        assert again == entry


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
    (broken / "summary.json").write_bytes(aef.dump_document(whole))
    assert check(broken)


def test_an_open_run_is_valid_line_by_line(shared_data, tmp_path):
    with RunFolder.create(tmp_path / "run", header(), metrics()) as folder:
        fill(folder, 3)
        assert open_run(tmp_path / "run").verify() == []
        close(folder, ended_at=ENDED)
    assert checker(shared_data)(tmp_path / "run") == []
