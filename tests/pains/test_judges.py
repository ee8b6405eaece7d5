"""Judges that fail, each in its own way: never green, said once with a count, and what to do.

Every request was answered with HTTP 400, because of one parameter, and the suite exited with 0
(dotnet/extensions#7580, #7581). A small local model did not keep to the form, and its score could
not be read (dotnet/extensions#6569, #6042).
"""

import json
import threading
import xml.etree.ElementTree as ET

import pytest
from fake_chat import Said, error, turn, unsupported
from full_marks import FULL, MARKS

pytestmark = pytest.mark.loopback

COUNT = 6
ASKED = (
    "eval", "cases.jsonl", "-m", "llm_relevance,token_f1", "--judge-model",
    "openai-compatible:asked-model", "--no-aef", "-q",
)  # fmt: skip
BOUND = "llm_relevance:max_tokens=1600"
AGAIN = "--record-missing"

FAILURES = {
    "400": (lambda p, r: error("This is no request.", status=400), "HTTP 400: This is no request"),
    "422": (lambda p, r: error("max_tokens is below 2048", status=422), "max_tokens=none"),
    "temperature": (lambda p, r: error("temperature is out of range"), "temperature=1"),
    "window": (lambda p, r: error("maximum context length is 512"), "a judge with a longer one"),
    "unreadable": (lambda p, r: p.reply(r, turn(f"Number {r.number} is nice")), "cannot be read"),
    "out of range": (lambda p, r: p.reply(r, turn('{"score": 11}')), "cannot be read"),
    "empty": (lambda p, r: p.reply(r, turn("")), BOUND),
    "blank": (lambda p, r: p.reply(r, turn(" \n ")), BOUND),
    "cut off": (lambda p, r: p.reply(r, turn('{"thoughts": "wel', finish="length")), BOUND),
    "rate limit": (lambda p, r: error("Too many requests", status=429), AGAIN),
    "long rate limit": (
        lambda p, r: error("Tomorrow", status=429, headers=(("retry-after", "90000"),)),
        AGAIN,
    ),
    "broken down": (lambda p, r: error("Oops", status=500), AGAIN),
    "filtered": (lambda p, r: p.reply(r, turn("x", finish="content_filter")), "content filter"),
    "no choice": (lambda p, r: Said(200, {"choices": []}), "no choice"),
    "half a body": (lambda p, r: Said(200, raw=b'{"choices": [{"mes'), "not JSON"),
    "error in a success": (lambda p, r: Said(200, {"error": {"message": "no"}}), "error"),
    "declined": (
        lambda p, r: p.reply(r, turn(None, refusal=f"Not number {r.number}")),
        "declined to judge",
    ),
}


@pytest.fixture
def cases(write):
    cases = [
        {
            "id": f"oar-{n}", "input": f"What is oar {n} made of?",
            "reference": f"Oar {n} is made of ash.", "response": f"Oar {n} is made of ash.",
        }
        for n in range(1, COUNT + 1)
    ]  # fmt: skip
    write(*cases)
    return cases


@pytest.mark.usefixtures("cases", "impatient")
@pytest.mark.parametrize(("reply", "said"), FAILURES.values(), ids=FAILURES)
def test_a_judge_that_always_fails_is_told_once_with_its_count_and_is_never_green(
    cli, judge, reply, said
):
    judge.script = lambda received: reply(judge, received)
    told = cli(*ASKED, "--format", "json")
    assert told.code == told.json["exitCode"] == 11
    judged, other = told.json["metrics"]
    assert (judged["passed"], judged["measured"], judged["asked"]) == (0, 0, COUNT)
    assert other["measured"] == COUNT
    ((reason, count),) = judged["absent"].items()
    assert count == COUNT
    assert said in reason
    assert {row["state"] for row in told.json["results"]} <= {"not_measured", "error"}

    table = cli(*ASKED)
    assert table.code == 11
    assert f"llm_relevance: {COUNT} cases: {reason} (oar-1, oar-2, oar-3, ...)" in table.words
    assert "Traceback" not in table.err

    junit = cli(*ASKED, "--format", "junit")
    suite = ET.fromstring(junit.out)[0]  # noqa: S314 - our own
    told_of = [one for test in suite.iter("testcase") for one in test]
    assert len(told_of) == COUNT
    assert all(one.get("message").startswith(reason) for one in told_of)


def test_a_server_that_never_answers_is_a_timeout_with_a_count(cli, cases, judge, impatient):
    over = threading.Event()
    impatient(0.1)
    judge.script = lambda received: over.wait(60) and None
    try:
        told = cli(*ASKED, "--format", "json")
    finally:
        over.set()
    assert told.code == 11
    ((reason, count),) = told.json["metrics"][0]["absent"].items()
    assert (count, "did not answer in time" in reason, AGAIN in reason) == (COUNT, True, True)


def test_a_server_that_is_not_there_ends_the_run_before_every_case_waits_for_it(
    cli, cases, judge, impatient
):
    judge.__exit__()
    told = cli(*ASKED)
    judge.__enter__()
    assert (told.code, told.out) == (3, "")
    assert "asked-model@openai-compatible" in told.err


def test_what_a_judge_said_is_kept_beside_the_reason_it_shares_with_others(cli, cases, judge):
    judge.script = lambda received: judge.reply(received, turn("It is a fine oar, I think."))
    told = cli(*ASKED, "--format", "json")
    for row in told.json["results"]:
        cause, quoted = row["metrics"][0]["reason"].split("\n")
        assert cause in told.json["metrics"][0]["absent"]
        assert quoted == "it said: 'It is a fine oar, I think.'"
    assert len(judge.requests) == 2 * COUNT  # one repair each, and no more


def test_a_parameter_of_another_name_is_sent_by_that_name_and_the_run_is_whole(cli, cases, judge):
    def script(received):
        if "max_tokens" in received.body:
            return unsupported("max_tokens", "max_completion_tokens")
        return judge.reply(received, turn(FULL))

    judge.script = script
    told = cli(*ASKED, "--format", "json")
    assert told.code == 0
    assert told.json["metrics"][0]["measured"] == COUNT
    assert "does not take max_tokens, so max_completion_tokens is sent instead" in told.err
    assert told.err.count("does not take max_tokens") == 1


@pytest.mark.parametrize(
    "said",
    [
        f"Sure! Here is my verdict:\n```json\n{json.dumps(MARKS)}\n```",
        f"<think>Let me see. A 2? No.</think>\n{json.dumps(MARKS)}",
        json.dumps(MARKS).replace("5}", "5,}"),
        "<S0>It was read.</S0>\n<S1>It answers.</S1>\n<S2>5</S2>",
        "Score: 5",
        '{"score": "5"}',
    ],
    ids=["fence", "thoughts", "comma", "tags", "number", "text"],
)
def test_a_small_model_is_read_where_it_can_be(cli, cases, judge, said):
    def script(received):
        if "response_format" in received.body:
            return error("response_format is not supported")
        return judge.reply(received, turn(said))

    judge.script = script
    told = cli(*ASKED, "--format", "json")
    assert told.code == 0
    assert {row["metricScores"]["llm_relevance"] for row in told.json["results"]} == {5}


def test_one_repair_saves_a_score_and_is_told(cli, cases, judge):
    def script(received):
        again = len(received.body["messages"]) > 2
        return judge.reply(received, turn(FULL if again else "Five out of five!"))

    judge.script = script
    told = cli(*ASKED, "--format", "json")
    assert told.code == 0
    assert told.json["results"][0]["metrics"][0]["details"]["repairedReplies"] == 1


def test_after_a_failure_only_what_failed_is_asked_again(cli, cases, judge, impatient):
    def script(received):
        if "oar 2 " in received.body["messages"][-1]["content"]:
            return error("Too many requests", status=429)
        return judge.reply(received, turn(FULL))

    usual, judge.script = judge.script, script
    assert cli(*ASKED, "--record-missing", "tape").code == 11
    before = len(judge.requests)
    judge.script = usual
    assert cli(*ASKED, "--record-missing", "tape").code == 0
    assert len(judge.requests) - before == 1
