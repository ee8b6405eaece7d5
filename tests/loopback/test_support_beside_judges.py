"""Support metrics beside recorded judges: they are measured again, and ask nobody."""

import json
from pathlib import Path

import pytest
from fake_chat import FakeChat, turn

from closecall import load_run
from closecall.cli import run as command_line
from closecall.offline import sealed

pytestmark = pytest.mark.loopback

SUPPORT = ("answer_support", "context_support")
JUDGED = ("-m", f"{','.join(SUPPORT)},llm_equivalence", "--judge-model", "openai-compatible:judge")
TRUTH = "The pump is drained in autumn."
ROWS = [
    {"id": "same", "response": TRUTH},
    {"id": "else", "response": "My aunt keeps bees behind her house."},
]


@pytest.fixture
def server(monkeypatch):
    marks = json.dumps({"thoughts": "I compare.", "reason": "As it is.", "score": 5})
    with FakeChat("openai-compatible") as provider:
        provider.script = lambda received: provider.reply(received, turn(marks))
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        yield provider


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    write(ROWS)


def write(rows):
    asked = {"input": "When is it drained?", "reference": TRUTH, "context": [TRUTH]}
    lines = [json.dumps({**asked, **row}) + "\n" for row in rows]
    Path("cases.jsonl").write_text("".join(lines), encoding="utf-8")


def measured(folder):
    """What each support metric found in each case, by the name of both."""
    return {
        (row.case.id, result.metric): result.measurement
        for row in load_run(folder)
        for result in row.results
        if result.metric in SUPPORT
    }


def test_with_the_server_down_they_say_the_same_and_are_on_no_tape(server, capsys):
    assert command_line(["eval", "cases.jsonl", *JUDGED, "--record", "tape", "--aef", "live"]) == 0
    (tape,) = Path("tape").glob("*.jsonl")
    entries = [json.loads(line) for line in tape.read_text("utf-8").splitlines()]
    recorded = [one["key"].partition(":")[0] for one in entries if "request" in one]
    assert recorded == ["chat"] * len(ROWS)
    server.__exit__()
    capsys.readouterr()
    with sealed():
        again = ["eval", "cases.jsonl", *JUDGED, "--replay", "tape", "--aef", "again"]
        assert command_line(again) == 0
    assert "2 replayed" in capsys.readouterr().err
    server.__enter__()
    live, found = measured("live"), measured("again")
    assert found == live
    assert all(live["same", name].value > live["else", name].value for name in SUPPORT)


def test_alone_they_need_no_recording_and_no_judge(server, capsys):
    assert command_line(["eval", "cases.jsonl", *JUDGED, "--record", "tape", "--aef", "live"]) == 0
    before = len(server.requests)
    write([*ROWS, {"id": "new", "response": "Nobody recorded this."}])
    with sealed():
        alone = ["eval", "cases.jsonl", "-m", ",".join(SUPPORT), "--replay", "tape"]
        assert command_line([*alone, "--aef", "alone"]) == 0
        assert "nothing in this run leaves the machine" in capsys.readouterr().err
        assert command_line(["eval", "cases.jsonl", *JUDGED, "--replay", "tape"]) == 5
    assert len(server.requests) == before
    live, alone = measured("live"), measured("alone")
    assert {key: alone[key] for key in live} == live
