"""Answers of an assistant under test, recorded: requests and answers are any JSON.

What a subject is lies above this package; ``closecall.subjects.recorded`` puts the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from closecall.cassettes.cassette import Cassette, Mode, stopping
from closecall.cassettes.entries import Answered, digest_of
from closecall.cassettes.nearest import Asked
from closecall.cassettes.spelling import canonical, in_order, spelt
from closecall.errors import UsageError
from closecall.records import JSON, is_whole_text


class Missed(msgspec.Struct, frozen=True):
    """A replay has no recording of a request; the reason says what is nearest."""

    reason: str


Ask: TypeAlias = Callable[[list[int]], Sequence[Answered | None]]
"""Answers the requests at these positions, in this order; None where there is no answer."""


class RecordedAnswers:
    """Asks a subject and records what it answers, or replays that.

    Parameters
    ----------
    cassette
        Where.
    identity
        Everything besides a request that can change an answer; any JSON. No times, no keys.
    name
        What people call it.
    spec
        The name it was asked for by.

    Raises
    ------
    UsageError
        The identity is no JSON, or holds half a character.
    """

    def __init__(
        self,
        cassette: Cassette,
        identity: dict[str, JSON],
        name: str,
        spec: str | None = None,
    ) -> None:
        self._cassette = cassette
        self._identity = in_order(_sound(identity, "a subject's identity"))
        self._digest = digest_of(self._identity)
        self._name = name
        self._spec = spec

    def get(self, requests: Sequence[dict[str, JSON]], ask: Ask) -> list[Answered | Missed | None]:
        """Return what is recorded of each request, or what ``ask`` answers to it.

        Parameters
        ----------
        requests
            What the subject is given; any JSON.
        ask
            Called once, with the positions of what has to be asked; never on replay.

        Returns
        -------
        list of Answered, Missed or None
            In the order of ``requests``. A replayed answer has a latency of 0. None where ``ask``
            gave no answer, which is not recorded.

        Raises
        ------
        UsageError
            A request or an answer is no JSON.
        ConfigurationError
            A request or an answer holds a key, so that it cannot be recorded.
        """
        with stopping():
            every = [self._asked(request) for request in requests]
            found: list[Answered | Missed | None] = [self._recorded(one) for one in every]
            missing = [at for at, one in enumerate(found) if one is None]
            if missing and self._cassette.mode is not Mode.REPLAY:
                for at in missing:
                    self._cassette.require_no_secret("subject", every[at].request)
                for at, answer in zip(missing, ask(missing), strict=True):
                    found[at] = None if answer is None else self._kept(every[at], answer)
            return found

    def _asked(self, request: dict[str, JSON]) -> Asked:
        plain = canonical(_sound(request, "a subject's request"))
        return Asked("subject", self._digest, self._name, self._identity, plain)

    def _recorded(self, asked: Asked) -> Answered | Missed | None:
        entry = self._cassette.find("subject", self._digest, asked.request)
        if entry is not None:
            kept = msgspec.convert(entry.reply, Answered)
            return msgspec.structs.replace(kept, latency_ms=0.0)
        if self._cassette.mode is Mode.REPLAY:
            return Missed(self._cassette.miss(asked))
        return None

    def _kept(self, asked: Asked, answer: Answered) -> Answered:
        reply = _sound(msgspec.to_builtins(answer), "a subject's answer")
        entry = self._cassette.keep(asked, reply, self._spec)
        kept = msgspec.convert(entry.reply, Answered)
        return msgspec.structs.replace(kept, latency_ms=answer.latency_ms)


def _sound(value: JSON, what: str) -> JSON:
    """Return a value as JSON reads it back, or refuse it."""
    try:
        text = spelt(value)
        if is_whole_text(text):
            return msgspec.json.decode(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} is no JSON: {error}") from error
    raise UsageError(f"{what} holds half a character (a surrogate without its other half)")
