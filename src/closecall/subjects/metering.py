"""Subjects that are no chat model of ours, whose answers say by themselves what they took."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from closecall.embedders.metering import BUDGET_REACHED, Gate, Size, Used
from closecall.records import Case, Unmeasured
from closecall.subjects.base import Answer, Subject, SubjectIdentity, no_answer
from closecall.subjects.repeats import of_run


class MeteredSubject:
    """A command or a function whose answers are counted where they report tokens.

    What such a program spends without saying so is not known here, so an answer that reports
    nothing is not counted at all.

    Parameters
    ----------
    subject
        What answers.
    gate
        What counts.
    """

    def __init__(self, subject: Subject, gate: Gate) -> None:
        self._subject = subject
        self._gate = gate

    @property
    def identity(self) -> SubjectIdentity:
        """The subject's own."""
        return self._subject.identity

    def for_run(self, number: int) -> MeteredSubject:
        """Return the subject of a repeated run, 0 the first."""
        return MeteredSubject(of_run(self._subject, number), self._gate)

    def answer(self, cases: Sequence[Case]) -> Sequence[Answer | Unmeasured]:
        """Return the subject's answers; none is asked for once the gate is closed.

        Raises
        ------
        ConfigurationError
            As the subject.
        """
        size = Size()
        if not self._gate.enter(size, threading.Event()):
            return [no_answer(BUDGET_REACHED)] * len(cases)
        try:
            found = self._subject.answer(cases)
        finally:
            self._gate.leave(size)
        for one in found:
            if not isinstance(one, Answer) or one.usage == (None, None):
                continue
            used = Used(*one.usage)
            if one.latency_ms == 0.0:
                self._gate.replayed(used)
            else:
                self._gate.spend(used, size)
        return found
