"""A returns desk: an assistant answers, a judge marks, all is recorded once and replayed offline."""

import json
import time
from contextlib import contextmanager

import pytest
from fake_chat import FakeChat, Said, error, turn

from closecall.cli import run as command_line
from closecall.offline import sealed
from closecall.runs import sinks, work
from closecall.runs.reader import open_run
from closecall.runs.stored import load_run

pytestmark = pytest.mark.loopback

DESK = [
    ("How long can I send a lamp back?", "Returns are taken for 30 days.", r"30 days"),
    ("Who pays the postage?", "We pay the postage of every return.", r"[Ww]e pay"),
    ("Can I return a used kettle?", "Used goods are taken for half the price.", r"half"),
    ("Where do I find the label?", "The label is in the parcel, under the lid.", r"under the lid"),
    ("When is my money back?", "Money is paid back within a week.", r"within a week"),
    ("Can I swap sizes?", "Sizes are swapped free of charge, once.", r"free of charge"),
    ("What of sale items?", "Sale items are returned against a voucher.", r"voucher"),
    ("Do you take open boxes?", "Open boxes are taken if nothing is missing.", r"nothing is missing"),
]  # fmt: skip
PROMPT = "You work at the returns desk of a lamp shop. Answer in one sentence."
METRICS = "llm_relevance,llm_coherence,llm_groundedness,expected_fact"


def desk(received):
    """The assistant says what the context says; the judge gives full marks."""
    messages = received.body["messages"]
    if "response_format" in received.body:
        marks = {"thoughts": "It fits.", "reason": "It answers the question.", "score": 5}
        return None if received.number < 0 else json.dumps(marks)
    asked = messages[-1]["content"]
    return next(answer for question, answer, _ in DESK if question in asked)


@pytest.fixture
def server():
    with FakeChat("openai-compatible") as provider:
        provider.script = lambda received: provider.reply(received, turn(desk(received)))
        yield provider


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"desk-{n}", "input": question, "context": [answer], "expected_facts": [fact]}
        for n, (question, answer, fact) in enumerate(DESK, 1)
    ]
    (tmp_path / "desk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prompt.txt").write_text(PROMPT, encoding="utf-8")
    return tmp_path


def asked(server, monkeypatch, *more, metrics=METRICS):
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CLOSECALL_SUBJECT_API_KEY", "subject-key-for-tests")
    url = server.environment()["OPENAI_COMPATIBLE_ENDPOINT"]
    judge = ["--judge-model", "openai-compatible:judge"] if "llm_" in metrics else []
    return command_line(
        ["eval", "desk.jsonl", "-q", "-m", metrics, "--endpoint", url, "--model", "assistant",
         "--system-prompt-file", "prompt.txt", *judge, *more]
    )  # fmt: skip


@contextmanager
def interrupted(after=1):
    """Interrupt the run once so many batches are written."""
    add, written = sinks.FolderSink.add, []

    def adding(self, rows, *beside):
        if len(written) >= after:
            raise KeyboardInterrupt
        written.append(rows)
        add(self, rows, *beside)

    sinks.FolderSink.add = adding
    try:
        yield
    finally:
        sinks.FolderSink.add = add


def scores(folder):
    return [
        (row.case.id, row.case.response, [r.measurement.value for r in row.results])
        for row in load_run(folder)
    ]


def test_recorded_once_it_replays_with_the_server_down(server, place, monkeypatch, capsys):
    assert asked(server, monkeypatch, "--aef", "live", "--record", "tape") == 0
    assert len(server.requests) == 32
    (tape,) = (place / "tape").glob("*.jsonl")
    entries = [json.loads(line) for line in tape.read_text("utf-8").splitlines()]
    assert sum(one.get("key", "").startswith("chat:") for one in entries) == 32
    assert "subject-key-for-tests" not in tape.read_text("utf-8")
    live = scores("live")
    assert all(response for _, response, _ in live)
    assert not open_run("live").verify()
    assert load_run("live").header.answered_by.facts["model"] == "assistant"

    server.__exit__()
    began = time.perf_counter()
    with sealed():
        assert asked(server, monkeypatch, "--aef", "again", "--replay", "tape") == 0
    took = time.perf_counter() - began
    assert scores("again") == live
    assert took < 20  # a bound against hanging, far above the time it takes
    server.__enter__()


def test_recordings_expire_only_where_that_is_asked(server, place, monkeypatch, capsys):
    assert asked(server, monkeypatch, "--aef", "live", "--record", "tape") == 0
    assert asked(server, monkeypatch, "--no-aef", "--replay", "tape", "--ttl", "30d") == 0
    assert asked(server, monkeypatch, "--no-aef", "--replay", "tape", "--ttl", "0d") == 5
    assert len(server.requests) == 32
    assert asked(server, monkeypatch, "--no-aef", "--record-missing", "tape", "--ttl", "0d") == 0
    assert len(server.requests) == 64


@pytest.mark.parametrize("option", [("--ttl", "30d"), ("--record-floats", "f16")])
def test_options_of_a_recording_need_one(server, place, monkeypatch, capsys, option):
    assert asked(server, monkeypatch, "--no-aef", *option) == 2
    assert f"{option[0]} is about a cassette" in capsys.readouterr().err
    assert not server.requests


def test_one_word_of_the_prompt_makes_exactly_the_assistant_s_requests_miss(
    server, place, monkeypatch, capsys
):
    assert asked(server, monkeypatch, "--aef", "live", "--record", "tape") == 0
    (place / "prompt.txt").write_text(PROMPT.replace("one", "a"), encoding="utf-8")
    capsys.readouterr()
    assert asked(server, monkeypatch, "--aef", "again", "--replay", "tape") == 5
    said = capsys.readouterr().err
    assert "messages[0].content" in said
    before = len(server.requests)
    assert asked(server, monkeypatch, "--aef", "more", "--record-missing", "tape") == 0
    assert len(server.requests) - before == 8  # the answers are the same, so no judge is asked


def test_metrics_of_every_kind_stand_in_one_run_with_one_exit_code(
    server, place, monkeypatch, capsys
):
    rows = [json.loads(line) for line in (place / "desk.jsonl").read_text().splitlines()]
    for row, (_, answer, _) in zip(rows, DESK, strict=True):
        row["references"] = [answer]
    (place / "desk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    metrics = "bleu,gleu,token_f1,expected_fact,embed_answer_similarity,llm_relevance"
    assert asked(server, monkeypatch, "--aef", "all", metrics=metrics) == 0
    run = load_run("all")
    assert [m.measured for m in run.metrics] == [8] * 6
    assert not open_run("all").verify()


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lambda p, r: error("no such parameter", status=400), "400"),
        (lambda p, r: p.reply(r, turn("I would rather not say.")), "cannot be read"),
        (lambda p, r: p.reply(r, turn("")), "empty"),
        (lambda p, r: p.reply(r, turn('{"thoughts": "it', finish="length")), "cut off"),
        (lambda p, r: Said(200, {"choices": []}), ""),
        (lambda p, r: Said(200, raw=b'{"choices": [{"mess'), ""),
    ],
)
def test_a_judge_that_fails_is_never_green_and_costs_nobody_else(
    server, place, monkeypatch, reply, said
):
    def script(received):
        if "response_format" in received.body or "score" in str(received.body["messages"]):
            return reply(server, received)
        return server.reply(received, turn(desk(received)))

    server.script = script
    code = asked(server, monkeypatch, "--aef", "live", metrics="llm_relevance,expected_fact")
    assert code == 11
    run = load_run("live")
    judged, fact = run.metrics
    assert (judged.measured, fact.passed) == (0, 8)
    assert sum(judged.absent.values()) == 8
    assert len(judged.absent) == 1  # one reason for one cause, so that it is counted
    assert said in next(iter(judged.absent))


def test_an_expected_refusal_is_checked_as_one_and_judged_by_nobody(
    server, place, monkeypatch, capsys
):
    row = {
        "id": "r", "input": "Who else bought it?", "context": ["Orders are private."],
        "response": "I'm sorry, I can't tell you that.", "expected_refusal": True,
    }  # fmt: skip
    (place / "desk.jsonl").write_text(json.dumps(row) + "\n")
    metrics = "refusal,llm_relevance,llm_groundedness"
    assert asked(server, monkeypatch, "--aef", "live", metrics=metrics) == 0
    (only,) = load_run("live")
    assert [r.state.value for r in only.results] == ["passed", "not_applicable", "not_applicable"]
    assert server.requests == []


def test_an_unknown_metric_and_a_missing_provider_are_found_before_any_request(
    server, place, monkeypatch, capsys
):
    assert asked(server, monkeypatch, "--no-aef", metrics="llm_relevanse") == 3
    assert "did you mean llm_relevance" in capsys.readouterr().err.lower()
    url = server.environment()["OPENAI_COMPATIBLE_ENDPOINT"]
    monkeypatch.delenv("AI_INFERENCE_PROVIDER", raising=False)
    code = command_line(
        ["eval", "desk.jsonl", "-q", "-m", "llm_relevance", "--endpoint", url, "--model", "a"]
    )
    assert code == 3
    assert "AI_INFERENCE_PROVIDER" in capsys.readouterr().err
    assert server.requests == []


def test_a_run_that_was_cut_off_asks_no_answered_case_again(server, place, monkeypatch, capsys):
    calls = []

    def script(received):
        if "response_format" not in received.body:
            calls.append(received.body["messages"][-1]["content"])
        return server.reply(received, turn(desk(received)))

    server.script = script
    assert asked(server, monkeypatch, "--aef", "whole") == 0
    monkeypatch.setattr(work, "ASKED_CASES", 3)
    with interrupted():
        assert asked(server, monkeypatch, "--aef", "live") == 130
    calls.clear()
    assert command_line(["eval", "-q", "--resume", "live"]) == 0
    assert len(calls) == 5
    assert scores("live") == scores("whole")
    assert not open_run("live").verify()


def test_a_command_answers_too_and_its_failures_are_named(place, capsys):
    import sys

    program = (
        "import json,sys; case=json.load(sys.stdin); "
        "sys.exit('no idea') if 'postage' in case['input'] else print(case['context'][0])"
    )
    (place / "answer.py").write_text(program)
    code = command_line(
        [
            "eval", "desk.jsonl", "-q", "-m", "expected_fact", "--aef", "run",
            "--subject-command", f"{sys.executable} answer.py",
        ]
    )  # fmt: skip
    assert code == 11
    run = load_run("run")
    assert (run.metrics[0].passed, run.metrics[0].measured) == (7, 7)
    (reason,) = run.metrics[0].absent
    assert "the subject gave no answer" in reason
    assert "no idea" in reason


def test_a_run_that_goes_on_is_held_against_the_gates_it_began_with(
    server, place, monkeypatch, capsys
):
    (place / "closecall.toml").write_text('gates = ["pass_rate(expected_fact) >= 0"]')
    monkeypatch.setattr(work, "ASKED_CASES", 3)
    server.script = lambda r: server.reply(r, turn("no idea"))
    rule = ("--gate", "pass_rate(expected_fact) >= 0.9")
    with interrupted():
        assert asked(server, monkeypatch, "--aef", "g", *rule, metrics="expected_fact") == 130
    assert command_line(["eval", "-q", "--resume", "g"]) == 1
    assert "pass_rate(expected_fact) >= 0.9" in " ".join(capsys.readouterr().out.split())


def test_a_run_that_goes_on_stays_with_its_cassette_and_loses_none_of_it(
    server, place, monkeypatch, capsys
):
    assert asked(server, monkeypatch, "--aef", "live", "--record", "tape") == 0
    (tape,) = (place / "tape").glob("*.jsonl")
    whole = tape.read_bytes()
    assert command_line(["eval", "-q", "--resume", "live"]) == 0
    assert tape.read_bytes() == whole
    monkeypatch.setattr(work, "ASKED_CASES", 3)
    with interrupted():
        assert asked(server, monkeypatch, "--aef", "other.name", "--replay", "tape") == 130
    before = len(server.requests)
    assert command_line(["eval", "-q", "--resume", "other.name"]) == 0
    assert len(server.requests) == before
    assert scores("other.name") == scores("live")
    assert [path.name for path in (place / "tape").glob("*.jsonl")] == [tape.name]


def test_a_failure_while_recording_again_drops_no_recording(server, place, monkeypatch, capsys):
    assert asked(server, monkeypatch, "--aef", "a", "--record", "tape") == 0

    def script(received):
        if "response_format" not in received.body and "postage" in str(received.body["messages"]):
            return error("not today", status=400)
        return server.reply(received, turn(desk(received)))

    server.script = script
    assert asked(server, monkeypatch, "--aef", "b", "--record", "tape") == 11
    assert asked(server, monkeypatch, "--aef", "c", "--replay", "tape") == 0


def test_a_refused_key_ends_the_run_so_that_it_can_go_on(server, place, monkeypatch, capsys):
    monkeypatch.setattr(work, "ASKED_CASES", 3)
    bad = [False]

    def script(received):
        if bad[0] and "response_format" in received.body:
            return error("Incorrect API key provided", status=401)
        bad[0] = bad[0] or received.number > 12
        return server.reply(received, turn(desk(received)))

    server.script = script
    code = asked(server, monkeypatch, "--aef", "live", metrics="llm_relevance,expected_fact")
    assert code == 3
    assert "--resume live" in capsys.readouterr().err
    bad[0] = False
    server.script = lambda received: server.reply(received, turn(desk(received)))
    assert command_line(["eval", "-q", "--resume", "live"]) == 0
    assert len(load_run("live")) == 8


def test_answers_that_were_cut_off_are_said_to_be(server, place, monkeypatch, capsys):
    server.script = lambda r: server.reply(r, turn(desk(r), finish="length"))
    more = ("--aef", "live", "--max-tokens", "5")
    asked(server, monkeypatch, *more, metrics="expected_fact")
    said = " ".join(capsys.readouterr().out.split())
    assert "8 of 8 answers cut off at the most tokens allowed" in said
    assert load_run("live").answered.cut == 8


def test_without_content_no_word_of_a_judge_or_a_guard_is_kept(server, place, monkeypatch, capsys):
    row = {
        "id": "r", "input": "What is the code?", "references": ["The code is HIDDEN7."],
        "response": "The code is HIDDEN8.", "context": ["The code is HIDDEN7."],
    }  # fmt: skip
    (place / "desk.jsonl").write_text(json.dumps(row) + "\n")
    marks = {"thoughts": "HIDDEN8 is not HIDDEN7.", "reason": "It says 'HIDDEN8'.", "score": 2}
    for reply in (json.dumps(marks), "I think HIDDEN8 is wrong."):
        server.script = lambda r, said=reply: server.reply(r, turn(said))
        folder = f"run{len(reply)}"
        metrics = "llm_groundedness,embed_answer_similarity,answer_alignment,guards"
        asked(server, monkeypatch, "--aef", folder, "--no-content", metrics=metrics)
        assert len(load_run(folder)) == 1
        for path in (place / folder).rglob("*"):
            if path.is_file():
                assert "HIDDEN" not in path.read_text("utf-8"), path


@pytest.mark.parametrize(
    "command", ["cat API_KEY=sk-abcdefghijklmnopqrstuv", "cat secret-value-1"]
)
def test_a_key_in_a_command_is_refused_and_written_nowhere(place, monkeypatch, capsys, command):
    monkeypatch.setenv("MY_API_KEY", "secret-value-1")
    asked_for = ["eval", "desk.jsonl", "-q", "-m", "expected_fact", "--aef", "run"]
    assert command_line([*asked_for, "--subject-command", command]) == 2
    said = capsys.readouterr().err
    assert "let the program read the variable itself" in said
    assert "secret-value-1" not in said
    assert not (place / "run").exists()
