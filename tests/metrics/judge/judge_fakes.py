"""A chat model that says what it is told to say, and remembers what it was asked."""

import json

from closecall.chat.base import ChatFailure, ChatIdentity, ChatReply, ChatUsage
from closecall.records import Case

TALK = [
    {"role": "system", "content": "You book tables."},
    {"role": "user", "content": "A table for two at seven, please."},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "book", "arguments": '{"people": 2, "hour": 19}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "booked, number 8"},
    {"role": "assistant", "content": "Your table for two is booked for seven."},
]  # fmt: skip
TOOLS = [{"name": "book", "parameters": {"people": "integer", "hour": "integer"}}]


def verdict(score=4, reason="It answers the question.", thoughts="Step by step.", **more):
    return json.dumps({"thoughts": thoughts, "reason": reason, "score": score, **more})


def reply(content, **facts):
    facts.setdefault("usage", ChatUsage(100, 20))
    return ChatReply(content=content, **facts)


def failure(kind="rate_limited", reason="HTTP 429: too many requests", status=429):
    return ChatFailure(reason=reason, kind=kind, status=status)


class FakeChat:
    """``says`` is a reply (a text or a record), a list of them in turn, or a function."""

    def __init__(self, says, name="stub-1"):
        self.identity = ChatIdentity(provider="test", host="nowhere", model=name)
        self.says = says
        self.calls = []

    def complete(self, requests):
        self.calls.append(list(requests))
        return [self._one(request) for request in requests]

    def _one(self, request):
        said = self.says
        if callable(said):
            said = said(request)
        elif isinstance(said, list):
            said = said.pop(0)
        if isinstance(said, Exception):
            raise said
        return reply(said) if isinstance(said, str) else said

    @property
    def requests(self):
        return [request for call in self.calls for request in call]


def user_text(request):
    return next(m.content for m in request.messages if m.role == "user")


def case(name="1", **fields):
    whole = {
        "input": "When does the library close?",
        "response": "It closes at eight.",
        "references": ("At eight in the evening.",),
        "context": ("The library is open from nine to eight.",),
    }
    return Case(id=name, **{**whole, **fields})
