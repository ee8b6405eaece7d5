"""The fake for tests keeps the contract of a chat model."""

import pytest

from closecall.chat.base import (
    ChatFailure,
    ChatIdentity,
    ChatModel,
    ChatReply,
    ChatRequest,
    ChatUsage,
    Message,
)
from closecall.errors import UsageError
from closecall.testing import ScriptedChat


def ask(text):
    return ChatRequest(messages=(Message(role="user", content=text),))


def test_a_function_replies_to_each_request_and_requests_are_kept():
    chat = ScriptedChat(lambda request: request.messages[-1].content.upper())
    assert isinstance(chat, ChatModel)
    assert [one.content for one in chat.complete([ask("a"), ask("b")])] == ["A", "B"]
    assert [one.messages[0].content for one in chat.requests] == ["a", "b"]
    assert chat.complete([]) == []


def test_a_list_is_said_in_order_and_ends():
    cut = ChatReply(content="c", finish="length")
    failure = ChatFailure(reason="busy", kind="rate_limited", status=429)
    chat = ScriptedChat(["a", cut, failure])
    assert chat.complete([ask("1")])[0].content == "a"
    assert chat.complete([ask("2"), ask("3")]) == [cut, failure]
    with pytest.raises(UsageError, match="the script has 3 replies, and request 4 came"):
        chat.complete([ask("4")])
    with pytest.raises(UsageError, match="put it in a list"):
        ScriptedChat("a")


def test_it_plays_the_model_it_is_told():
    identity = ChatIdentity(provider="openai", host="api.example", model="m")
    assert ScriptedChat([], identity=identity).identity is identity
    assert ScriptedChat([]).identity.name == "scripted@test"


@pytest.mark.parametrize(
    "count", [-5, 1 << 60, pytest.param(1 << 20_000, id="huge"), True, 7.5, "7"]
)
def test_a_reply_with_a_count_that_is_none_cannot_be_made(count):
    for usage, name in (((count, 1), "prompt_tokens"), ((1, count), "completion_tokens")):
        with pytest.raises(UsageError, match=f"ChatReply.usage: {name} must be None or a whole"):
            ChatReply(content="a", usage=ChatUsage(*usage))
    assert ChatReply(content="a", usage=ChatUsage(0, None)).usage == (0, None)
