"""The thirty conformance vectors of the format's corpus for a producer, from their descriptions.

Each ``V`` number is that of the list in the format's notes. Where closecall does not produce a
thing (composites, red-team facts), reading and verifying a folder that has it is what is tested.
"""

import hashlib
import json

import pytest
from every_run import KINDS
from folder_helpers import ENDED, RUN_ID, STARTED, checker, finished, header, metrics, result

from closecall import verify_run
from closecall.errors import RunFolderError, UsageError
from closecall.records import Case
from closecall.runs.aef import FileDigest, manifest, run_document, seal_document
from closecall.runs.caselines import case_line
from closecall.runs.files import all_files
from closecall.runs.folder import RunFolder
from closecall.runs.reader import open_run
from closecall.runs.sealing import seal_run
from closecall.runs.tally import summary_entry
from closecall.runs.trial_lines import trials_member
from closecall.runs.values import later, result_id, time_key
from closecall.runs.wire import dump_document, dump_line


def entry(kind, states, values=()):
    return summary_entry("m", kind, "p", states, values)


def foreign(path, lines, summary=None, *, more=None, seal=True, **run):
    """A folder as another producer would write it."""
    facts = {
        "schemaVersion": "1.0",
        "runId": "r-1",
        "status": "completed",
        "startedAt": STARTED,
        "endedAt": ENDED,
        "producer": {"name": "another", "version": "1"},
        "subject": {"ref": "agent:a", "kind": "agent"},
        "execution": {"targetMode": "live"},
    } | run
    facts = {name: value for name, value in facts.items() if value is not None}
    path.mkdir()
    (path / "run.json").write_bytes(dump_document(facts))
    (path / "results.ndjson").write_bytes(b"".join(map(dump_line, lines)))
    declared = [
        {"id": "m", "kind": "score", "direction": "higher_better", "scale": "unbounded"},
        {
            "id": "pass",
            "kind": "rate",
            "direction": "higher_better",
            "scale": {"min": 0, "max": 1},
        },
    ]
    (path / "metrics.json").write_bytes(
        dump_document({"schemaVersion": "1.0", "metrics": declared})
    )
    if facts["status"] != "running":
        whole = {"schemaVersion": "1.0", "runId": "r-1", "lanes": summary or []}
        (path / "summary.json").write_bytes(dump_document(whole))
    for name, data in (more or {}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    if seal and facts["status"] != "running":
        seal_run(path)
    return path


def line(case, path="p", state="passed", trial=None, **more):
    found = {
        "schemaVersion": "1.0",
        "resultId": result_id("r-1", case, path, trial),
        "caseId": case,
        "path": path,
        "evaluator": {"id": "e", "version": "1"},
        "state": state,
    }
    if trial is not None:
        found["trial"] = trial
    if state in {"not_measured", "not_applicable", "skipped", "error", "pending"}:
        found["reason"] = "because"
    return found | more


def holds(path, shared_data=None):
    assert verify_run(path).problems == ()
    if shared_data is not None:
        assert checker(shared_data)(path) == []


def test_v1_result_ids():
    for trial in (3, "3"):
        assert result_id("r-1", "c", "a/b", int(trial)) == result_id("r-1", "c", "a/b", 3)
    text = "run-7\x1fcasé-été ラン\x1fمرحبا/—\x1f"
    made = "r_" + hashlib.sha256(text.encode()).hexdigest()[:32]
    assert made == result_id("run-7", "casé-été ラン", "مرحبا/—")


def test_v1_a_trial_that_is_spelt_as_a_double_is_read_as_its_number(tmp_path):
    lines = [line("c", trial=0), line("c", trials=trials_member(["passed"], "Mean"))]
    data = b"".join(map(dump_line, lines)).replace(b'"trial":0,', b'"trial":0.0,')
    place = foreign(tmp_path / "run", [], seal=False)
    (place / "results.ndjson").write_bytes(data.replace(b'"trial":0}', b'"trial":0.0}'))
    seal_run(place)
    holds(place)


@pytest.mark.parametrize(
    "name",
    ["ext/.hidden", "ext/end.", "ext/a b", "ext/con.txt", "ext/LPT1", "ext/ä", "ext/x..", "ext/" + "x" * 252],
)  # fmt: skip
def test_v2_paths_that_break_the_rule(tmp_path, name):
    place = finished(tmp_path / "run")
    (place / name).write_bytes(b"x")
    with pytest.raises(RunFolderError):
        all_files(place)
    assert verify_run(place).problems


def test_v2_paths_that_keep_it(tmp_path, shared_data):
    more = {f"ext/{name}": b"{}" for name in ("a-b", "a.b", "a/b", "Z", "_x.y_", "console.json")}
    holds(foreign(tmp_path / "run", [], more=more), shared_data)


def test_v2_two_names_that_differ_only_in_case(tmp_path):
    place = finished(tmp_path / "run")
    (place / "ext" / "A.json").write_bytes(b"{}")
    (place / "ext" / "a.json").write_bytes(b"{}")
    if len(list((place / "ext").iterdir())) == 3:
        assert verify_run(place).problems


def test_v3_a_full_run_with_evidence_gates_a_blob_traces_and_overlays(tmp_path, shared_data):
    blob = b"kept words \xe2\x80\xa8 and more"
    name = hashlib.sha256(blob).hexdigest()
    link = {"schemaVersion": "1.0", "evidenceId": "E-1", "kind": "document",
            "link": {"blob": f"sha256:{name}"}, "digest": f"sha256:{name}"}  # fmt: skip
    one = line("c\u2028d", evidence=["E-1"], scores=[{"metric": "m", "value": 0.5}])
    gate = {"schemaVersion": "1.0", "gateId": "gate:one", "decisionId": "d1",
            "rule": {"strategy": "all"}, "inputs": {"results": [one["resultId"]]},
            "comparability": "not_applicable", "outcome": "ship", "decidedAt": ENDED}  # fmt: skip
    place = foreign(
        tmp_path / "run",
        [one],
        [{"lane": "quality", "metrics": [entry("score", {"passed": 1}, [0.5])]}],
        more={
            "evidence.ndjson": dump_line(link),
            "gates.ndjson": dump_line(gate),
            f"blobs/sha256/{name[:2]}/{name}": blob,
            "traces.otlp.jsonl": b'{"resourceSpans":[]}\n',
        },
    )
    (place / "overlays").mkdir()
    (place / "overlays" / "review.ndjson").write_bytes(b"{}\n")
    holds(place, shared_data)


def test_v4_a_run_that_was_given_up_before_any_result(tmp_path, shared_data):
    place = foreign(tmp_path / "run", [], status="aborted", abortReason="no network")
    holds(place, shared_data)
    assert list(open_run(place).results()) == []


def test_v5_an_open_run_with_trials(tmp_path):
    lines = [line("c", trial=0), line("c", trial=1, state="pending")]
    place = foreign(tmp_path / "run", lines, status="running", endedAt=None)
    holds(place)
    assert verify_run(place).state == "not closed"


def test_v6_attacks_and_severities(tmp_path, shared_data):
    lines = [
        line("a", state="failed", severity="critical", attack={"technique": "t", "success": True}),
        line("b", attack={"technique": "t", "success": False}),
    ]
    lane = [{"lane": "red", "metrics": [{**entry("rate", {"passed": 1, "failed": 1}),
             "metric": "pass"}]}]  # fmt: skip
    holds(foreign(tmp_path / "run", lines, lane, contentCapture="off"), shared_data)


def test_v7_typed_absences_of_a_flat_run():
    states = {"passed": 1, "failed": 1, "not_measured": 1, "error": 1, "not_applicable": 1}
    found = entry("score", states, [0.8, 0.4])
    assert (found["N"], found["n"], found["notMeasured"]) == (4, 2, 2)
    assert found["value"] == (0.8 + 0.4) / 2


@pytest.mark.parametrize("kind", ["repeated", "replayed_trials"])
def test_v8_v9_v13_trials_with_a_rollup_at_every_path(kind, tmp_path, shared_data):
    KINDS[kind](tmp_path / "run", tmp_path)
    holds(tmp_path / "run", shared_data)
    run = open_run(tmp_path / "run")
    lines = list(run.results())
    assert len({one["path"] for one in lines}) > 1
    for path in {one["path"] for one in lines}:
        whole = [one for one in lines if one["path"] == path and "trial" not in one]
        (lane,) = run.summary["lanes"]
        (own,) = [e for e in lane["metrics"] if (e["metric"], e["path"]) == (path, path)]
        assert own["N"] == sum(one["state"] != "not_applicable" for one in whole)
    policy = json.loads((tmp_path / "run" / "run.json").read_bytes())["suite"]["executionPolicy"]
    assert policy["requirePasses"] <= policy["trialsPerCase"]
    kinds = {one["trials"]["aggregation"] for one in lines if "trials" in one}
    assert kinds <= {"AtLeast", "Mean"}


def test_v10_agreement_follows_states_and_not_scores():
    assert trials_member(["passed"] * 3, "AtLeast")["agree"] is True
    assert trials_member(["passed", "passed", "failed"], "AtLeast") == {
        "n": 3, "passed": 2, "aggregation": "AtLeast", "agree": False,
    }  # fmt: skip


@pytest.mark.parametrize("trials", [False, True])
def test_v11_v12_composites_of_another_producer_are_read(tmp_path, trials, shared_data):
    def tree(trial=None, **more):
        top = line("c", trial=trial, **more)
        top["aggregation"] = {"strategy": "Min", "rulePath": "threshold", "measured": 1, "total": 2,
                              "unmeasured": {"error": 1}}  # fmt: skip
        children = [
            line("c", "p/one", trial=trial, parentResultId=top["resultId"],
                 component={"weight": 1, "required": True}, **more),
            line("c", "p/two", "error", trial=trial, parentResultId=top["resultId"],
                 component={"weight": 1, "required": False}),
        ]  # fmt: skip
        return [top, *children]

    lines = tree()
    if trials:
        for one in lines:
            one["trials"] = trials_member([one["state"]], "Mean")
        lines += tree(trial=0)
    holds(foreign(tmp_path / "run", lines), shared_data)


def test_v14_a_run_that_was_given_up_with_results(tmp_path, shared_data):
    lane = [{"lane": "l", "metrics": [{**entry("rate", {"passed": 1, "skipped": 1}),
             "metric": "pass"}]}]  # fmt: skip
    lines = [line("a"), line("b", state="skipped")]
    place = foreign(tmp_path / "run", lines, lane, status="aborted", abortReason="budget")
    holds(place, shared_data)


def test_v15_times_to_the_nanosecond():
    early, late = "2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:00.000000002Z"
    assert time_key(early) < time_key(late)
    assert later(late, early) == later(early, late) == late
    run = run_document(header(startedAt=late), "completed", ended_at=early)
    assert run["endedAt"] == late


def test_v16_content_capture_is_always_said(tmp_path):
    for kind, options, said in (("empty", {}, "on"), ("empty", {"content": False}, "off")):
        KINDS[kind](tmp_path / said, tmp_path, **options)
        found = json.loads((tmp_path / said / "run.json").read_bytes())
        assert found["contentCapture"] == said


def test_v17_an_unfinished_result_in_a_closed_run(tmp_path):
    place = foreign(tmp_path / "run", [line("c", state="pending")])
    assert any("pending in a closed run" in one for one in verify_run(place).problems)


def test_v18_a_case_and_path_twice(tmp_path):
    place = foreign(tmp_path / "one", [line("c"), line("c")])
    assert any("already have a result" in one for one in verify_run(place).problems)
    with RunFolder.create(tmp_path / "two", header(), metrics()) as folder:
        for again in (False, True):
            folder.append_case([case_line(Case(id="c"))])
            made = [result("c", path, "passed", 1.0) for path in folder.paths]
            if again:
                with pytest.raises(UsageError, match="twice"):
                    folder.append(made)
            else:
                folder.append(made)


def test_v19_v20_v21_sums_and_means():
    assert entry("score", {"scored": 2}, [0.25, 0.75])["value"] == 0.5
    assert entry("score", {"scored": 5}, [0.3, 0.4, 0.6, 0.2, 0.6])["value"] == 2.1 / 5
    assert entry("score", {"scored": 3}, [1e20, 1.0, -1e20])["sum"] == 1.0


def test_v22_v23_figures_beyond_a_double():
    beyond = entry("score", {"scored": 2}, [1.7e308, 1.7e308])
    assert (beyond["value"], beyond["verdict"], beyond["n"]) == (None, "not_measured", 2)
    assert not {"sum", "sumSq"} & set(beyond)
    squares = entry("score", {"scored": 1}, [1e200])
    assert ("sumSq" in squares, squares["sum"]) == (False, 1e200)


def test_v24_v25_v26_v27_rates_scored_lines_absences_and_nothing():
    states = {"passed": 2, "failed": 1, "warn": 1, "inconclusive": 1, "scored": 3, "skipped": 1}
    rate = entry("rate", states)
    assert (rate["N"], rate["n"], rate["value"]) == (9, 5, 0.4)
    assert entry("score", {"scored": 1}, [0.5])["n"] == 1
    none = entry("score", {"error": 1, "not_measured": 1, "not_applicable": 1})
    assert (none["N"], none["n"], none["value"], none["verdict"]) == (2, 0, None, "not_measured")


@pytest.mark.parametrize("lanes", [1, 2])
def test_v28_lanes(tmp_path, lanes, shared_data):
    rate = {**entry("rate", {"passed": 1}), "metric": "pass"}
    empty = {**entry("rate", {}), "metric": "pass"}
    summary = [{"lane": "one", "metrics": [rate]}, {"lane": "two", "metrics": [empty]}][:lanes]
    own = {"lane": "one"} if lanes == 2 else {}
    holds(foreign(tmp_path / "run", [line("c", **own)], summary), shared_data)
    if lanes == 2:
        place = foreign(tmp_path / "unlaned", [line("c")], summary)
        assert any("N should be 0" in one for one in verify_run(place).problems)


def test_v29_the_manifest_is_in_the_order_of_bytes():
    names = ["ext/a/b", "ext/a.b", "ext/a-b", "ext/Z", "run.json"]
    text = manifest({name: FileDigest("0" * 64, 1) for name in names}).decode()
    assert [one.split("  ")[2] for one in text.splitlines()] == [
        "ext/Z", "ext/a-b", "ext/a.b", "ext/a/b", "run.json",
    ]  # fmt: skip


def test_v30_seals_without_optional_facts_and_at_full_precision():
    run = {
        "runId": RUN_ID, "status": "aborted", "endedAt": "2026-01-01T00:00:00.000000002Z",
        "producer": {"name": "x", "version": "1", "runtime": {"name": "python"}},
        "subject": {"ref": "agent:a", "kind": "agent"},
    }  # fmt: skip
    made = seal_document(run, {}, "2026-01-01T00:00:00.000000001Z")["predicate"]
    assert (made["deployment"], made["suite"], made["judges"]) == (None, None, [])
    assert made["producer"] == {"name": "x", "version": "1"}
    assert made["sealedAt"] == made["closedAt"] == run["endedAt"]
    with pytest.raises(UsageError, match="running"):
        seal_document({**run, "status": "running"}, {})


def test_v30_a_seal_before_the_end_is_refused(tmp_path):
    place = foreign(tmp_path / "run", [])
    seal = json.loads((place / "seal.json").read_bytes())
    seal["predicate"]["sealedAt"] = STARTED
    (place / "seal.json").write_bytes(dump_document(seal))
    assert any("sealedAt" in one for one in verify_run(place).problems)
