"""A chat model that says what a test has written for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from closecall.chat.base import ChatFailure, ChatIdentity, ChatReply, ChatRequest
from closecall.errors import UsageError

Said: TypeAlias = str | ChatReply | ChatFailure
"""What may be scripted: a str stands for a reply with that text."""


class ScriptedChat:
    """Stands in for a chat model in tests: replies from a list or a function, no network.

    ``requests`` holds every request that came, in order.

    Parameters
    ----------
    script
        A function that is given a request and returns what is said to it, or a list of what is
        said, one a request. Errors the function raises are passed on, to play a model that cannot
        be used.
    identity
        Which model it plays; None: ``scripted`` of the provider ``test``.
    """

    def __init__(
        self,
        script: Callable[[ChatRequest], Said] | Sequence[Said],
        *,
        identity: ChatIdentity | None = None,
    ) -> None:
        if isinstance(script, str):
            raise UsageError("the script is a single text; put it in a list, or give a function")
        self._script = script
        self._identity = identity or ChatIdentity(provider="test", host="local", model="scripted")
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []

    @property
    def identity(self) -> ChatIdentity:
        """Which model it plays."""
        return self._identity

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply | ChatFailure]:
        """Return what the script says to each request, in order.

        Raises
        ------
        UsageError
            The list has nothing left.
        """
        return [self._reply(request) for request in requests]

    def _reply(self, request: ChatRequest) -> ChatReply | ChatFailure:
        with self._lock:
            at = len(self.requests)
            self.requests.append(request)
        if callable(self._script):
            said = self._script(request)
        elif at < len(self._script):
            said = self._script[at]
        else:
            raise UsageError(
                f"the script has {len(self._script)} replies, and request {at + 1} came"
            )
        return ChatReply(content=said, model="scripted") if isinstance(said, str) else said
