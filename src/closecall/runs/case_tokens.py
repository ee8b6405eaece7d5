"""Tokens of one case, by role: those of its answer, and those of the judges of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from closecall.records import Measured
from closecall.runs.results import CaseResult, CaseTokens

USAGE = "usage"
"""What a case's own part of its first result calls the tokens of its answers."""

_JUDGE, _REPLAYED = "judge", "replayedReplies"


def tokens_of(row: CaseResult) -> Iterator[CaseTokens]:
    """Yield the tokens of a case's answers and of each metric that a chat model judged."""
    yield from row.answered
    for one in row.trials or (row,):
        for result in one.results:
            found = result.measurement
            if isinstance(found, Measured) and _JUDGE in found.details:
                yield _judged(result.metric, found)


def _judged(metric: str, found: Measured) -> CaseTokens:
    details = found.details
    replayed = details.get(_REPLAYED, 0)
    return CaseTokens(
        role="judge",
        model=str(details[_JUDGE]),
        metric=metric,
        prompt_tokens=_count(details.get("promptTokens")),
        completion_tokens=_count(details.get("completionTokens")),
        replayed=replayed if type(replayed) is int else 0,
    )


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def added(found: Iterable[CaseTokens]) -> tuple[CaseTokens, ...]:
    """Return answers to one case as one entry; unknown of one is unknown of all."""
    every = list(found)
    if not every:
        return ()
    prompts = [one.prompt_tokens for one in every]
    completions = [one.completion_tokens for one in every]
    return (
        msgspec.structs.replace(
            every[0],
            replies=sum(one.replies for one in every),
            replayed=sum(one.replayed for one in every),
            prompt_tokens=None if None in prompts else sum(n or 0 for n in prompts),
            completion_tokens=None if None in completions else sum(n or 0 for n in completions),
        ),
    )
