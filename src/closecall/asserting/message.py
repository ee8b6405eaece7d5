"""What a failed assertion says: both texts, the numbers, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from closecall.metrics.guards.policy import is_guarded
from closecall.metrics.support.said import said as support_said
from closecall.records import Case, Measured, State
from closecall.report.words import blind, plural, visible
from closecall.report.worst import decimals
from closecall.runs.results import (
    CALIBRATED_CUTOFF,
    MetricResult,
    cutoff_note,
    cutoff_source,
)

if TYPE_CHECKING:
    from closecall.asserting.bench import Bench
    from closecall.asserting.session import Session
    from closecall.metrics.base import Metric

SHOWN = 400
"""Characters shown of a text; what is left out is counted."""

SHOWN_TEXTS = 20
"""References or passages shown of a case; the others are counted."""

_SPACE = re.compile(r"\s+")
_PAIR_MODELS = frozenset({"answer_support", "context_support", "cross_encoder"})
_REFERENCE, _CONTEXT = "answer_alignment", "context_alignment"


def failure(
    session: Session, bench: Bench, at: int, case: Case, result: MetricResult, *, negated: bool
) -> str:
    """Return what is said of an answer that is not what was asserted.

    Parameters
    ----------
    session, bench, at
        What measured it, and which of its metrics.
    case, result
        What was measured, and what came of it.
    negated
        Whether the test asserts that the answer is not accepted.
    """
    metric = bench.metrics[at]
    lines = [visible(f"{metric.spec.id}: {_head(result, negated=negated)}")]
    lines += [f"  {name:<10} {text}" for name, text in texts_of(case)]
    details = _details(result)
    said = [*_weakest(session, bench, metric, case, details), *_support(details)]
    said += _facts(details)
    said += _guards(bench, metric, case, result)
    said += _doubts(metric, result)
    said += [("cutoff", _cutoff(bench, metric))]
    if _learnt(metric) or metric.spec.name.startswith("llm_"):
        said += [("blind", blind([metric.spec.name]))]
    said += [("next", _next(bench, metric, result, negated=negated))]
    lines += [f"  {name:<10} {visible(text)}" for name, text in said]
    return "\n".join(lines)


def absence(metric: str, case: Case, result: MetricResult) -> str:
    """Return what is said of an answer of which there is no number."""
    lines = [
        visible(f"{metric}: {result.state.value.replace('_', ' ')}: {result.reason}"),
        *(f"  {name:<10} {text}" for name, text in texts_of(case)),
        "  so this is neither a pass nor a failure",
    ]
    return "\n".join(lines)


def texts_of(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the name of each text of a case, and what is shown of it."""
    if case.place:
        yield "case", f"{clipped(case.id, 80)} ({clipped(case.place, 200)})"
    named = [("question", case.input)]
    for name, several in (("expected", case.references), ("context", case.context)):
        many, left = len(several) > 1, len(several) - SHOWN_TEXTS
        for at, one in enumerate(several[:SHOWN_TEXTS]):
            named.append((f"{name}[{at}]" if many else name, one))
        if left > 0:
            named.append((name, f"and {plural(left, 'text')} more"))
    named.append(("actual", case.response))
    for name, text in named:
        if text is not None:
            yield name, clipped(text) or "(blank)"


def clipped(text: str, most: int = SHOWN) -> str:
    """Return a text on one line, what a terminal would obey spelt out, and cut visibly.

    >>> clipped("one two", 3)
    'one… (4 more characters)'
    """
    left = len(text) - most
    line = _SPACE.sub(" ", visible(text[:most])).strip()
    return f"{line}… ({left:,} more character{'s' * (left != 1)})" if left > 0 else line


def _head(result: MetricResult, *, negated: bool) -> str:
    if not negated:
        return result.reason
    word = {State.PASSED: "accepted", State.INCONCLUSIVE: "left unsure"}.get(result.state, "")
    return f"{word or result.state.value}, and this test asserts that it is not: {result.reason}"


def _learnt(metric: Metric) -> bool:
    """Whether its numbers are a model's, so that labels say which of them will do."""
    return metric.spec.embeds or metric.spec.name in _PAIR_MODELS


def _details(result: MetricResult) -> Mapping[str, Any]:
    found = result.measurement
    return found.details if isinstance(found, Measured) else {}


def _weakest(
    session: Session, bench: Bench, metric: Metric, case: Case, details: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the words that match least: of the reference, or of the answer beside a context."""
    needs = set(metric.spec.needs)
    if "weakest" not in details:
        if not metric.spec.embeds or "response" not in needs:
            return
        name = _CONTEXT if "context" in needs else _REFERENCE
        found = session.closest(bench, name, case)
        if found is None:
            return
        details = found.details
    words = _weak(details.get("weakest"))
    if words:
        # A full stop says little, unless there is nothing else.
        told = [one for one in words if any(map(str.isalnum, one["word"]))] or words
        listed = ", ".join(f"{one['word']} {one['match']:.2f}" for one in told)
        whose = "the answer" if "context" in needs else "the expected text"
        yield "weakest", f"{listed} (words of {whose} with the poorest match on the other side)"
    sentence, count = details.get("weakestSentence"), details.get("sentences")
    match = details.get("weakestSentenceAlignment")
    if isinstance(sentence, str) and _number(match) and _number(count) and count > 1:
        yield "sentence", f"{clipped(sentence, 200)} ({match:.2f}, the least supported)"


def _weak(found: object) -> list[dict[str, Any]]:
    """Return words with their matches; none where a metric of somebody's means something else."""
    words = found if isinstance(found, list) else []
    fits = all(
        isinstance(one, Mapping) and isinstance(one.get("word"), str) and _number(one.get("match"))
        for one in words
    )
    return words if fits else []


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def _support(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a pair model went by, on one line each."""
    for name, text in support_said(details):
        yield name, clipped(text)


def _facts(details: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts that are missing, and those that must not be there."""
    missing = _listed(details.get("missing"))
    if missing:
        yield "missing", ", ".join(map(str, missing))
    for group in filter(None, map(_listed, _listed(details.get("missingAnyOf")))):
        yield "missing", f"any of: {', '.join(map(str, group))}"
    for one in _listed(details.get("unwanted")):
        if isinstance(one, Mapping) and {"found", "wanted", "start"} <= one.keys():
            yield "unwanted", f"{one['found']} (for {one['wanted']}, characters {one['start']} on)"
    reason = details.get("reason")
    if isinstance(reason, str):
        yield "judge", clipped(reason)


def _guards(
    bench: Bench, metric: Metric, case: Case, result: MetricResult
) -> Iterator[tuple[str, str]]:
    """Yield what the guards found, where the first line does not say it."""
    if result.held or not is_guarded(metric.spec) or not bench.policy.active:
        return
    held = bench.policy.check(case)
    if held is not None:
        yield "guard", f"{held.words} (beside the score)"


def _doubts(metric: Metric, result: MetricResult) -> Iterator[tuple[str, str]]:
    found = result.measurement
    if not isinstance(found, Measured):
        return
    if result.borderline and metric.spec.embeds:
        yield "near", "so near the cutoff that it is a close call"
    for name, tokens in found.tokens.items():
        if tokens.truncated:
            yield "read", f"the {name} only in part: {tokens.seen:,} of {tokens.total:,} tokens"
        elif tokens.unknown:
            yield "unknown", f"{plural(tokens.unknown, 'word or sign')} of the {name}"


def _cutoff(bench: Bench, metric: Metric) -> str:
    applied = bench.applied.get(metric.spec.id)
    source = cutoff_source(metric, applied)
    value = metric.cutoff if applied is None else applied.accept
    shown = "" if value is None else f"{value:.{max(decimals(metric.spec.high), 1)}f}, "
    return visible(f"{shown}{cutoff_note(source, applied)}")


def _next(bench: Bench, metric: Metric, result: MetricResult, *, negated: bool) -> str:
    """Return what to do about it."""
    if result.held:
        names = ", ".join(f"{name}=off" for name in result.held)
        return (
            f"look whether the answer is right. If it is, {names.replace(', ', ',')!r} as guards "
            "accepts it; if not, the guard has found the fault"
        )
    applied = bench.applied.get(metric.spec.id)
    source = cutoff_source(metric, applied)
    if result.state is State.INCONCLUSIVE:
        return "look at it, and label it: it lies between the two cutoffs of the calibration"
    wrong = "the answer" if negated else "the answer or the expected text"
    if not _learnt(metric):
        return f"correct {wrong}"
    if source == CALIBRATED_CUTOFF:
        return (
            f"correct {wrong}; or, if the verdict is wrong, add the case with its label to the "
            "labelled file and calibrate again"
        )
    return (
        f"correct {wrong}; or let labels choose the cutoff: closecall calibrate LABELLED "
        f"--metric {metric.spec.id} -o cutoff.json, then calibration='cutoff.json'"
    )
