"""What a run's gates decided is kept in its folder, sealed, and told again."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from folder_helpers import checker

from closecall import load_run, resume
from closecall.cli.gating import kept_gates
from closecall.runs import files, folder, sinks
from closecall.runs.reader import open_run

ROWS = [
    {"id": f"c{n}", "references": ["a blue lamp"], "response": said, "tags": [tag]}
    for n, (said, tag) in enumerate(
        [("a blue lamp", "colour")] * 7 + [("bananas", "fruit")] * 2 + [("a blue lamp", "fruit")]
    )
]
HOLDS, BREAKS = "pass_rate(token_f1) >= 0.8", "pass_rate(token_f1) >= 0.9"
PLACE = Path("kept/run")


@pytest.fixture
def evaluated(cli, write):
    path = write(*ROWS)

    def call(*more):
        return cli("eval", path, "-q", "-m", "token_f1", "--aef", PLACE, *more)

    return call


def lines(place=PLACE):
    text = (place / files.GATES).read_bytes()
    assert text.endswith(b"\n")
    return [json.loads(line) for line in text.splitlines()]


def interrupted(monkeypatch, after):
    """Interrupt the run before its batch of this number is written."""
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 4)
    add, written = sinks.FolderSink.add, []

    def adding(self, rows, *beside):
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(rows)
        add(self, rows, *beside)

    monkeypatch.setattr(sinks.FolderSink, "add", adding)
    return lambda: monkeypatch.setattr(sinks.FolderSink, "add", add)


def test_the_decision_is_a_sealed_part_of_the_folder(evaluated, shared_data):
    assert evaluated("--gate", HOLDS, "--gate", "all(token_f1 where tag = fruit)").code == 1
    assert checker(shared_data)(PLACE) == []
    assert open_run(PLACE).verify() == []
    first, second, whole = lines()
    assert [one["outcome"] for one in (first, second, whole)] == ["ship", "no_ship", "no_ship"]
    assert first["rule"] == {"strategy": HOLDS, "inputs": ["token_f1"]}
    assert second["rule"]["inputs"] == ["token_f1", 'tag = "fruit"']
    assert whole["exitCode"] == 1
    seal = json.loads((PLACE / files.SEAL).read_bytes())
    assert files.GATES in [one["name"] for one in seal["subject"]]


def test_a_run_without_gates_has_no_such_file(evaluated, shared_data):
    assert evaluated("--no-gates").code == 1
    assert not (PLACE / files.GATES).exists()
    assert checker(shared_data)(PLACE) == []
    assert load_run(PLACE).gates == ()


@pytest.mark.parametrize(("rule", "code", "word"), [(HOLDS, 0, "passed"), (BREAKS, 1, "FAILED")])
def test_an_old_run_tells_what_was_decided_then(evaluated, cli, rule, code, word):
    then = evaluated("--gate", rule)
    assert then.code == code
    run = load_run(PLACE)
    assert (run.exit_code, run.passed) == (code, code == 0)
    (gate,) = run.gates
    assert gate.rule == rule
    assert (gate.value, gate.count, gate.measured, gate.asked) == (0.8, 8, 10, 10)
    assert gate.interval is not None
    listed = cli("runs", "list", PLACE.parent)
    assert f"exit code {code}" in listed.out
    assert f"    1 gate: 1 {word}" in listed.out.splitlines()
    (found,) = cli("runs", "list", PLACE.parent, "--json").json
    assert (found["exit_code"], sum(found["gates"].values())) == (code, 1)
    shown = cli("runs", "show", PLACE)
    told = "\n".join(line for line in then.out.splitlines() if "gate" in line or word in line)
    assert all(line in shown.out for line in told.splitlines())
    as_json = cli("runs", "show", PLACE, "--format", "json").json
    assert as_json["exitCode"] == code
    assert as_json["gates"][0]["rule"] == rule
    assert "**Gates**" in cli("runs", "show", PLACE, "--format", "markdown").out
    assert '<testsuite name="gates"' in cli("runs", "show", PLACE, "--format", "junit").out


def test_a_run_that_goes_on_keeps_the_last_decision(evaluated, cli, monkeypatch, shared_data):
    goes_on = interrupted(monkeypatch, after=1)
    assert evaluated("--gate", BREAKS).code == 130
    assert not (PLACE / files.GATES).exists()
    goes_on()
    assert cli("eval", "-q", "--resume", PLACE, "--gate", HOLDS).code == 0
    assert lines()[0]["rule"]["strategy"] == HOLDS
    assert load_run(PLACE).gates[0].measured == 10
    assert load_run(PLACE).exit_code == 0
    again = cli("eval", "-q", "--resume", PLACE)  # the header still has those it began with
    assert again.code == 0
    assert HOLDS in again.out
    assert checker(shared_data)(PLACE) == []
    assert open_run(PLACE).verify() == []


def test_a_closed_folder_keeps_its_decision_whatever_is_typed_later(evaluated, cli):
    evaluated("--gate", HOLDS)
    before = {path: path.read_bytes() for path in PLACE.rglob("*") if path.is_file()}
    assert cli("eval", "--resume", PLACE).code == 0
    said = cli("eval", "--resume", PLACE, "--gate", BREAKS)
    assert said.code == 1
    assert "keeps the decision it was closed with" in said.err
    assert cli("eval", "--resume", PLACE, "--gate", HOLDS).err.count("closed with") == 0
    assert {path: path.read_bytes() for path in PLACE.rglob("*") if path.is_file()} == before
    assert load_run(PLACE).exit_code == 0


def test_a_run_killed_while_closing_is_decided_anew(evaluated, cli, monkeypatch, shared_data):
    commit = files.commit

    def killed(root, name):
        if name == files.RUN and files.exists(root, files.GATES):
            raise OSError("the power failed")
        commit(root, name)

    monkeypatch.setattr(folder.files, "commit", killed)
    evaluated("--gate", BREAKS)
    assert (PLACE / files.GATES).exists()
    assert load_run(PLACE).gates == ()  # an open run has decided nothing
    monkeypatch.setattr(folder.files, "commit", commit)
    assert cli("eval", "-q", "--resume", PLACE, "--gate", HOLDS).code == 0
    assert [one["outcome"] for one in lines()] == ["ship", "ship"]
    assert checker(shared_data)(PLACE) == []


def test_what_a_killed_close_left_of_gates_is_no_decision(evaluated, monkeypatch):
    with monkeypatch.context() as patch:
        commit = files.commit
        patch.setattr(folder.files, "commit", lambda root, name: commit(root, name)
                      if name != files.RUN or not files.exists(root, files.GATES) else 1 / 0)  # fmt: skip
        evaluated("--gate", BREAKS)
    assert (PLACE / files.GATES).exists()
    assert resume(PLACE).gates == ()  # in Python no gate decides unless one is watching
    assert not (PLACE / files.GATES).exists()
    assert open_run(PLACE).verify() == []


def resealed(change):
    """Change the first line of the gates and make the seal fit, as someone with time would."""
    from closecall.runs.sealing import seal_run

    first, *rest = lines()
    change(first)
    text = "".join(json.dumps(one) + "\n" for one in (first, *rest))
    (PLACE / files.GATES).write_bytes(text.encode())
    (PLACE / files.SEAL).unlink()
    seal_run(PLACE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(outcome="yes"), "no such outcome"),
        (
            lambda one: one.update(outcome="no_ship"),
            "the outcome of a gate that is passed is ship",
        ),
        (lambda one: one.update(comparability="incomparable"), "never shipped"),
        (lambda one: one.update(decisionId="run"), "stands there twice"),
        (lambda one: one.update(inputs={"results": ["r_" + "0" * 32]}), "not in the run"),
        (lambda one: one.pop("decidedAt"), "lacks decidedAt"),
        (lambda one: one.update(decidedAt="today"), "a time must look like"),
        (lambda one: one.update(gateId="no ref"), "gateId must match"),
    ],
)
def test_a_decision_that_does_not_fit_is_found(evaluated, cli, change, said):
    evaluated("--gate", HOLDS)
    resealed(change)
    found = cli("verify", PLACE)
    assert found.code != 0
    assert said in " ".join((found.out + found.err).split())


def test_an_edited_decision_breaks_the_seal(evaluated, cli):
    evaluated("--gate", BREAKS)
    place = PLACE / files.GATES
    place.write_bytes(place.read_bytes().replace(b'"exitCode":1', b'"exitCode":0'))
    found = cli("verify", PLACE)
    assert found.code != 0
    assert "was changed after sealing" in " ".join((found.out + found.err).split())


def test_a_decision_that_cannot_be_read_is_refused_with_its_line(evaluated, cli):
    evaluated("--gate", HOLDS)
    place = PLACE / files.GATES
    place.write_bytes(place.read_bytes().replace(b'"state":"passed"', b'"state":"fine"'))
    said = cli("runs", "show", PLACE)
    assert said.code != 0
    assert f"{place}:1: ext:" in said.err


def test_rules_of_any_length_and_hidden_cases_fit(evaluated, shared_data):
    tag = "t" * 400
    rule = f"pass_rate(token_f1 where tag != '{tag}') >= 0.8"
    assert evaluated("--gate", rule, "--no-content").code == 0
    assert checker(shared_data)(PLACE) == []
    (gate,) = load_run(PLACE).gates
    assert gate.gate.where[0].value == tag
    assert len(lines()[0]["rule"]["strategy"]) == 128


@pytest.mark.parametrize("typed", [True, False])
def test_a_run_that_goes_on_says_where_its_gates_were_written(evaluated, cli, monkeypatch, typed):
    if not typed:
        Path("closecall.toml").write_text(f'gates = [\n  "{HOLDS}",\n]\n')
    undone = interrupted(monkeypatch, 1)
    assert evaluated(*(["--gate", HOLDS] if typed else [])).code == 130
    undone()
    Path("closecall.toml").unlink(missing_ok=True)
    (gate,) = cli("eval", "--resume", PLACE, "-q", "--format", "json").json["gates"]
    assert gate["place"] == ("--gate" if typed else f"{Path('closecall.toml').resolve()}:2")


def test_a_header_without_places_says_that_its_gates_are_its_own():
    (gate,) = kept_gates({"gates": [{"rule": HOLDS, "name": "most"}]})
    assert (gate.name, gate.place) == ("most", "the run's header")
