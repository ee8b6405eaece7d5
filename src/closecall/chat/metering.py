"""Chat models whose requests are counted, and not sent once a budget is spent."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from closecall.chat.base import ChatFailure, ChatIdentity, ChatModel, ChatReply, ChatRequest
from closecall.embedders.metering import (
    BUDGET_REACHED,
    CHARS_A_TOKEN,
    UNKNOWN_REPLY,
    Gate,
    Size,
    Used,
)

OVER_BUDGET = ChatFailure(reason=BUDGET_REACHED, kind="budget")
"""What becomes of a request that a budget keeps from being sent."""

_NEVER_SENT = frozenset({"budget", "missing", "refused", "rate_limited"})
"""Kinds of failures that no provider charges for."""


@runtime_checkable
class GatedChat(Protocol):
    """A chat model that passes each of its requests through a gate by itself.

    What stands in front of another, as a cassette does, hands the gate on to it, and tells the
    gate of what it did not have to ask for.
    """

    def complete_gated(
        self, requests: Sequence[ChatRequest], gate: Gate
    ) -> Sequence[ChatReply | ChatFailure]:
        """As ``complete``; each request enters the gate before it is sent."""
        ...


def size_of(request: ChatRequest) -> Size:
    """Return about how many tokens a request takes at most."""
    texts = [one.content for one in request.messages]
    texts += [call.arguments for one in request.messages for call in one.tool_calls]
    bound = UNKNOWN_REPLY if request.max_tokens is None else request.max_tokens
    return Size(sum(map(len, texts)) // CHARS_A_TOKEN + 1, bound)


def is_replayed(reply: ChatReply | ChatFailure) -> bool:
    """Return whether a reply came from a recording: its latency is then exactly 0."""
    return isinstance(reply, ChatReply) and reply.latency_ms == 0.0


class MeteredChat:
    """A chat model whose requests are counted by a gate; its identity is that of the model.

    A model that knows gates (``GatedChat``) asks at the gate request by request. Of any other,
    what came back is counted; where the gate may close it is given one request at a time.

    Parameters
    ----------
    model
        What is asked.
    gate
        What counts.
    """

    def __init__(self, model: ChatModel, gate: Gate) -> None:
        self._model = model
        self._gate = gate

    def __repr__(self) -> str:
        return f"MeteredChat({self._model!r})"

    @property
    def identity(self) -> ChatIdentity:
        """The model's own."""
        return self._model.identity

    @property
    def adjustments(self) -> dict[str, str]:
        """How the model sends parameters otherwise than asked, where it says so."""
        found: dict[str, str] = getattr(self._model, "adjustments", {})
        return found

    def complete(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply | ChatFailure]:
        """Return one reply or failure a request; ``budget`` where the gate was closed.

        Raises
        ------
        ConfigurationError
            As the model.
        """
        if isinstance(self._model, GatedChat):
            return self._model.complete_gated(requests, self._gate)
        if not self._gate.limited:
            replies = self._model.complete(requests)
            for request, reply in zip(requests, replies, strict=False):
                self._count(request, reply)
            return replies
        stopped = threading.Event()
        return [self._one(request, stopped) for request in requests]

    def _one(self, request: ChatRequest, stopped: threading.Event) -> ChatReply | ChatFailure:
        size = size_of(request)
        if not self._gate.enter(size, stopped):
            return OVER_BUDGET
        try:
            replies = self._model.complete([request])
            if len(replies) != 1:
                return ChatFailure(reason=f"{len(replies)} replies came for one", kind="broken")
            self._count(request, replies[0])
            return replies[0]
        finally:
            self._gate.leave(size)

    def _count(self, request: ChatRequest, reply: ChatReply | ChatFailure) -> None:
        if is_replayed(reply):
            self._gate.replayed(used_of(reply))
        elif isinstance(reply, ChatReply):
            self._gate.spend(used_of(reply), size_of(request))
        elif isinstance(reply, ChatFailure) and reply.kind not in _NEVER_SENT:
            self._gate.spend(Used(), size_of(request))


def used_of(reply: ChatReply | ChatFailure) -> Used:
    """Return the tokens a reply reports."""
    return Used(*reply.usage) if isinstance(reply, ChatReply) else Used()
