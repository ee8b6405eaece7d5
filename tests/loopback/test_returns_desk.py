"""A returns desk: an assistant answers, a judge marks, all is recorded once and replayed offline."""

import json
import time

import pytest
from fake_chat import FakeChat, Said, error, turn

from closecall.cli import run as command_line
from closecall.offline import sealed
from closecall.runs import runner, sinks
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
    return command_line(
        [
            "eval", "desk.jsonl", "-q", "-m", metrics, "--endpoint", url, "--model", "assistant",
            "--system-prompt-file", "prompt.txt", "--judge-model", "openai-compatible:judge", *more,
        ]
    )  # fmt: skip


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
    monkeypatch.setattr(runner, "BATCH_CASES", 3)
    add, written = sinks.FolderSink.add, []

    def interrupted(self, rows):
        if written:
            raise KeyboardInterrupt
        written.append(rows)
        add(self, rows)

    monkeypatch.setattr(sinks.FolderSink, "add", interrupted)
    assert asked(server, monkeypatch, "--aef", "live") == 130
    monkeypatch.setattr(sinks.FolderSink, "add", add)
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
