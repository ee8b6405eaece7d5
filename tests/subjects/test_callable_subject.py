"""A Python function as the subject."""

import threading

import pytest

from closecall.chat.base import ChatUsage
from closecall.errors import ConfigurationError, UsageError
from closecall.records import Case, State
from closecall.subjects.base import Answer, Subject
from closecall.subjects.python import CallableSubject


def shout(case):
    return case.input.upper()


def cases(*inputs):
    return [Case(id=str(n), input=text) for n, text in enumerate(inputs)]


def test_what_a_function_returns_is_the_answer():
    subject = CallableSubject(shout)
    assert isinstance(subject, Subject)
    found = subject.answer(cases("a", "b"))
    assert [one.text for one in found] == ["A", "B"]
    assert all(one.latency_ms >= 0 for one in found)
    given = Answer(text="x", latency_ms=3.0, finish="length")
    assert CallableSubject(lambda case: given).answer(cases("a")) == [given]


def test_what_goes_wrong_for_one_case_is_its_own():
    def moody(case):
        if case.input == "raise":
            raise ValueError("not today")
        return {"number": 7, "half": "\ud83d"}.get(case.input, "fine")

    found = CallableSubject(moody).answer(cases("raise", "number", "half", None, "other"))
    assert [getattr(one, "state", None) for one in found] == [
        State.ERROR, State.ERROR, State.ERROR, State.NOT_MEASURED, None,
    ]  # fmt: skip
    assert "ValueError: not today" in found[0].reason
    assert "returned int" in found[1].reason
    assert "surrogate" in found[2].reason
    assert found[4].text == "fine"


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"usage": ChatUsage(1 << 60, 1)}, "prompt_tokens"),
        ({"usage": ChatUsage(1, -1)}, "completion_tokens"),
        ({"usage": (1, 2)}, "ChatUsage"),
        ({"latency_ms": float("nan")}, "latency_ms"),
        ({"latency_ms": -1.0}, "latency_ms"),
        ({"latency_ms": "3"}, "latency_ms"),
        ({"text": 7}, "Answer.text"),
        ({"finish": None}, "Answer.finish"),
    ],
)
def test_an_answer_that_no_run_could_keep_is_that_cases_error(odd, said):
    found = CallableSubject(lambda case: Answer(**{"text": "x", **odd})).answer(cases("a"))
    assert found[0].state is State.ERROR
    assert said in found[0].reason


def test_a_function_that_says_nothing_can_work_ends_it():
    def unset(case):
        raise ConfigurationError("MY_KEY is not set")

    with pytest.raises(ConfigurationError, match="MY_KEY"):
        CallableSubject(unset).answer(cases("a", "b"))


def test_calls_run_side_by_side_only_when_asked_to():
    meet = threading.Barrier(3)

    def wait(case):
        meet.wait(20)
        return case.input

    found = CallableSubject(wait, in_flight=3).answer(cases("a", "b", "c"))
    assert [one.text for one in found] == ["a", "b", "c"]
    threads = set()
    CallableSubject(lambda case: threads.add(threading.get_ident()) or "x").answer(cases("a", "b"))
    assert threads == {threading.get_ident()}


def test_a_function_is_told_from_another_by_its_source_or_what_is_said_of_it():
    one = CallableSubject(shout).identity
    assert one.kind == "callable"
    assert one.name.endswith("shout")
    assert one.digest == CallableSubject(shout).identity.digest
    assert one.digest != CallableSubject(lambda case: "x", name=one.name).identity.digest
    assert one.digest != CallableSubject(shout, version="2").identity.digest
    assert CallableSubject(str.upper).identity.facts["source_sha256"] == ""


async def later(case):
    return "x"


class Later:
    async def __call__(self, case):
        return "x"


@pytest.mark.parametrize("wrong", [later, Later(), "text", None])
def test_what_cannot_be_called_is_refused(wrong):
    with pytest.raises(UsageError, match="a subject must be"):
        CallableSubject(wrong)


def test_in_flight_is_at_least_one():
    with pytest.raises(UsageError, match="in_flight"):
        CallableSubject(shout, in_flight=0)
