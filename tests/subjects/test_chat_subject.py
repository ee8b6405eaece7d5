"""A chat model as the subject: answers, and why there is none."""

import hashlib
import json

import pytest

from closecall.chat.base import ChatFailure, ChatIdentity, ChatReply, ChatUsage, ToolCall
from closecall.errors import DataError, UsageError
from closecall.records import Case, State, Unmeasured
from closecall.subjects.base import Answer, Subject
from closecall.subjects.chat import ChatSubject, read_system_prompt
from closecall.testing import ScriptedChat


def cases(*inputs):
    return [Case(id=str(n), input=text) for n, text in enumerate(inputs)]


def test_each_case_gets_the_models_reply():
    call = ToolCall(name="look_up")
    whole = ChatReply(
        content="on Monday", tool_calls=(call,), finish="tool_calls", usage=ChatUsage(4, 2),
        latency_ms=12.5,
    )  # fmt: skip
    chat = ScriptedChat([whole, "nine"])
    subject = ChatSubject(chat, system_prompt="Be brief.", max_tokens=30)
    assert isinstance(subject, Subject)
    assert subject.answer(cases("When?", "How many?")) == [
        Answer(
            text="on Monday", tool_calls=(call,), finish="tool_calls", usage=ChatUsage(4, 2),
            latency_ms=12.5,
        ),
        Answer(text="nine"),
    ]  # fmt: skip
    asked = chat.requests[0]
    assert [one.content for one in asked.messages] == ["Be brief.", "When?"]
    assert (asked.temperature, asked.seed, asked.max_tokens) == (0.0, 0, 30)
    assert asked.schema is None


def test_cases_that_cannot_be_asked_cost_no_other_its_answer():
    chat = ScriptedChat(lambda request: request.messages[-1].content.upper())
    found = ChatSubject(chat).answer(cases("a", None, "b"))
    assert [found[0].text, found[2].text] == ["A", "B"]
    assert isinstance(found[1], Unmeasured)
    assert len(chat.requests) == 2
    assert isinstance(ChatSubject(ScriptedChat([])).answer(cases(None))[0], Unmeasured)


def test_a_failure_is_an_error_and_equal_ones_read_alike():
    failure = ChatFailure(reason="HTTP 400: no", kind="refused", status=400)
    found = ChatSubject(ScriptedChat([failure, failure])).answer(cases("a", "b"))
    assert found[0] == found[1]
    assert found[0] == Unmeasured("the subject gave no answer: HTTP 400: no", State.ERROR)


def test_an_answer_that_was_cut_says_so_and_none_at_all_is_none():
    replies = [
        ChatReply(content="It is", finish="length"),
        ChatReply(content=" ", finish="length"),
    ]
    cut, none = ChatSubject(ScriptedChat(replies)).answer(cases("a", "b"))
    assert (cut.text, cut.finish) == ("It is", "length")
    assert "--max-tokens" in none.reason


def test_an_empty_answer_is_an_answer():
    assert ChatSubject(ScriptedChat([""])).answer(cases("a")) == [Answer(text="")]


def test_the_identity_has_all_that_changes_an_answer_and_no_prompt():
    model = ChatIdentity(provider="openai", host="api.example", model="m")
    chat = ScriptedChat([], identity=model)
    subject = ChatSubject(chat, system_prompt="Be brief.", temperature=0.5, seed=None)
    identity = subject.identity
    assert (identity.kind, identity.name) == ("chat", "m@openai")
    assert identity.facts == {
        "provider": "openai", "host": "api.example", "model": "m", "model_digest": model.digest,
        "temperature": 0.5, "seed": None, "max_tokens": None, "context": False,
        "system_prompt_sha256": hashlib.sha256(b"Be brief.").hexdigest(),
    }  # fmt: skip
    json.dumps(identity.facts)
    digests = {
        ChatSubject(chat, **options).identity.digest
        for options in (
            {}, {"system_prompt": "a"}, {"system_prompt": "b"}, {"temperature": 1}, {"seed": 1},
            {"max_tokens": 5}, {"context": True},
        )
    }  # fmt: skip
    assert len(digests) == 7
    assert ChatSubject(chat).identity.digest == ChatSubject(chat).identity.digest


def test_each_repeated_run_asks_with_a_seed_of_its_own():
    chat = ScriptedChat(["a"] * 4)
    subject = ChatSubject(chat, seed=7, system_prompt="Be brief.", temperature=0.3, max_tokens=4)
    for run in range(3):
        subject.for_run(run).answer(cases("q"))
    assert [one.seed for one in chat.requests] == [7, 8, 9]
    assert {(one.temperature, one.max_tokens, len(one.messages)) for one in chat.requests} == {
        (0.3, 4, 2)
    }
    ChatSubject(chat, seed=None).for_run(2).answer(cases("q"))
    assert chat.requests[-1].seed is None


@pytest.mark.parametrize("options", [{"temperature": -1}, {"temperature": 3}, {"max_tokens": 0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(UsageError):
        ChatSubject(ScriptedChat([]), **options)


def test_a_system_prompt_is_read_from_a_file(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_bytes("\ufeffMów krótko.\n\n".encode())
    assert read_system_prompt(path) == "Mów krótko."
    for content, words in ((b" \n", "is blank"), (b"\xff\xfe", "is not UTF-8")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            read_system_prompt(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_system_prompt(tmp_path / "none.txt")
