"""An embedder, a chat model and a subject that count what reaches them."""

import datetime as dt
import itertools
from typing import NamedTuple

import msgspec

from closecall.cassettes import open_cassette
from closecall.chat.base import (
    ChatFailure,
    ChatIdentity,
    ChatReply,
    ChatRequest,
    ChatUsage,
    Message,
    ToolCall,
)
from closecall.subjects.base import Answer, SubjectIdentity
from closecall.testing import HashEmbedder

SPEC = "openai:text-embedding-3-small"
CHAT = "openai:gpt-x"
CALLS = itertools.count()
MORNING = dt.datetime(2031, 1, 31, 9, tzinfo=dt.UTC)


class Remote(HashEmbedder):
    """Calls itself a provider's; ``texts`` holds what was asked."""

    def __init__(self, dims=16, **identity):
        super().__init__(dims)
        self._instrument = msgspec.structs.replace(
            self._instrument,
            **{
                "kind": "openai",
                "provider": "api.openai.com",
                "model": "text-embedding-3-small",
                **identity,
            },
        )


class Chat:
    """Replies with what was said last; ``asked`` holds the requests that reached it."""

    def __init__(self, model="gpt-x", reply=None, **options):
        self.identity = ChatIdentity(
            provider="openai", host="api.openai.com", model=model, options=options
        )
        self.asked = []
        self._reply = reply or (lambda request: f"You said: {request.messages[-1].content}")

    def complete(self, requests):
        self.asked.extend(requests)
        return [self._one(request) for request in requests]

    def _one(self, request):
        said = self._reply(request)
        if isinstance(said, ChatFailure | ChatReply):
            return said
        return ChatReply(
            content=said,
            model="gpt-x-2031-01-01",
            usage=ChatUsage(7, 3),
            latency_ms=41.5,
            tool_calls=(ToolCall(name="look", arguments='{"at": 1}', id=f"call-{next(CALLS)}"),),
        )


class Assistant:
    """Answers a case by its input; ``asked`` holds the cases that reached it."""

    def __init__(self, name="assistant", answer=None):
        self.identity = SubjectIdentity(kind="command", name=name, facts={"command": name})
        self.asked = []
        self._answer = answer or (lambda case: Answer(text=f"To {case.input}", latency_ms=12.0))

    def answer(self, cases):
        self.asked.extend(cases)
        return [self._answer(case) for case in cases]


def request(text, system="You are brief.", **settings):
    turns = (Message(role="system", content=system), Message(role="user", content=text))
    return ChatRequest(messages=turns, **settings)


def never():
    raise AssertionError("a replay made what it replays")


class Recorded(NamedTuple):
    embedder: Remote
    chat: Chat


def record(folder, texts=(), requests=(), *, mode="record", now=MORNING, reply=None, **options):
    """Record vectors of texts and replies to requests; return what was asked."""
    made = Recorded(Remote(), Chat(reply=reply))
    with open_cassette(folder, mode, now=lambda: now, **options) as cassette:
        if texts:
            cassette.embedder(lambda: made.embedder, SPEC).embed(list(texts))
        if requests:
            cassette.chat(lambda: made.chat, CHAT).complete(list(requests))
    return made


def lines(folder, name="default.jsonl"):
    return (folder / name).read_bytes().split(b"\n")[:-1]
