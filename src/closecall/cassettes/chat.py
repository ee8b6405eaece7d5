"""Chat models in front of which a cassette stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import msgspec

from closecall.cassettes.cassette import Cassette, Mode, stopping
from closecall.cassettes.differing import first_difference
from closecall.cassettes.entries import Entry, Identified
from closecall.cassettes.nearest import Asked
from closecall.cassettes.spelling import canonical, spelt
from closecall.chat.base import ChatFailure, ChatIdentity, ChatModel, ChatReply, ChatRequest
from closecall.chat.metering import MeteredChat, is_replayed, used_of
from closecall.embedders.metering import OPEN, Gate
from closecall.errors import CassetteError, ConfigurationError, ReplayMissError
from closecall.records import JSON, is_whole_text

HALF = "holds half a character (a surrogate without its other half), which cannot be recorded"


def recorded_chat(
    cassette: Cassette, make: Callable[[], ChatModel], spec: str | None
) -> ChatModel:
    """Return the model to use in place of the one ``make`` makes; see ``Cassette.chat``."""
    if cassette.mode is Mode.RECORD:
        return RecordingChat(cassette, make, spec=spec)
    known = cassette.known("chat", spec)
    if known is not None:
        identity = _identity(known, cassette)
        if cassette.mode is Mode.REPLAY:
            return ReplayChat(cassette, identity)
        return RecordingChat(cassette, make, spec=spec, identity=identity)
    if cassette.mode is Mode.REPLAY:
        every = [one.name for one in cassette.tape.identities.values() if one.of == "chat"]
        there = f"it holds those of {', '.join(sorted(every))}" if every else "it holds none"
        raise ReplayMissError(
            f"no replies of {spec or 'a chat model'} are recorded in {cassette.path}; {there}. "
            f"Record them: --record-missing {cassette.path.parent}"
        )
    return RecordingChat(cassette, make, spec=spec)


def _identity(known: Identified, cassette: Cassette) -> ChatIdentity:
    try:
        found = msgspec.convert(known.identity, ChatIdentity)
    except msgspec.ValidationError as error:
        raise CassetteError(f"{cassette.tape.place(known.key)}: identity: {error}") from error
    if found.digest != known.digest:
        raise CassetteError(
            f"{cassette.tape.place(known.key)}: this model was recorded by another version of "
            f"closecall, which described it otherwise; record it again: "
            f"--record {cassette.path.parent}"
        )
    return found


def request_of(request: ChatRequest) -> dict[str, JSON]:
    """Return a request as it is recorded: everything in it, texts canonical.

    What is not set (null, an empty text or list) is left out, so that a setting that later
    versions know of does not change what is recorded today.
    """
    plain = msgspec.to_builtins(request)
    if isinstance(plain["temperature"], int):
        plain["temperature"] = float(plain["temperature"])
    plain["messages"] = [_without_unset(message) for message in plain["messages"]]
    found: dict[str, JSON] = canonical(_without_unset(plain))
    return found


def _without_unset(value: dict[str, JSON]) -> dict[str, JSON]:
    return {name: item for name, item in value.items() if item not in (None, "", [], ())}


class ReplayChat:
    """Recorded replies of a model that is not here: nothing is sent.

    Parameters
    ----------
    cassette
        Where they are recorded.
    identity
        Whose replies.
    """

    def __init__(self, cassette: Cassette, identity: ChatIdentity) -> None:
        self._cassette = cassette
        self._identity = identity

    @property
    def identity(self) -> ChatIdentity:
        """Which model was recorded."""
        return self._identity

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply | ChatFailure]:
        """Return what is recorded of each request, its latency 0; else a ``missing`` failure.

        The cassette notes what was missing: see ``Cassette.missing``.
        """
        return self.complete_gated(requests, OPEN)

    def complete_gated(
        self, requests: Sequence[ChatRequest], gate: Gate
    ) -> list[ChatReply | ChatFailure]:
        """As ``complete``; the gate counts what is replayed."""
        with stopping():
            replies = [self._one(_asked(self._identity, request)) for request in requests]
        _count_replayed(replies, gate)
        return replies

    def _one(self, asked: Asked) -> ChatReply | ChatFailure:
        entry = self._cassette.find(asked.kind, asked.digest, asked.request)
        if entry is None:
            return ChatFailure(reason=self._cassette.miss(asked), kind="missing")
        return _replayed(entry)


class RecordingChat:
    """A chat model whose replies are recorded.

    What the cassette holds is not asked for, unless the mode is ``record``. Requests that are
    equal are asked once a call. Failures are never recorded.

    Parameters
    ----------
    cassette
        Where to.
    make
        Makes the model; called once, when it is needed.
    spec
        The name it was asked for by.
    identity
        The recorded identity to answer for until a request is missing; None: the model's own.
    """

    def __init__(
        self,
        cassette: Cassette,
        make: Callable[[], ChatModel],
        *,
        spec: str | None = None,
        identity: ChatIdentity | None = None,
    ) -> None:
        self._cassette = cassette
        self._make = make
        self._spec = spec
        self._made: ChatModel | None = None
        self._lock = threading.Lock()
        self._known = identity
        self._identity = self._live().identity if identity is None else identity

    @property
    def identity(self) -> ChatIdentity:
        """Which model this is."""
        return self._identity

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply | ChatFailure]:
        """Return one reply or failure a request, in the order asked.

        Raises
        ------
        ConfigurationError
            As the model behind; a request or reply holds a key, so that it cannot be recorded; or
            the model is no longer the one recorded.
        """
        return self.complete_gated(requests, OPEN)

    def complete_gated(
        self, requests: Sequence[ChatRequest], gate: Gate
    ) -> list[ChatReply | ChatFailure]:
        """As ``complete``; only what is asked of the model behind passes the gate."""
        with stopping():
            replies = self._complete(requests, gate)
        _count_replayed(replies, gate)
        return replies

    def _complete(
        self, requests: Sequence[ChatRequest], gate: Gate
    ) -> list[ChatReply | ChatFailure]:
        every = [_asked(self._identity, request) for request in requests]
        names = [spelt(asked.request) for asked in every]
        done: dict[str, ChatReply | ChatFailure] = {}
        missing: dict[str, int] = {}
        for at, (name, asked) in enumerate(zip(names, every, strict=True)):
            if name in done or name in missing:
                continue
            if not is_whole_text(name):
                done[name] = ChatFailure(reason=f"the request {HALF}", kind="refused")
                continue
            entry = self._cassette.find(asked.kind, asked.digest, asked.request)
            if entry is not None:
                done[name] = _replayed(entry)
                continue
            self._cassette.require_no_secret(asked.kind, asked.request)
            missing[name] = at
        if missing:
            live = MeteredChat(self._live(), gate)
            replies = live.complete([requests[at] for at in missing.values()])
            for (name, at), reply in zip(missing.items(), replies, strict=True):
                done[name] = self._kept(every[at], reply)
        # The same request once more was not sent once more.
        return [
            _not_sent(done[name]) if name in missing and missing[name] != at else done[name]
            for at, name in enumerate(names)
        ]

    def _live(self) -> ChatModel:
        with self._lock:
            if self._made is None:
                made = self._make()
                self._require_same(made.identity)
                self._made = made
            return self._made

    def _require_same(self, now: ChatIdentity) -> None:
        if self._known is None or self._known.digest == now.digest:
            return
        before, after = (msgspec.to_builtins(one) for one in (self._known, now))
        raise ConfigurationError(
            f"{self._cassette.path} holds recordings of another model than answers now: "
            f"{first_difference(before, after)}. Record all of it again: "
            f"--record {self._cassette.path.parent}"
        )

    def _kept(self, asked: Asked, reply: ChatReply | ChatFailure) -> ChatReply | ChatFailure:
        if isinstance(reply, ChatFailure):
            return reply
        plain = msgspec.to_builtins(reply)
        if not is_whole_text(spelt(plain)):
            return ChatFailure(reason=f"the reply {HALF}", kind="broken")
        entry = self._cassette.keep(asked, plain, self._spec)
        # What is recorded is what is used; the time is that of this request.
        return msgspec.structs.replace(_replayed(entry), latency_ms=reply.latency_ms)


def _asked(identity: ChatIdentity, request: ChatRequest) -> Asked:
    return Asked(
        "chat",
        identity.digest,
        identity.name,
        msgspec.to_builtins(identity),
        request_of(request),
    )


def _count_replayed(replies: Sequence[ChatReply | ChatFailure], gate: Gate) -> None:
    for reply in replies:
        if is_replayed(reply):
            gate.replayed(used_of(reply))


def _not_sent(reply: ChatReply | ChatFailure) -> ChatReply | ChatFailure:
    if isinstance(reply, ChatFailure):
        return reply
    return msgspec.structs.replace(reply, latency_ms=0.0)


def _replayed(entry: Entry) -> ChatReply:
    found = msgspec.convert(entry.reply, ChatReply)
    return msgspec.structs.replace(found, latency_ms=0.0)
