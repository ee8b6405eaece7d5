"""From answers of one or several judges to one measurement.

A judge asked several times counts with the median of its scores, and a panel with the median of
its judges. Every one of them has to answer: a panel that lacks a judge is another panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

from closecall.chat.base import ChatIdentity
from closecall.metrics.base import DECIMALS
from closecall.metrics.judge.asking import Answer
from closecall.metrics.judge.reading import MAX_REASON, clip
from closecall.metrics.judge.scale import Scale, rating
from closecall.records import JSON, Measured, Measurement, Unmeasured

MAX_VOTE_REASON = 400


class Vote(NamedTuple):
    """What one judge said once; ``scores`` in the order of ``Scores.names``, as written."""

    judge: ChatIdentity
    answer: Answer
    scores: tuple[float, ...]


class Scores(NamedTuple):
    """The scores asked of a judge: their names and scale; the lowest of a judge's counts."""

    names: tuple[str, ...]
    scale: Scale


def measured(
    panel: Sequence[tuple[ChatIdentity, Sequence[Answer | Unmeasured]]], asked: Scores
) -> Measurement:
    """Return the measurement of one case from all that its judges answered."""
    absent = _absence(panel)
    if absent is not None:
        return absent
    votes = [
        Vote(judge, one, tuple(one.reading.scores[name] for name in asked.names))
        for judge, answers in panel
        for one in answers
        if isinstance(one, Answer)
    ]
    by_judge = [[v for v in votes if v.judge == judge] for judge, _ in panel]
    each = [
        _middle([_middle([vote.scores[at] for vote in own]) for own in by_judge])
        for at in range(len(asked.names))
    ]
    counting = _middle([_middle([min(vote.scores) for vote in own]) for own in by_judge])
    value = round(asked.scale.value(counting), DECIMALS)
    details = rating(asked.scale, counting)
    if len(asked.names) > 1:
        details |= dict(zip(asked.names, each, strict=True))
    details |= _told(votes, counting, panel)
    details |= _tokens(votes)
    return Measured(similarity=value, value=value, score=asked.scale.score(value), details=details)


def agreed_share(scores: Sequence[float]) -> float | None:
    """Return the share of all pairs that are equal, None of fewer than two.

    >>> agreed_share([4, 4, 5])
    0.333333
    """
    pairs = list(combinations(scores, 2))
    if not pairs:
        return None
    return round(sum(one == two for one, two in pairs) / len(pairs), DECIMALS)


def _absence(
    panel: Sequence[tuple[ChatIdentity, Sequence[Answer | Unmeasured]]],
) -> Unmeasured | None:
    """Return why a judge gave no score; in the same words for every case of the same failure."""
    for judge, answers in panel:
        absent = next((one for one in answers if isinstance(one, Unmeasured)), None)
        if absent is not None:
            who = f"{judge.name}: " if len(panel) > 1 else ""
            return Unmeasured(f"{who}{absent.reason}", absent.state)
    return None


def _middle(numbers: Sequence[float]) -> float:
    return round(float(median(numbers)), DECIMALS)


def _told(
    votes: Sequence[Vote],
    counting: float,
    panel: Sequence[tuple[ChatIdentity, Sequence[Answer | Unmeasured]]],
) -> dict[str, JSON]:
    """Return reason and thoughts: of several votes those of the first nearest to what counts."""
    nearest = min(votes, key=lambda vote: abs(min(vote.scores) - counting))
    reading = nearest.answer.reading
    models = sorted({vote.answer.model for vote in votes} - {""})
    told: dict[str, JSON] = {
        "reason": reading.reason,
        "thoughts": reading.thoughts,
        "judge": ", ".join(judge.name for judge, _ in panel),
        "model": ", ".join(models),
    }
    told = {name: text for name, text in told.items() if text}
    repaired = sum(vote.answer.repaired for vote in votes)
    if repaired:
        told["repairedReplies"] = repaired
    if len(votes) > 1:
        told["agreement"] = agreed_share([min(vote.scores) for vote in votes])
        told["votes"] = [_vote(vote) for vote in votes]
    return told


def _vote(vote: Vote) -> dict[str, JSON]:
    found: dict[str, JSON] = {"judge": vote.judge.name, "score": min(vote.scores)}
    reason = clip(vote.answer.reading.reason, min(MAX_VOTE_REASON, MAX_REASON))
    return {**found, "reason": reason} if reason else found


def _tokens(votes: Sequence[Vote]) -> dict[str, JSON]:
    """Return the tokens of all calls; unknown of one is unknown of all."""
    told = {
        "promptTokens": [vote.answer.prompt_tokens for vote in votes],
        "completionTokens": [vote.answer.completion_tokens for vote in votes],
    }
    sums: dict[str, JSON] = {}
    for name, counts in told.items():
        known = [count for count in counts if count is not None]
        if len(known) == len(counts):
            sums[name] = sum(known)
    replayed = sum(vote.answer.replayed for vote in votes)
    if replayed:
        sums["replayedReplies"] = replayed  # their tokens were spent when they were recorded
    return sums
