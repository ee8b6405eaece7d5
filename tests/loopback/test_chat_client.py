"""A chat model over HTTP: what is sent, what comes back, and what goes wrong."""

import json
import threading

import pytest
from fake_chat import FakeChat, Said, error, turn
from fake_provider import KEY, STYLES

from closecall.chat.base import ChatFailure, ChatModel, ChatRequest, Message, ToolCall
from closecall.chat.remote import RemoteChat
from closecall.chat.settings import chat_settings
from closecall.embedders.remote.retry import Patience
from closecall.errors import ConfigurationError

pytestmark = pytest.mark.loopback


@pytest.fixture
def serve_chat():
    running = []

    def start(style="openai", **options):
        server = FakeChat(style, **options)
        server.__enter__()
        running.append(server)
        return server

    yield start
    for server in running:
        server.__exit__()


@pytest.fixture
def chat(time):
    """Make a chat model of a running server; its connections end with the test."""
    made = []

    def make(server, *, spec=None, patience=None, in_flight=1, more=None, on_notice=None):
        environ = server.environment() | {"AI_INFERENCE_PROVIDER": server.style} | (more or {})
        found = RemoteChat(
            chat_settings(spec, environ=environ),
            patience=patience or Patience(),
            clock=time.clock,
            in_flight=in_flight,
            on_notice=on_notice,
        )
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


def ask(text="How are you?", **options):
    return ChatRequest(messages=(Message(role="user", content=text),), **options)


def only(found):
    (one,) = found
    return one


# What is sent and what is read


@pytest.mark.parametrize("style", STYLES)
def test_every_provider_is_asked_in_its_way_and_answers(style, serve_chat, chat):
    server = serve_chat(style)
    model = chat(server)
    assert isinstance(model, ChatModel)
    assert server.requests == []
    reply = only(model.complete([ask(max_tokens=50)]))
    assert (reply.content, reply.finish, reply.model) == ("fine", "stop", "served-model")
    assert reply.usage == (3, 2)
    assert reply.latency_ms is not None
    (sent,) = server.requests
    azure = style in {"azure", "foundry"}
    assert sent.path == (
        "/openai/deployments/our-deployment/chat/completions" if azure else "/v1/chat/completions"
    )
    assert ("api-version" in sent.query) is azure
    assert sent.body == {
        "model": "our-deployment" if azure else "asked-model",
        "messages": [{"role": "user", "content": "How are you?"}],
        "temperature": 0.0,
        "seed": 0,
        "max_tokens": 50,
    }
    assert set(sent.headers) <= {
        "host", "accept", "accept-encoding", "connection", "content-type", "content-length",
        "user-agent", "authorization", "api-key", "x-stainless-raw-response",
    }  # fmt: skip
    assert model.identity.provider == style
    assert model.identity.host == server.host
    assert model.adjustments == {}


def test_what_is_none_is_not_sent_and_other_values_are(serve_chat, chat):
    server = serve_chat()
    model = chat(server)
    model.complete([ask(temperature=None, seed=None), ask(temperature=0.7, seed=41)])
    assert server.bodies == [{}, {"temperature": 0.7, "seed": 41}]


def test_a_whole_conversation_with_tools_arrives_as_it_is(serve_chat, chat):
    server = serve_chat()
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    call = ToolCall(name="look_up", arguments='{"what": "żółw"}', id="call-1")
    request = ChatRequest(
        messages=(
            Message(role="system", content="Be brief."),
            Message(role="user", content="What is a żółw?"),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content="a tortoise", call_id="call-1"),
        ),
        tools=(tool,),
    )
    only(chat(server).complete([request]))
    body = server.requests[0].body
    assert body["tools"] == [tool]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is a żółw?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call-1",
                    "type": "function",
                    "function": {"name": "look_up", "arguments": '{"what": "żółw"}'},
                }
            ],
        },
        {"role": "tool", "content": "a tortoise", "tool_call_id": "call-1"},
    ]


def test_calls_of_tools_are_read(serve_chat, chat):
    server = serve_chat()
    function = {"name": "look_up", "arguments": '{"a": 1}'}
    calls = [
        {"id": "c1", "type": "function", "function": function},
        {"id": "c2", "type": "function", "function": {"name": "other", "arguments": {"b": 2}}},
    ]
    server.script = lambda received: server.reply(
        received, turn(None, "tool_calls", tool_calls=calls)
    )
    reply = only(chat(server).complete([ask()]))
    assert (reply.content, reply.finish) == ("", "tool_calls")
    assert reply.tool_calls == (
        ToolCall(name="look_up", arguments='{"a": 1}', id="c1"),
        ToolCall(name="other", arguments='{"b": 2}', id="c2"),
    )


def test_tokens_nobody_reports_are_not_zero(serve_chat, chat):
    server = serve_chat()
    server.usage = False
    assert only(chat(server).complete([ask()])).usage == (None, None)


@pytest.mark.parametrize(
    ("choice", "content", "finish"),
    [
        (turn("cut o", "length"), "cut o", "length"),
        (turn("", "length"), "", "length"),
        (turn(None, "length"), "", "length"),
        (turn(""), "", "stop"),
        (turn("yes", None), "yes", "stop"),
        (turn(None, refusal="I will not."), "I will not.", "refusal"),
        (
            turn([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]),
            "yes",
            "stop",
        ),
    ],
)
def test_replies_of_every_kind_are_read(choice, content, finish, serve_chat, chat):
    server = serve_chat()
    server.script = lambda received: server.reply(received, choice)
    reply = only(chat(server).complete([ask()]))
    assert (reply.content, reply.finish) == (content, finish)


def test_order_is_kept_whatever_comes_first_and_no_more_go_out_than_allowed(serve_chat, chat):
    server = serve_chat()
    busy, most, lock = [0], [0], threading.Lock()
    all_here = threading.Barrier(3)

    def reply(received):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        if received.number <= 3:
            all_here.wait(20)
        with lock:
            busy[0] -= 1
        return server.reply(received, turn(received.body["messages"][0]["content"].upper()))

    server.script = reply
    found = chat(server, in_flight=3).complete([ask(f"text {n}") for n in range(20)])
    assert [one.content for one in found] == [f"TEXT {n}" for n in range(20)]
    assert most[0] == 3


# What goes wrong with one request costs no other its reply


BROKEN = {
    "nothing": Said(raw=b""),
    "cut off JSON": Said(raw=b'{"choices": [{"mess'),
    "a page": Said(raw=b"<html>hello</html>"),
    "no choices": Said(body={"choices": []}),
    "choices missing": Said(body={"id": "1"}),
    "null": Said(body={"choices": [turn(None)]}),
    "no message": Said(body={"choices": [{"index": 0}]}),
    "a number": Said(body=17),
    "an error as success": Said(body={"error": {"message": "no"}}),
    "a call without a name": Said(body={"choices": [turn(None, tool_calls=[{"function": {}}])]}),
    "half a character": Said(body={"choices": [turn("\ud83d")]}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_then_broken(
    name, serve_chat, chat
):
    server = serve_chat()
    model = chat(server)
    server.script = lambda received: BROKEN[name] if received.number == 1 else None
    assert only(model.complete([ask()])).content == "fine"
    server.script = lambda received: BROKEN[name]
    failure = only(model.complete([ask()]))
    assert isinstance(failure, ChatFailure)
    assert failure.kind == "broken"
    assert len(server.requests) == 4


def test_a_line_that_is_cut_is_tried_again(serve_chat, chat):
    server = serve_chat()
    server.script = lambda received: (
        server.reply(received)._replace(cut=30) if received.number == 1 else None
    )
    assert only(chat(server).complete([ask()])).content == "fine"
    model = chat(server, patience=Patience(attempts=2))
    model.complete([ask()])
    server.script = lambda received: server.reply(received)._replace(cut=30)
    failure = only(model.complete([ask()]))
    assert failure.kind == "unreachable"
    assert "no whole reply" in failure.reason


def test_a_slow_server_is_given_up_on_after_its_time(serve_chat, chat):
    server = serve_chat()
    release = threading.Event()
    server.script = lambda received: release.wait(20) and None
    failure = only(chat(server, patience=Patience(attempts=2, timeout_s=0.3)).complete([ask()]))
    release.set()
    assert failure == ChatFailure(
        reason=f"{server.host} did not answer in time", kind="timeout", status=None
    )
    server.came(2)
    assert len(server.requests) == 2


def test_a_server_that_sends_drop_by_drop_is_cut_off(serve_chat, chat):
    server = serve_chat()
    server.script = lambda received: server.reply(received)._replace(drip=0.2, step=10)
    failure = only(chat(server, patience=Patience(deadline_s=1.0)).complete([ask()]))
    assert failure.kind == "timeout"


def test_a_rate_limit_is_waited_for_as_asked(serve_chat, chat, time):
    server = serve_chat()
    slow = error("slow down", status=429, headers=(("retry-after", "7"),))
    server.script = lambda received: slow if received.number == 1 else None
    assert only(chat(server).complete([ask()])).content == "fine"
    assert 7 <= sum(time.waits) <= 8.001


def test_a_rate_limit_past_the_deadline_is_a_failure_of_its_kind(serve_chat, chat, time):
    server = serve_chat()
    server.script = lambda received: error(
        "slow down", status=429, headers=(("retry-after", "3600"),)
    )
    failure = only(chat(server).complete([ask()]))
    assert (failure.kind, failure.status) == ("rate_limited", 429)
    assert failure.reason == (
        "HTTP 429: slow down (it asks to wait longer than the 180 s of a request)"
    )
    assert time.waits == []


def test_being_told_to_wait_is_no_failure_and_ends_at_the_deadline(serve_chat, chat, time):
    server = serve_chat()
    server.script = lambda received: error("slow", status=429, headers=(("retry-after", "9"),))
    failure = only(chat(server, patience=Patience(attempts=3, deadline_s=100)).complete([ask()]))
    assert failure.kind == "rate_limited"
    assert 80 < sum(time.waits) < 100
    assert len(server.requests) > 3


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_what_may_pass_is_tried_again_and_not_for_ever(status, serve_chat, chat, time):
    server = serve_chat()
    server.script = lambda received: error("busy", status=status)
    failure = only(chat(server, patience=Patience(attempts=4)).complete([ask()]))
    assert failure.status == status
    assert failure.kind == ("rate_limited" if status in {503, 529} else "unreachable")
    assert len(server.requests) == 4
    assert time.waits == [0.5, 1.0, 2.0]


def test_a_refused_request_costs_no_other_its_reply_and_equal_failures_read_alike(
    serve_chat, chat
):
    # dotnet/extensions#7580
    server = serve_chat()
    server.script = lambda received: (
        error("This model's maximum context length is 100 tokens.", code="context_length_exceeded")
        if "long" in received.body["messages"][0]["content"]
        else None
    )
    found = chat(server, in_flight=2).complete([ask("short"), ask("long"), ask("a"), ask("long")])
    assert [getattr(one, "kind", "") for one in found] == ["", "refused", "", "refused"]
    assert found[1] == found[3]
    assert "maximum context length" in found[1].reason
    assert len(server.requests) == 4


@pytest.mark.parametrize("when", ["the request", "the reply"])
def test_a_content_filter_is_named_and_not_asked_again(when, serve_chat, chat):
    server = serve_chat("azure")
    body = {"error": {"message": "It was filtered.", "param": "prompt", "code": "content_filter"}}
    server.script = lambda received: (
        Said(400, body)
        if when == "the request"
        else server.reply(received, turn("so", "content_filter"))
    )
    failure = only(chat(server).complete([ask()]))
    assert failure.kind == "refused"
    assert "content filter" in failure.reason
    assert len(server.requests) == 1


def test_a_message_that_cannot_be_written_is_not_sent(serve_chat, chat):
    server = serve_chat()
    found = chat(server).complete([ask("half \ud83d"), ChatRequest(messages=())])
    assert [one.kind for one in found] == ["refused", "refused"]
    assert server.requests == []


# What no request can pass is a matter of settings


SETTINGS = {
    "wrong key": ("openai", error("no", status=401), "check OPENAI_API_KEY"),
    "not allowed": ("openai", error("no", status=403), "check OPENAI_API_KEY"),
    "no money": ("openai", error("Quota", status=429, code="insufficient_quota"), "used up"),
    "no such model": ("openai", error("none", status=404), "no chat model asked-model"),
    "model not here": ("ollama", error("none", status=404), "ollama pull asked-model"),
    "for embeddings": ("openai", error("no chat", param="model"), "must be a chat model"),
    "azure": (
        "azure",
        Said(404, {"error": {"code": "DeploymentNotFound", "message": "none"}}),
        "AZURE_OPENAI_DEPLOYMENT is the name you gave the deployment",
    ),
    "azure operation": (
        "azure",
        Said(400, {"error": {"code": "OperationNotSupported", "message": "embeddings"}}),
        "Check AZURE_OPENAI_DEPLOYMENT",
    ),
    "moved": ("openai", Said(307, None, (("location", "https://x.example"),)), "OPENAI_BASE_URL"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_matter_of_settings_ends_it_with_what_to_check(name, serve_chat, chat):
    style, said, words = SETTINGS[name]
    server = serve_chat(style)
    server.script = lambda received: said
    with pytest.raises(ConfigurationError) as caught:
        chat(server).complete([ask(), ask()])
    assert words in str(caught.value)
    assert "embedd" not in str(caught.value).replace("embeddings", "")
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_wrong_model_and_a_wrong_key_are_found_by_asking(serve_chat, chat):
    server = serve_chat()
    with pytest.raises(ConfigurationError, match="no chat model another"):
        chat(server, spec="openai:another").complete([ask()])
    with pytest.raises(ConfigurationError, match="HTTP 401"):
        chat(server, more={"OPENAI_API_KEY": "another-key"}).complete([ask()])


def test_where_nothing_listens_the_settings_are_at_fault_and_no_case_waits_for_it(
    serve_chat, chat, time
):
    server = serve_chat("ollama")
    server._server.server_close()
    with pytest.raises(ConfigurationError, match="is Ollama running"):
        chat(server, patience=Patience(attempts=3)).complete([ask()] * 50)
    assert time.waits == [0.5, 1.0]


def test_a_server_that_goes_away_fails_the_requests_it_does_not_answer(serve_chat, chat):
    server = serve_chat()
    model = chat(server, patience=Patience(attempts=2))
    server.script = lambda received: (
        None if received.number == 1 else server.reply(received)._replace(cut=0)
    )
    found = model.complete([ask(), ask()])
    assert [getattr(one, "kind", "") for one in found] == ["", "unreachable"]


def test_one_error_of_settings_lets_go_of_requests_under_way(serve_chat, chat):
    server = serve_chat()
    release, slow_came = threading.Event(), threading.Event()

    def reply(received):
        if "slow" in received.body["messages"][0]["content"]:
            slow_came.set()
            release.wait(60)
            return None
        slow_came.wait(20)
        return error("no", status=401)

    server.script = reply
    with pytest.raises(ConfigurationError, match="HTTP 401"):
        chat(server, in_flight=2).complete([ask("slow"), ask("a"), ask("b"), ask("c")])
    # The slow one is still held by the server.
    assert not release.is_set()
    assert len(server.requests) == 2
    release.set()


def test_a_key_in_a_reply_is_masked_and_the_rest_is_left(serve_chat, chat):
    server = serve_chat(model=KEY)
    server.said = f"your key is {KEY}, and sk-ABCDEFGH is a pattern"
    reply = only(chat(server).complete([ask()]))
    assert reply.content == "your key is [key], and sk-ABCDEFGH is a pattern"
    assert KEY not in json.dumps([reply.model, reply.content])
