"""Parameters a server does not take: found by its refusal, said once, remembered."""

import pytest
from fake_chat import FakeChat, Said, error, only_default, unsupported

from closecall.chat.base import ChatRequest, Message
from closecall.chat.remote import RemoteChat
from closecall.chat.settings import chat_settings

pytestmark = pytest.mark.loopback

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}}


@pytest.fixture
def told():
    return []


@pytest.fixture
def model(time, told):
    """Return a server that refuses what is named, and its chat model."""
    started = []

    def make(refuses=None, in_flight=1):
        server = FakeChat("openai", refuses=refuses)
        server.__enter__()
        environ = server.environment() | {"AI_INFERENCE_PROVIDER": "openai"}
        chat = RemoteChat(
            chat_settings(environ=environ),
            clock=time.clock,
            in_flight=in_flight,
            on_notice=told.append,
        )
        started.append((server, chat))
        return server, chat

    yield make
    for server, chat in started:
        chat.close()
        server.__exit__()


def ask(**options):
    return ChatRequest(
        messages=(Message(role="user", content="temperature of max_tokens?"),), **options
    )


def test_a_reasoning_model_gets_its_own_parameters_from_the_second_request_on(model, told):
    refuses = {
        "max_tokens": unsupported("max_tokens", "max_completion_tokens"),
        "temperature": only_default("temperature"),
        "seed": unsupported("seed"),
    }
    server, chat = model(refuses)
    found = chat.complete([ask(max_tokens=9), ask(max_tokens=8)])
    assert [one.content for one in found] == ["fine", "fine"]
    assert server.bodies == [
        {"temperature": 0.0, "seed": 0, "max_tokens": 9},
        {"temperature": 0.0, "seed": 0, "max_completion_tokens": 9},
        {"seed": 0, "max_completion_tokens": 9},
        {"max_completion_tokens": 9},
        {"max_completion_tokens": 8},
    ]
    assert chat.adjustments == {
        "max_tokens": "max_completion_tokens", "temperature": "not sent", "seed": "not sent",
    }  # fmt: skip
    assert len(told) == 3
    assert "does not take max_tokens, so max_completion_tokens is sent instead" in told[0]
    assert "does not take temperature, so it is not sent" in told[1]


def test_a_schema_becomes_json_and_then_nothing(model, told):
    no_schema = error(
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
        "model.", param="response_format",
    )  # fmt: skip
    server, chat = model()
    server.script = lambda received: (
        no_schema
        if received.body.get("response_format", {}).get("type") == "json_schema"
        else None
    )
    chat.complete([ask(schema=SCHEMA)])
    sent = [one["response_format"] for one in server.bodies]
    assert sent[0]["json_schema"]["schema"] == SCHEMA
    assert sent[1] == {"type": "json_object"}
    assert chat.adjustments == {"response_format": "json_object"}
    server.script = lambda received: (
        error("'response_format.type' must be 'json_schema' or 'text'")
        if "response_format" in received.body
        else None
    )
    chat.complete([ask(schema=SCHEMA), ask(schema=SCHEMA)])
    assert ["response_format" in one for one in server.bodies] == [True, True, True, False, False]
    assert chat.adjustments == {"response_format": "not sent"}
    assert len(told) == 2


def test_without_a_schema_no_format_is_asked_for(model):
    server, chat = model()
    chat.complete([ask()])
    assert "response_format" not in server.bodies[0]


SPELLINGS = {
    "openai": unsupported("seed"),
    "no field": error("Unrecognized request argument supplied: seed"),
    "vllm": Said(
        400,
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra "
            "inputs are not permitted', 'input': 0}]",
            "type": "BadRequestError", "param": None, "code": 400,
        },
    ),
    "fastapi": Said(
        422,
        {
            "detail": [
                {
                    "type": "extra_forbidden", "loc": ["body", "seed"], "input": 0,
                    "msg": "Extra inputs are not permitted",
                }
            ]
        },
    ),
    "mistral": Said(
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden", "loc": ["body", "seed"], "input": 0,
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            },
            "type": "invalid_request_error",
        },
    ),
    "a bare text": Said(400, {"error": "seed is not supported"}),
    "azure": Said(400, {"error": {"code": "unknown_parameter", "message": "seed", "param": "seed"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_refusal_is_understood_in_the_words_of_many_servers(name, model):
    server, chat = model({"seed": SPELLINGS[name]})
    (reply,) = chat.complete([ask(max_tokens=9)])
    assert reply.content == "fine"
    assert chat.adjustments == {"seed": "not sent"}
    assert server.bodies[-1] == {"temperature": 0.0, "max_tokens": 9}


OTHERS = {
    "too much": error(
        "max_tokens is too large: 99. This model supports at most 16 completion tokens",
        param="max_tokens", code="invalid_value",
    ),
    "too long": error("This model's maximum context length is 9 tokens, however you requested 99"),
    "role": error("Unexpected role 'user' after role 'tool'", param="messages"),
    "tools": error("tools are not supported by this model", param="tools"),
    "quoted": error("the message 'is temperature 0 ok?' is unknown to us", param="messages"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_another_refusal_is_the_requests_own_and_changes_nothing(name, model, told):
    server, chat = model()
    server.script = lambda received: OTHERS[name]
    (failure,) = chat.complete([ask(max_tokens=99)])
    assert failure.kind == "refused"
    assert len(server.requests) == 1
    assert chat.adjustments == {}
    assert told == []


def test_a_server_that_breaks_over_a_parameter_is_not_believed(model, told):
    server, chat = model()
    broken = error("temperature is not supported", status=500, param="temperature")
    server.script = lambda received: broken if received.number == 1 else None
    assert chat.complete([ask()])[0].content == "fine"
    assert chat.adjustments == {}
    assert server.bodies[0] == server.bodies[1]


def test_a_server_that_takes_none_of_it_ends(model):
    server, chat = model()
    server.script = lambda received: unsupported(
        next((n for n in received.body if n not in {"messages", "model"}), "messages")
    )
    (failure,) = chat.complete([ask(max_tokens=9, schema=SCHEMA)])
    assert failure.kind == "refused"
    assert server.bodies[-1] == {}
    # Twice the limit of tokens, twice the format, temperature, seed, and then nothing is left.
    assert len(server.requests) == 7


def test_requests_side_by_side_learn_it_once(model, told):
    server, chat = model({"temperature": only_default("temperature")}, in_flight=4)
    found = chat.complete([ask() for _ in range(12)])
    assert [one.content for one in found] == ["fine"] * 12
    assert len(told) == 1
    assert sum("temperature" in one for one in server.bodies) <= 4
