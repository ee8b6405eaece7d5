"""A value of another kind than belongs there is a finding that names its file, never a bug."""

import json
import shutil
from pathlib import Path

import pytest
from every_run import cases, gated, made_once

from closecall import verify_run
from closecall.errors import RunFolderError
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.stored import load_run
from closecall.runs.wire import dump_document, dump_line

RESULTS, GATES, SEAL, RUN = "results.ndjson", "gates.ndjson", "seal.json", "run.json"
NETS = ("closecall.runs.verify.gate_problems", "closecall.signing.verify.gate_result_problems")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs by kind, made once."""
    return made_once(tmp_path_factory)


@pytest.fixture
def changed(made, tmp_path):
    """Return a copy of a run of a kind with one of its files changed after it was sealed."""

    def of(kind, name, change):
        place = Path(shutil.copytree(made(kind), tmp_path / "changed"))
        data = (place / name).read_bytes()
        if name.endswith("ndjson"):
            value = [json.loads(line) for line in data.splitlines()]
            change(value)
            data = b"".join(map(dump_line, value))
        else:
            value = json.loads(data)
            change(value)
            data = dump_document(value)
        (place / name).write_bytes(data)
        return place

    return of


def first(**members):
    return lambda value: value[0].update(members)


def last(**members):
    return lambda value: value[-1].update(members)


def headed(**members):
    return lambda value: value["config"]["closecall"].update(members)


def as_pairs(seal):
    seal["predicate"] = [list(pair) for pair in seal["predicate"].items()]


def unforeseen(*_):
    return {}["nobody thought of it"]


def unmeasured(ext):
    """Give another ``ext`` to the first line of a case that could not be measured."""

    def change(lines):
        begins = [line for line in lines[::2] if line["state"] in ("error", "not_measured")]
        begins[0]["ext"] = ext

    return change


@pytest.mark.parametrize(
    ("kind", "name", "change", "said"),
    [
        ("gated", GATES, first(comparability=[]), "no such comparability: []"),
        ("gated", GATES, first(outcome={}), "no such outcome: {}"),
        ("gated", GATES, last(exitCode=[]), "was changed after sealing"),
        ("gated", GATES, first(decisive=5), "decisive must be a list, got 5"),
        ("gated", GATES, first(inputs={"results": 7}), "inputs.results must be a list, got 7"),
        ("plain", SEAL, as_pairs, "is not laid out as a seal"),
        (
            "plain",
            RESULTS,
            lambda lines: lines[0]["scores"][0].update(normalized=[1]),
            "normalized should be",
        ),
    ],
)
def test_the_file_is_named_and_what_is_wrong_with_it(changed, kind, name, change, said):
    found = verify_run(changed(kind, name, change)).problems
    assert any(name in problem and said in problem for problem in found), found
    assert not any("cannot be understood" in problem for problem in found)


@pytest.mark.parametrize(
    ("kind", "name", "change", "said"),
    [
        *(
            ("failing", RESULTS, unmeasured(ext), "ext must be an object")
            for ext in ([], "x", {"closecall": None}, {"closecall": []})
        ),
        *(
            ("plain", RESULTS, first(durationMs=value), "durationMs must be a number")
            for value in (1e308, -1, "x", True, None, [])
        ),
        *(
            ("plain", RUN, headed(runs=value), "runs: must be 1 to 1000")
            for value in (0, -3, 1001, 10**15)
        ),
        ("plain", RUN, headed(metrics=[]), "metrics: a run has at least one"),
        ("plain", RUN, headed(success_threshold=1e308), "success_threshold: must be"),
    ],
)
def test_a_reader_says_in_which_file_and_verify_too(changed, kind, name, change, said):
    place = changed(kind, name, change)
    with pytest.raises(RunFolderError, match=said) as caught:
        list(load_run(place))
    assert name in str(caught.value)
    found = verify_run(place).problems
    assert any(name in problem and said in problem for problem in found), found
    assert f"{place / name}: was changed after sealing" in found


def test_the_producer_of_another_host_may_be_anything(changed):
    def change(run):
        run.pop("config")
        run["producer"] = "x"

    place = changed("plain", RUN, change)
    (place / SEAL).unlink()
    assert verify_run(place).problems == ()


@pytest.mark.parametrize("net", NETS)
def test_what_no_check_was_made_for_is_a_finding(made, net, monkeypatch):
    monkeypatch.setattr(net, unforeseen)
    (found,) = verify_run(made("gated")).problems
    assert "the run cannot be understood (KeyError: 'nobody thought of it')" in found


def test_the_seal_still_says_which_file_was_changed(changed, monkeypatch):
    monkeypatch.setattr(NETS[0], unforeseen)
    place = changed("gated", GATES, first(outcome={}))
    found = verify_run(place).problems
    assert any("cannot be understood" in problem for problem in found)
    assert f"{place / GATES}: was changed after sealing" in found


def test_so_does_that_of_a_run_in_parts(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    place = tmp_path / "run"
    gated(PartsFolder(place, cases=3), tmp_path, given=cases(6))
    seal = json.loads((place / SEAL).read_bytes())
    as_pairs(seal)
    (place / SEAL).write_bytes(dump_document(seal))
    monkeypatch.setattr("closecall.runs.parts.verify.line_problems", unforeseen)
    found = verify_run(place).problems
    assert any("cannot be understood (KeyError" in problem for problem in found)
    assert any("seal.json: is not laid out as a seal" in problem for problem in found)
