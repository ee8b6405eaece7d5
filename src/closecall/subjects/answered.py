"""Cases with their answers: those that have a response already, and those a subject is asked for.

Cases stream through: a batch is asked at once, and the next only when it is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from closecall.chat.base import ChatUsage
from closecall.errors import ConfigurationError
from closecall.records import Case, Unmeasured
from closecall.subjects.base import Answer, Subject, no_answer

BATCH = 32
"""Cases asked together: a few rounds of requests side by side, and little lost when a run is
killed."""

_CUT = "length"


class Answered(NamedTuple):
    """A case and where its response is from.

    ``answer`` is the subject's, None where the case had a response or got none; ``missing`` says
    why it got none. The case's ``response`` is the answer's text.
    """

    case: Case
    answer: Answer | None = None
    missing: Unmeasured | None = None


def answered(cases: Iterable[Case], subject: Subject, *, batch: int = BATCH) -> Iterator[Answered]:
    """Yield every case, in order; the subject answers those that have no response.

    A case with a response, even an empty one, is left as it is and nothing is asked. An answer
    that holds the value of a variable that holds a key is none.

    Parameters
    ----------
    cases
        Read ``batch`` at a time.
    subject
        What answers.
    batch
        Most cases asked together, from 1.

    Raises
    ------
    ConfigurationError
        The subject cannot be used at all, or does not keep its contract.
    """
    left = iter(cases)
    while chunk := list(islice(left, batch)):
        asked = [case for case in chunk if case.response is None]
        found = iter(_checked(subject, asked))
        for case in chunk:
            if case.response is not None:
                yield Answered(case)
                continue
            got = next(found)
            if isinstance(got, Unmeasured):
                yield Answered(case, missing=got)
            else:
                yield Answered(msgspec.structs.replace(case, response=got.text), answer=got)


def _checked(subject: Subject, cases: Sequence[Case]) -> Sequence[Answer | Unmeasured]:
    if not cases:
        return []
    found = list(subject.answer(cases))
    if len(found) != len(cases) or not all(isinstance(x, Answer | Unmeasured) for x in found):
        raise ConfigurationError(
            f"the subject {subject.identity.name} must return an Answer or an Unmeasured for each "
            f"of {len(cases)} cases; it returned {len(found)} things"
        )
    return [_without_keys(one) for one in found]


def _without_keys(found: Answer | Unmeasured) -> Answer | Unmeasured:
    """Return an answer, or why it counts for nothing: a key in it would be written everywhere."""
    if isinstance(found, Unmeasured):
        return found
    from closecall.cassettes.secrets import Secrets
    from closecall.cassettes.spelling import spelt

    name = Secrets().name_in(spelt(found.text))
    if not name:
        return found
    return no_answer(
        f"it holds the value of {name}, so it is not kept. Take the key away from the subject, or "
        "unset the variable if it is no key"
    )


class Answering:
    """A stream of cases for a run, and what became of the subject meanwhile.

    Iterate it once for the cases, in order. ``missing`` says why a case has no response, by the
    case's id, once that case has been yielded; ``unanswered`` counts them. ``said``
    has the answers of each case until somebody takes them out.

    Parameters
    ----------
    cases, subject, batch
        As of ``answered``.
    """

    def __init__(self, cases: Iterable[Case], subject: Subject, *, batch: int = BATCH) -> None:
        self._cases = cases
        self._subject = subject
        self._batch = batch
        self.missing: dict[str, Unmeasured] = {}
        self.unanswered = 0
        self.said: dict[str, list[Answer]] = {}
        self.answers = 0
        self.cut = 0
        self.unreported = 0
        self._prompt = 0
        self._completion = 0
        self.latency_ms = 0.0

    def __iter__(self) -> Iterator[Case]:
        for case, answer, missing in answered(self._cases, self._subject, batch=self._batch):
            if missing is not None:
                self.missing[case.id] = missing
                self.unanswered += 1
            if answer is not None:
                self._count(answer)
                self.said.setdefault(case.id, []).append(answer)
            yield case

    @property
    def name(self) -> str:
        """What to call the subject."""
        return self._subject.identity.name

    def anew(self, cases: Iterable[Case], subject: Subject) -> Answering:
        """Go on counting, with other cases or the same again; ``missing`` is of these alone."""
        self._cases, self._subject = cases, subject
        self.missing.clear()
        return self

    @property
    def usage(self) -> ChatUsage:
        """Tokens reported for the answers so far; ``unreported`` answers are not in it."""
        if self.unreported == self.answers:
            return ChatUsage()
        return ChatUsage(self._prompt, self._completion)

    def _count(self, answer: Answer) -> None:
        self.answers += 1
        self.cut += answer.finish == _CUT
        self.latency_ms += answer.latency_ms or 0.0
        prompt, completion = answer.usage
        if prompt is None or completion is None:
            self.unreported += 1
        else:
            self._prompt += prompt
            self._completion += completion
