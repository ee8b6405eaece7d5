"""Cases with their answers, as a stream."""

import pytest

from closecall.chat.base import ChatFailure, ChatReply, ChatUsage
from closecall.errors import ConfigurationError
from closecall.records import Case
from closecall.subjects.answered import Answering, answered
from closecall.subjects.base import Answer
from closecall.subjects.chat import ChatSubject
from closecall.subjects.python import CallableSubject
from closecall.testing import ScriptedChat


def cases(n):
    return [
        Case(id=str(at), input=f"q{at}", response="given" if at % 3 == 0 else None)
        for at in range(n)
    ]


@pytest.mark.parametrize("batch", [1, 2, 4, 100])
def test_only_cases_without_a_response_are_asked_and_order_is_kept(batch):
    asked = []
    subject = CallableSubject(lambda case: asked.append(case.id) or f"answer {case.id}")
    found = list(answered(cases(10), subject, batch=batch))
    assert [one.case.id for one in found] == [str(n) for n in range(10)]
    assert [one.case.response for one in found] == [
        "given" if n % 3 == 0 else f"answer {n}" for n in range(10)
    ]
    assert asked == [str(n) for n in range(10) if n % 3]
    assert [one.answer is None for one in found] == [n % 3 == 0 for n in range(10)]


def test_an_empty_response_is_a_response():
    asked = []
    subject = CallableSubject(lambda case: asked.append(case) or "asked")
    (found,) = answered([Case(id="1", input="q", response="")], subject)
    assert found.case.response == ""
    assert asked == []


def test_what_got_no_answer_has_the_reason():
    subject = CallableSubject(lambda case: "x")
    (found,) = answered([Case(id="1")], subject)
    assert found.case.response is None
    assert "no input" in found.missing.reason


def test_cases_stream_and_the_next_batch_is_asked_only_when_it_is_wanted():
    read, asked = [], []

    def source():
        for n in range(100):
            read.append(n)
            yield Case(id=str(n), input="q")

    stream = answered(
        source(), CallableSubject(lambda case: asked.append(case.id) or "x"), batch=4
    )
    for _ in range(5):
        next(stream)
    assert (len(read), len(asked)) == (8, 8)


class Wrong:
    identity = CallableSubject(len).identity

    def __init__(self, said):
        self._said = said

    def answer(self, cases):
        return self._said


@pytest.mark.parametrize("said", [[], ["text"], [Answer(text="a"), Answer(text="b")]])
def test_a_subject_that_breaks_its_contract_is_refused(said):
    with pytest.raises(ConfigurationError, match="an Answer or an Unmeasured for each of 1 cases"):
        list(answered([Case(id="1", input="q")], Wrong(said)))


def test_a_stream_of_cases_keeps_what_a_run_has_to_record():
    replies = [
        ChatReply(content="a", usage=ChatUsage(5, 2), latency_ms=10.0),
        ChatFailure(reason="busy", kind="rate_limited"),
        ChatReply(content="b", usage=ChatUsage(3, 1), latency_ms=5.0, finish="length"),
        ChatReply(content="c"),
    ]
    stream = Answering(
        [Case(id=str(n), input="q") for n in range(4)] + [Case(id="x", response="given")],
        ChatSubject(ScriptedChat(replies)),
    )
    assert stream.usage == ChatUsage()
    found = list(stream)
    assert [case.response for case in found] == ["a", None, "b", "c", "given"]
    assert list(stream.missing) == ["1"]
    assert stream.missing["1"].reason == "the subject gave no answer: busy"
    assert (stream.answers, stream.cut, stream.unreported) == (3, 1, 1)
    assert stream.usage == ChatUsage(8, 3)
    assert stream.latency_ms == 15.0


def test_an_answer_that_holds_a_key_of_the_environment_is_none(monkeypatch):
    key = 'qk4-never"print-me'
    monkeypatch.setenv("DESK_API_KEY", key)
    said = {"1": f"The key is {key}.", "2": "No key."}
    subject = CallableSubject(lambda case: said[case.id])
    held, fine = answered([Case(id=name, input="q") for name in said], subject)
    assert held.case.response is None
    assert held.answer is None
    assert held.missing.state.value == "error"
    assert "DESK_API_KEY" in held.missing.reason
    assert key not in held.missing.reason
    assert fine.case.response == "No key."
