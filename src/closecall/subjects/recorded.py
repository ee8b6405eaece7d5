"""A subject in front of which a cassette stands: its answers are recorded, or replayed."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Sequence
from typing import Self

import msgspec

from closecall.cassettes import Cassette, Mode
from closecall.cassettes.differing import first_difference
from closecall.cassettes.entries import Answered, Identified
from closecall.cassettes.subject import Missed, RecordedAnswers
from closecall.errors import CassetteError, ConfigurationError, ReplayMissError
from closecall.records import JSON, Case, State, Unmeasured, is_whole_text
from closecall.subjects.base import NO_INPUT, Answer, Subject, SubjectIdentity, no_answer
from closecall.subjects.command import case_json
from closecall.subjects.python import asks_something
from closecall.subjects.repeats import of_run


class RecordedSubject:
    """A command or a function whose answers are recorded, or come from a recording.

    On replay it is never made: nothing is started. What is recorded of a case is what it says
    without its references and its label. A case without an answer is not recorded. Of a chat
    model as the subject, record the model: ``ChatSubject(cassette.chat(...))``.

    Parameters
    ----------
    cassette
        Where.
    make
        Makes the subject; called once, when it is needed.
    spec
        The name it was asked for by, such as its command; None: the only one recorded.

    Raises
    ------
    ReplayMissError
        On replay, nothing of this subject is recorded.
    UsageError
        Recordings of several subjects go by this name.
    ConfigurationError
        It cannot be made.
    """

    def __init__(
        self, cassette: Cassette, make: Callable[[], Subject], spec: str | None = None
    ) -> None:
        self._cassette = cassette
        self._make = make
        self._lock = threading.Lock()
        self._made: list[Subject] = []  # the same list for every run of it
        self._run = 0
        known = None if cassette.mode is Mode.RECORD else cassette.known("subject", spec)
        if known is None and cassette.mode is Mode.REPLAY:
            raise ReplayMissError(
                f"no answers of {spec or 'a subject'} are recorded in {cassette.path}. Record "
                f"them: --record-missing {cassette.path.parent}"
            )
        self._known = None if known is None else _identity(known, cassette)
        self._identity = self._known or self._live().identity
        plain = msgspec.to_builtins(self._identity)
        self._answers = RecordedAnswers(cassette, plain, self._identity.name, spec)

    @property
    def identity(self) -> SubjectIdentity:
        """What the subject is, or was when it was recorded."""
        return self._identity

    def for_run(self, number: int) -> Self:
        """Return the subject of a repeated run, 0 the first: its answers are recorded apart.

        Those of the first are recorded as those of a run that is not repeated.
        """
        other = copy.copy(self)
        other._run = number  # noqa: SLF001 - a copy of its own
        return other

    def answer(self, cases: Sequence[Case]) -> list[Answer | Unmeasured]:
        """Return one answer a case, or why there is none, in the order asked.

        A case that a replay lacks is an error that says what is nearest; the cassette notes it,
        see ``Cassette.missing``.

        Raises
        ------
        ConfigurationError
            The subject cannot be used at all; a case or an answer holds a key, so that it cannot
            be recorded; or it is no longer the subject that was recorded.
        """
        found: list[Answer | Unmeasured] = [NO_INPUT] * len(cases)
        asked = []
        for at, case in enumerate(cases):
            if not asks_something(case):
                continue
            if is_whole_text(case_json(case)):
                asked.append(at)
            else:
                found[at] = no_answer("the case holds half of a surrogate pair")
        why: dict[int, Unmeasured] = {}

        def ask(positions: list[int]) -> list[Answered | None]:
            said = of_run(self._live(), self._run).answer([cases[asked[at]] for at in positions])
            why.update(
                (at, one)
                for at, one in zip(positions, said, strict=True)
                if isinstance(one, Unmeasured)
            )
            return [None if isinstance(one, Unmeasured) else _recorded(one) for one in said]

        requests = [_request(cases[at], self._run) for at in asked]
        for at, got in enumerate(self._answers.get(requests, ask)):
            if isinstance(got, Missed):
                found[asked[at]] = Unmeasured(got.reason, State.ERROR)
            else:
                found[asked[at]] = why[at] if got is None else _answer(got)
        return found

    def _live(self) -> Subject:
        with self._lock:
            if not self._made:
                made = self._make()
                self._require_same(made.identity)
                self._made.append(made)
            return self._made[0]

    def _require_same(self, now: SubjectIdentity) -> None:
        if self._known is None or self._known.digest == now.digest:
            return
        before, after = (msgspec.to_builtins(one) for one in (self._known, now))
        raise ConfigurationError(
            f"{self._cassette.path} holds recordings of another subject than answers now: "
            f"{first_difference(before, after)}. Record all of it again: "
            f"--record {self._cassette.path.parent}"
        )


def _identity(known: Identified, cassette: Cassette) -> SubjectIdentity:
    try:
        return msgspec.convert(known.identity, SubjectIdentity)
    except msgspec.ValidationError as error:
        raise CassetteError(f"{cassette.tape.place(known.key)}: identity: {error}") from error


def _request(case: Case, run: int) -> dict[str, JSON]:
    found: dict[str, JSON] = json.loads(case_json(case))
    return {**found, "run": run} if run else found


def _recorded(answer: Answer) -> Answered:
    plain = msgspec.to_builtins(answer)
    took = plain.pop("latency_ms")
    return Answered(answer=plain, latency_ms=took)


def _answer(got: Answered) -> Answer:
    found = msgspec.convert(got.answer, Answer)
    return msgspec.structs.replace(found, latency_ms=got.latency_ms)
