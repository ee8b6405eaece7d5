"""What a case becomes when a chat model is asked."""

import re

import pytest

from closecall.chat.base import Message, ToolCall
from closecall.records import Case, Unmeasured
from closecall.subjects.conversation import messages_of


def user(text):
    return Message(role="user", content=text)


def test_the_input_is_the_users_message_and_nothing_else_is_sent():
    case = Case(id="1", input="When?", references=("on Monday",), context=("the page",))
    assert messages_of(case) == (user("When?"),)
    assert messages_of(case, "Be brief.") == (
        Message(role="system", content="Be brief."), user("When?"),
    )  # fmt: skip


def test_the_context_is_sent_on_request_only():
    case = Case(id="1", input="When?", context=("Shops open at nine.", "On Sundays at ten."))
    (asked,) = messages_of(case, context=True)
    assert asked.content == (
        "Context:\nShops open at nine.\n\nOn Sundays at ten.\n\nQuestion:\nWhen?"
    )
    assert messages_of(Case(id="1", input="When?"), context=True) == (user("When?"),)


@pytest.mark.parametrize("field", ["messages", "conversation"])
def test_a_conversation_is_sent_as_it_stands(field):
    turns = [
        {"role": "user", "content": "Is it open?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "hours", "arguments": {"day": 1}}}],
        },
        {"role": "tool", "content": "nine to five", "tool_call_id": "c"},
        {"role": "human", "content": "And on Sunday?"},
    ]
    case = Case(id="1", input="left out", metadata={field: turns})
    call = ToolCall(name="hours", arguments='{"day": 1}', id="c")
    assert messages_of(case, context=True) == (
        user("Is it open?"),
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="nine to five", call_id="c"),
        user("And on Sunday?"),
    )
    assert messages_of(case, "Be brief.")[0].role == "system"


def test_a_conversation_with_a_systems_turn_keeps_its_own():
    turns = [{"role": "developer", "content": "Own."}, {"role": "user", "content": "Q?"}]
    found = messages_of(Case(id="1", metadata={"messages": turns}), "Ours.")
    assert [one.content for one in found] == ["Own.", "Q?"]
    assert found[0].role == "system"


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ("hello", "must be a list"),
        ([{"role": "user"}], r"messages\[0\] must have a content"),
        ([{"role": "user", "content": "a"}, 7], r"messages\[1\] must be an object"),
        ([{"role": "robot", "content": "a"}], "must have a role of system, user"),
        ([{"role": "user", "content": ["a"]}], "must have a content that is a text"),
        ([{"role": "assistant", "content": "", "tool_calls": [{}]}], "must have tool_calls"),
        (
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
            "nothing is left to answer",
        ),
    ],
)
def test_what_is_no_conversation_is_not_sent(turns, words):
    found = messages_of(Case(id="1", input="Q?", metadata={"messages": turns}))
    assert isinstance(found, Unmeasured)
    assert re.search(words, found.reason)


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_without_an_input_there_is_nothing_to_ask(text):
    found = messages_of(Case(id="1", input=text, metadata={"messages": []}))
    assert "no input" in found.reason
