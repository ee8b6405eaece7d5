"""The official client, in a process of its own, gets what our chat model gets from the server."""

import pytest
from fake_chat import FakeChat, error, turn
from fake_provider import STYLES
from official_client import official_client

from closecall.chat.base import ChatRequest, Message, ToolCall
from closecall.chat.remote import RemoteChat
from closecall.chat.settings import chat_settings
from closecall.embedders.remote.retry import Patience
from closecall.errors import ConfigurationError

pytestmark = pytest.mark.loopback

MESSAGES = [
    {"role": "system", "content": "Bądź zwięzły.\n"},
    {"role": "user", "content": "四?"},
]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

official = official_client("""
def answer(client, given):
    got = client.chat.completions.create(
        model=given["model"], messages=given["messages"], temperature=0.0, seed=0, max_tokens=40,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": given["schema"], "strict": True},
        },
    )
    message = got.choices[0].message
    return {
        "content": message.content,
        "calls": [
            [call.id, call.function.name, call.function.arguments]
            for call in message.tool_calls or []
        ],
        "finish": got.choices[0].finish_reason,
        "model": got.model,
        "tokens": [got.usage.prompt_tokens, got.usage.completion_tokens],
    }
""")


@pytest.fixture
def theirs(official):
    """Ask a server with ``MESSAGES``."""

    def ask(server):
        azure = server.style in {"azure", "foundry"}
        model = "our-deployment" if azure else "asked-model"
        return official(server, model=model, messages=MESSAGES, schema=SCHEMA)

    return ask


def ours(server):
    environ = server.environment() | {"AI_INFERENCE_PROVIDER": server.style}
    chat = RemoteChat(chat_settings(environ=environ), patience=Patience(attempts=1))
    request = ChatRequest(
        messages=tuple(Message(**one) for one in MESSAGES), max_tokens=40, schema=SCHEMA
    )
    try:
        return chat.complete([request])[0]
    finally:
        chat.close()


@pytest.mark.parametrize("style", STYLES)
def test_both_send_the_same_and_get_the_same(style, theirs):
    function = {"name": "look_up", "arguments": '{"n": 4}'}
    call = {"id": "c1", "type": "function", "function": function}
    with FakeChat(style) as server:
        server.script = lambda received: server.reply(
            received, turn("四, naturalnie", "tool_calls", tool_calls=[call])
        )
        said, reply = theirs(server), ours(server)
        first, last = server.requests
    assert (first.path, first.query, first.body) == (last.path, last.query, last.body)
    assert reply.tool_calls == (ToolCall(name="look_up", arguments='{"n": 4}', id="c1"),)
    assert said == {
        "content": reply.content,
        "calls": [["c1", "look_up", '{"n": 4}']],
        "finish": reply.finish,
        "model": reply.model,
        "tokens": list(reply.usage),
    }


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 503])
def test_where_the_official_client_has_an_error_ours_has_one(status, theirs):
    with FakeChat() as server:
        server.script = lambda received: error("no", status=status)
        assert theirs(server) == {"status": status}
        if status in {401, 403, 404}:
            with pytest.raises(ConfigurationError, match=f"HTTP {status}"):
                ours(server)
        else:
            failure = ours(server)
            assert failure.status == status
            assert f"HTTP {status}: no" in failure.reason
