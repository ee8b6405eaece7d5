"""The chat model of a provider, through the official client. Making one sends nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from closecall.chat.base import ChatFailure, ChatIdentity, ChatReply, ChatRequest
from closecall.chat.body import Adjustments, body_of, unfit
from closecall.chat.metering import OVER_BUDGET, size_of
from closecall.chat.replies import BadReply, read_reply
from closecall.chat.side_by_side import side_by_side
from closecall.embedders.metering import OPEN, Gate, Size, Used
from closecall.embedders.remote.connection import Connection
from closecall.embedders.remote.problems import Kind, Problem, cleaned
from closecall.embedders.remote.providers import NO_KEY
from closecall.embedders.remote.redaction import MASK
from closecall.embedders.remote.retry import Clock, Patience, Waiting
from closecall.embedders.remote.settings import Settings
from closecall.errors import ConfigurationError, UsageError

WAIT = Patience(attempts=5, timeout_s=180.0, deadline_s=600.0)
"""A reasoning model may take minutes for one reply."""

_REPLY_BYTES = 16 * 1024 * 1024
_OVERLOADED = 529
_RATE_LIMITED = {429, 503, _OVERLOADED}
_REFUSED_FROM, _REFUSED_TO = 400, 499


class RemoteChat:
    """Replies to conversations by asking a provider; safe to use from several threads.

    A parameter that the model's server refuses by name (``max_tokens``, ``temperature``, ``seed``,
    ``response_format``) is sent in another form or left out from then on: ``adjustments`` says
    which, and ``on_notice`` is told once.

    Parameters
    ----------
    settings
        Which provider and model; see ``chat_settings``.
    in_flight
        Most requests at a time; None: what suits the provider.
    patience, clock
        How long to go on after failures; time and chance, for tests.
    on_notice
        Called with each thing worth telling a person that is not an error, from any thread.

    Raises
    ------
    MissingExtraError
        The client is not installed.
    UsageError
        An argument is wrong.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        in_flight: int | None = None,
        patience: Patience = WAIT,
        clock: Clock | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        if in_flight is not None and in_flight < 1:
            raise UsageError(f"in_flight must be at least 1, got {in_flight}")
        clock = clock or Clock()
        self._settings = settings
        self._in_flight = in_flight or settings.provider.in_flight
        self._connection = Connection(settings, patience, clock.wall)
        self._waiting = Waiting(patience, clock)
        options = {"path": settings.path}
        if settings.provider.azure:
            options["api_version"] = settings.api_version
        self._identity = ChatIdentity(
            provider=settings.provider.tag,
            host=settings.host,
            model=settings.model,
            options=options,
        )
        self._adjustments = Adjustments(self._identity.name, on_notice)
        self._reached = False

    def __repr__(self) -> str:
        return f"RemoteChat({self._settings.model!r}@{self._settings.provider.tag})"

    @property
    def identity(self) -> ChatIdentity:
        """Which model this is, as far as can be said without asking."""
        return self._identity

    @property
    def adjustments(self) -> dict[str, str]:
        """How parameters are sent otherwise than asked, by name; empty: all as asked.

        For example ``{"max_tokens": "max_completion_tokens", "temperature": "not sent"}``; of
        ``response_format``, ``json_object`` or ``not sent`` instead of the schema.
        """
        return self._adjustments.found()

    def close(self) -> None:
        """Close the connections there are."""
        self._connection.close()

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply | ChatFailure]:
        """Return one reply or failure a request, in the order asked.

        Requests go out side by side. Ctrl-C ends it at once: no request is begun any more, and
        those under way are abandoned.

        Raises
        ------
        ConfigurationError
            No request can succeed: a key is refused, a model is missing, money is spent, no
            network is allowed, or the server was never reached at all.
        """
        return self.complete_gated(requests, OPEN)

    def complete_gated(
        self, requests: Sequence[ChatRequest], gate: Gate
    ) -> list[ChatReply | ChatFailure]:
        """As ``complete``; each request enters the gate before it is sent, which counts it.

        What a reply that cannot be used took counts too, where the server says it.
        """
        stopped = threading.Event()
        return side_by_side(
            lambda at: self._gated(requests[at], gate, stopped),
            len(requests),
            self._in_flight,
            stopped,
        )

    def _gated(
        self, request: ChatRequest, gate: Gate, stopped: threading.Event
    ) -> ChatReply | ChatFailure:
        """Return the reply to one request, or that the gate is closed."""
        why = unfit(request)
        if why:
            return ChatFailure(reason=why, kind="refused")
        size = size_of(request)
        if not gate.enter(size, stopped):
            return OVER_BUDGET
        try:
            return self._reply(request, _Counter(gate, size), stopped)
        finally:
            gate.leave(size)

    def _reply(
        self, request: ChatRequest, counter: _Counter, stopped: threading.Event
    ) -> ChatReply | ChatFailure:
        """Return the reply to one request, sent again while that may help."""
        asked = _Asked(self._waiting.clock.now() + self._waiting.patience.deadline_s)
        while asked.attempt < self._waiting.patience.attempts and self._waiting.turn(
            asked.deadline, stopped
        ):
            body, sent = body_of(request, self._adjustments.ways())
            began = self._waiting.clock.now()
            found = self._send(body, asked.deadline - began, stopped)
            self._reached |= isinstance(found, bytes) or found.status is not None
            if isinstance(found, bytes):
                read = read_reply(found)
                counter.count(read)
                over = self._read(read, asked, began)
            elif self._adjustments.learn(found, sent):
                continue
            else:
                counter.count(found)
                over = self._wait(found, asked, stopped)
            if over is not None:
                return over
        if asked.last.kind == "unreachable" and not self._reached:
            # Every other request would wait as long for the same.
            raise ConfigurationError(f"{self._identity.name}: {asked.last.reason}")
        return asked.last

    def _read(
        self, read: ChatReply | BadReply, asked: _Asked, began: float
    ) -> ChatReply | ChatFailure | None:
        """Return what a request ends with; None: nothing can be read, and it is sent again."""
        if isinstance(read, ChatReply):
            took = round((self._waiting.clock.now() - began) * 1000, 3)
            return msgspec.structs.replace(self._without_key(read), latency_ms=took)
        kind = "refused" if read.filtered else "broken"
        last = asked.last
        asked.last = ChatFailure(reason=read.reason, kind=kind, status=200)
        asked.attempt += 1
        return asked.last if read.filtered or last.kind == "broken" else None

    def _wait(
        self, problem: Problem, asked: _Asked, stopped: threading.Event
    ) -> ChatFailure | None:
        """Return what a request that failed ends with; None: it is sent again, after a wait."""
        if problem.kind is Kind.SETTING:
            raise ConfigurationError(f"{self._identity.name}: {problem.reason}")
        asked.last = _failure(problem)
        if problem.kind is not Kind.AGAIN:
            return asked.last
        patience, now = self._waiting.patience, self._waiting.clock.now
        wait, told = self._waiting.delay(asked.attempt, problem.wait_s), problem.wait_s is not None
        if told and now() + wait >= asked.deadline:
            late = f"it asks to wait longer than the {patience.deadline_s:.0f} s of a request"
            return msgspec.structs.replace(asked.last, reason=f"{asked.last.reason} ({late})")
        # Being told to wait is no failure: the deadline alone bounds how often it happens.
        asked.attempt += not (told and wait >= 1)
        if told and problem.limited:
            self._waiting.hold(wait)
        elif asked.attempt < patience.attempts:
            self._waiting.pause(min(wait, max(0.0, asked.deadline - now())), stopped)
        return None

    def _send(
        self, body: dict[str, Any], left_s: float, stopped: threading.Event
    ) -> bytes | Problem:
        model = self._settings.model

        def ask(client: Any, timeout: Any) -> Any:
            return client.chat.completions.with_streaming_response.create(
                model=model, timeout=timeout, **body
            )

        return self._connection.exchange(ask, _REPLY_BYTES, left_s, stopped.is_set)

    def _without_key(self, read: ChatReply) -> ChatReply:
        """Return a reply that does not hold the key: a server may echo what it was sent."""
        key = self._settings.key.reveal()

        def hide(text: str) -> str:
            return text if key == NO_KEY else text.replace(key, MASK)

        return msgspec.structs.replace(
            read,
            content=hide(read.content),
            tool_calls=tuple(
                msgspec.structs.replace(call, name=hide(call.name), arguments=hide(call.arguments))
                for call in read.tool_calls
            ),
            finish=hide(read.finish),
            model=cleaned(read.model, self._settings),
        )


class _Counter:
    """Counts what one request takes, each time it is sent."""

    def __init__(self, gate: Gate, size: Size) -> None:
        self._gate = gate
        self._size = size

    def count(self, got: ChatReply | BadReply | Problem) -> None:
        """Count what came; what a server refuses takes nothing, and what is lost nobody knows."""
        if not isinstance(got, Problem):
            self._gate.spend(Used(*got.usage), self._size)
        elif got.status is None:
            self._gate.spend(Used(), self._size)


class _Asked:
    """How far one request is: until when it may go on, how often it failed, and how last."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.attempt = 0
        self.last = ChatFailure(
            reason="a rate limit asks to wait past the deadline", kind="rate_limited"
        )


def _failure(problem: Problem) -> ChatFailure:
    """Return a request's failure; what it says names no request, so equal ones read alike."""
    status = problem.status
    if problem.late:
        kind = "timeout"
    elif status is None:
        kind = "unreachable" if problem.kind is Kind.AGAIN else "broken"
    elif status in _RATE_LIMITED:
        kind = "rate_limited"
    elif _REFUSED_FROM <= status <= _REFUSED_TO and problem.kind is not Kind.AGAIN:
        kind = "refused"
    elif problem.kind is Kind.AGAIN:
        kind = "unreachable"
    else:
        kind = "broken"
    reason = problem.reason
    if problem.code in {"content_filter", "content_policy_violation"}:
        reason = f"the server's content filter refused the request ({reason})"
    return ChatFailure(reason=reason, kind=kind, status=status)
