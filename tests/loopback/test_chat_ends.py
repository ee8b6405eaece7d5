"""Ctrl-C, the switch that forbids the network, and keys: what must hold whatever a server does."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback

import pytest
from fake_chat import FakeChat, Said, error, turn
from fake_provider import KEY

from closecall.chat.base import ChatRequest, Message
from closecall.chat.registry import endpoint_chat, load_chat_model
from closecall.errors import ClosecallError, ConfigurationError

pytestmark = pytest.mark.loopback

PARTS = [KEY[at : at + 8] for at in range(len(KEY) - 7)]


@pytest.fixture
def server(monkeypatch):
    with FakeChat("openai") as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai")
        yield running


def ask(text="a question"):
    return ChatRequest(messages=(Message(role="user", content=text),))


WAITS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the test runner ignores
from closecall.chat.base import ChatRequest, Message
from closecall.chat.registry import load_chat_model
chat = load_chat_model(in_flight=int(sys.argv[1]))
try:
    chat.complete([ChatRequest(messages=(Message(role="user", content=f"{n}"),)) for n in range(9)])
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as POSIX does")
@pytest.mark.parametrize("in_flight", [1, 3])
def test_ctrl_c_ends_at_once_and_sends_nothing_more(in_flight, server):
    here, release = threading.Semaphore(0), threading.Event()

    def hold(received):
        here.release()
        release.wait(120)

    server.script = hold
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(in_flight)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    try:
        for _ in range(in_flight):
            assert here.acquire(timeout=60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        # The server still holds every reply: nobody waited for one.
        assert not release.is_set()
        assert (process.returncode, out) == (130, "interrupted\n"), err
        assert "Traceback" not in err
        assert len(server.requests) == in_flight
    finally:
        release.set()
        process.kill()
        process.wait()


def test_offline_nothing_is_sent_beyond_this_machine(server, monkeypatch):
    monkeypatch.setenv("CLOSECALL_OFFLINE", "1")
    assert load_chat_model().complete([ask()])[0].content == "fine"
    monkeypatch.setenv("BITDEER_API_KEY", KEY)
    far = load_chat_model("bitdeer:m")
    with pytest.raises(ConfigurationError, match="CLOSECALL_OFFLINE forbids it") as caught:
        far.complete([ask(), ask()])
    assert "minilm" not in str(caught.value)
    assert "ollama:MODEL" in str(caught.value)


# Keys


ECHO = (("x-echo", KEY), ("authorization", f"Bearer {KEY}"))
TROUBLES = {
    "key refused": error(f"Incorrect API key provided: {KEY}", status=401),
    "key shown in part": error(f"Incorrect API key: {KEY[:16]}***{KEY[-8:]}", status=403),
    "refused": error(f"bad request by Bearer {KEY}", headers=ECHO),
    "parameter": error(f"temperature is not supported for {KEY}", param="temperature"),
    "not found": error(f"no such model for {KEY}", status=404),
    "out of money": error(f"quota of {KEY}", status=429, code="insufficient_quota"),
    "wait an hour": error(f"{KEY} is limited", status=429, headers=(("retry-after", "3600"),)),
    "moved": Said(307, None, (("location", f"https://elsewhere.example/?key={KEY}"),)),
    "no JSON": Said(raw=f"<html>{KEY}</html>".encode()),
    "model named so": Said(body={"choices": [turn(KEY, KEY)], "model": KEY}),
    "in a call": Said(
        body={"choices": [turn(None, tool_calls=[{"function": {"name": KEY, "arguments": KEY}}])]}
    ),
    "error as success": Said(body={"error": {"message": KEY}}),
    "filtered": Said(400, {"error": {"message": KEY, "code": "content_filter"}}),
}


def clean(text, where):
    for part in PARTS:
        assert part not in text, f"part of the key in {where}"


def reachable(error):
    """Everything an error report may show: messages, what hangs on it, and all locals."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error), repr(vars(error))]
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if f"closecall{os.sep}" in frame.f_code.co_filename:
                seen += [repr(value) for value in frame.f_locals.values()]
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


@pytest.mark.parametrize("name", TROUBLES)
def test_no_key_is_in_a_reply_a_failure_an_error_a_notice_or_a_log(name, server, caplog):
    caplog.set_level(logging.DEBUG)
    server.script = lambda received: TROUBLES[name]
    told = []
    chat = load_chat_model(on_notice=told.append)
    try:
        found = chat.complete([ask()])
    except ClosecallError as problem:
        clean(reachable(problem), "an error")
    else:
        clean(repr(found), "what came back")
    clean(json.dumps(told), "a notice")
    clean(repr(chat) + repr(vars(chat)) + repr(chat.identity), "the model")
    ours = [
        one.getMessage() for one in caplog.records if "receive_response" not in one.getMessage()
    ]
    clean("\n".join(ours), "a log")
    chat.close()


@pytest.mark.parametrize(
    ("variables", "key"),
    [
        ({}, "no-key-needed"),
        ({"CLOSECALL_SUBJECT_API_KEY": KEY}, KEY),
        ({"OPENAI_COMPATIBLE_API_KEY": KEY}, KEY),
        ({"OPENAI_COMPATIBLE_API_KEY": KEY, "CLOSECALL_SUBJECT_API_KEY": "own-key"}, "own-key"),
        (
            {
                "OPENAI_COMPATIBLE_API_KEY": KEY,
                "OPENAI_COMPATIBLE_ENDPOINT": "https://elsewhere.example/v1",
            },
            "no-key-needed",
        ),
        ({"OPENAI_API_KEY": KEY}, "no-key-needed"),
    ],
)
def test_an_endpoint_that_was_typed_gets_the_key_that_is_its_own(variables, key, monkeypatch):
    with FakeChat("openai-compatible") as running:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        chat = endpoint_chat(running.url, "asked-model")
        assert chat.complete([ask()])[0].content == "fine"
        assert running.requests[0].headers["authorization"] == f"Bearer {key}"
        chat.close()
