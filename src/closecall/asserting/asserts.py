"""The assertions. Each measures one answer, decides, and raises what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from closecall.asserting.current import current
from closecall.asserting.deciding import as_error, check
from closecall.asserting.question import ANSWER, CONTEXT, Question
from closecall.asserting.question import question as asked_of
from closecall.errors import ClosecallError, UsageError
from closecall.records import Case
from closecall.runs.results import MetricResult

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.calibrations import One

    Guards = str | Mapping[str, str] | GuardPolicy | None

_CASE = "assertion"
_GROUNDED = "embed_response_context"
_FACT = "expected_fact"


def assert_similar(
    actual: str,
    expected: str | Sequence[str],
    *,
    cutoff: float | None = None,
    metric: str | Metric | None = None,
    calibration: One | None = None,
    embedder: Embedder | str | None = None,
    question: str | None = None,
    guards: Guards = None,
    judge: Any = None,
) -> MetricResult:
    """Assert that an answer is close enough to what was expected.

    Parameters
    ----------
    actual
        The answer.
    expected
        What it should say; of several texts the closest counts.
    cutoff
        Accept from this value on, on the metric's own scale (``embed_answer_similarity``: 0 to
        100). None: that of the calibration, else the metric's default.
    metric
        A metric of a response and references, by name or as an object. None: that of the
        calibration, else ``embed_answer_similarity``.
    calibration
        A calibration file; it must belong to this embedder and metric.
    embedder
        An embedder or its name. None: the session's, else that of the calibration or the default.
    question
        What was asked; metrics and guards that look at it then do.
    guards
        What a guard that differs does, as ``evaluate`` takes it; None: the answer is unsure.
    judge
        The chat model, for metrics that ask one.

    Returns
    -------
    MetricResult
        What was measured, and that it passed.

    Raises
    ------
    AnswerError
        It is not close enough (an ``AssertionError``); ``UnsureAnswerError`` where nobody knows.
    NotMeasuredError
        There is no number, such as for a blank text.
    ClosecallError
        A name, cutoff, calibration or setting is wrong.
    """
    __tracebackhide__ = True
    case = _answered(actual, expected, question)
    asked = _asked(
        metrics=metric,
        cutoff=cutoff,
        calibration=calibration,
        embedder=embedder,
        judge=judge,
        sides=ANSWER,
        guards=guards,
    )
    return check(current(), asked, case, negated=False)


def assert_not_similar(
    actual: str,
    expected: str | Sequence[str],
    *,
    cutoff: float | None = None,
    metric: str | Metric | None = None,
    calibration: One | None = None,
    embedder: Embedder | str | None = None,
    question: str | None = None,
    guards: Guards = None,
    judge: Any = None,
) -> MetricResult:
    """Assert that ``assert_similar`` would reject this answer; parameters and errors are the same.

    What is not measured, or left unsure, is neither similar nor not similar.
    """
    __tracebackhide__ = True
    case = _answered(actual, expected, question)
    asked = _asked(
        metrics=metric,
        cutoff=cutoff,
        calibration=calibration,
        embedder=embedder,
        judge=judge,
        sides=ANSWER,
        guards=guards,
    )
    return check(current(), asked, case, negated=True)


def assert_grounded(
    answer: str,
    context: str | Sequence[str],
    *,
    cutoff: float | None = None,
    metric: str | Metric | None = None,
    calibration: One | None = None,
    embedder: Embedder | str | None = None,
    question: str | None = None,
    judge: Any = None,
) -> MetricResult:
    """Assert that an answer is near the passages it should come from.

    Parameters
    ----------
    answer
        The answer.
    context
        The passage, or several.
    cutoff, calibration, embedder, question, judge
        As for ``assert_similar``.
    metric
        A metric of a response and its context. None: that of the calibration, else
        ``embed_response_context``. ``context_alignment`` is the better judge, with a cutoff of
        yours or a calibration.

    Returns
    -------
    MetricResult
        What was measured, and that it passed.

    Raises
    ------
    AnswerError, NotMeasuredError, ClosecallError
        As for ``assert_similar``.
    """
    __tracebackhide__ = True
    case = _grounded(answer, context, question)
    asked = _asked(
        metrics=metric,
        cutoff=cutoff,
        calibration=calibration,
        embedder=embedder,
        judge=judge,
        sides=CONTEXT,
        otherwise=_GROUNDED,
    )
    return check(current(), asked, case, negated=False)


def assert_not_grounded(
    answer: str,
    context: str | Sequence[str],
    *,
    cutoff: float | None = None,
    metric: str | Metric | None = None,
    calibration: One | None = None,
    embedder: Embedder | str | None = None,
    question: str | None = None,
    judge: Any = None,
) -> MetricResult:
    """Assert that ``assert_grounded`` would reject this answer; parameters are the same."""
    __tracebackhide__ = True
    case = _grounded(answer, context, question)
    asked = _asked(
        metrics=metric,
        cutoff=cutoff,
        calibration=calibration,
        embedder=embedder,
        judge=judge,
        sides=CONTEXT,
        otherwise=_GROUNDED,
    )
    return check(current(), asked, case, negated=True)


def assert_matches_fact(
    answer: str,
    fact: str | Sequence[str] | Mapping[str, Any],
    *,
    match: str = "all",
    syntax: str = "regex",
    ignore_case: bool = True,
    cutoff: float | None = None,
    question: str | None = None,
) -> MetricResult:
    r"""Assert that an answer says what it must say; no model is used.

    Parameters
    ----------
    answer
        The answer.
    fact
        A regular expression, several, or ``{"all": [...], "any": [...], "none": [...]}``, as a
        case's ``expected_facts``; ``r"\b30 days\b"``.
    match
        How several are meant: ``all``, ``any``, ``none``.
    syntax
        ``regex``, or ``text`` for words as they stand.
    ignore_case
        Whether upper and lower case are the same.
    cutoff
        The share of the facts that must be there, 0 to 1; None: all.
    question
        What was asked, for the message.

    Returns
    -------
    MetricResult
        What was found.

    Raises
    ------
    AnswerError, NotMeasuredError, ClosecallError
        As for ``assert_similar``; a wrong pattern is not measured, and named.
    """
    __tracebackhide__ = True
    case = _facts(answer, fact, match, question)
    asked = _fact_metric(syntax, cutoff, ignore_case=ignore_case)
    return check(current(), asked, case, negated=False)


def assert_not_matches_fact(
    answer: str,
    fact: str | Sequence[str] | Mapping[str, Any],
    *,
    match: str = "all",
    syntax: str = "regex",
    ignore_case: bool = True,
    cutoff: float | None = None,
    question: str | None = None,
) -> MetricResult:
    """Assert that ``assert_matches_fact`` would reject this answer; parameters are the same."""
    __tracebackhide__ = True
    case = _facts(answer, fact, match, question)
    asked = _fact_metric(syntax, cutoff, ignore_case=ignore_case)
    return check(current(), asked, case, negated=True)


def _fact_metric(syntax: str, cutoff: float | None, *, ignore_case: bool) -> Question:
    name = _FACT
    name += "" if syntax == "regex" else f":syntax={syntax}"
    name += "" if ignore_case else ":ignore_case=false"
    if not isinstance(syntax, str) or "," in syntax:  # which would name another metric
        raise _wrong(f"syntax must be regex or text, got {syntax!r:.60}")
    return _asked(metrics=name, cutoff=cutoff, sides=frozenset({"response"}))


def _asked(**what: Any) -> Question:
    try:
        return asked_of(**what)
    except ClosecallError as error:
        raise _wrong(str(error)) from None


def _answered(actual: str, expected: str | Sequence[str], asked: str | None) -> Case:
    return Case(
        id=_CASE,
        input=_optional(asked, "question"),
        response=text_of(actual, "actual"),
        references=texts_of(expected, "expected"),
    )


def _grounded(answer: str, context: str | Sequence[str], asked: str | None) -> Case:
    return Case(
        id=_CASE,
        input=_optional(asked, "question"),
        response=text_of(answer, "answer"),
        context=texts_of(context, "context"),
    )


def _facts(answer: str, fact: Any, match: str, asked: str | None) -> Case:
    if match not in {"all", "any", "none"}:
        raise _wrong(f"match must be all, any or none; got {match!r}")
    wanted = dict(fact) if isinstance(fact, Mapping) else {match: list(texts_of(fact, "fact"))}
    if not any(wanted.values()):
        raise _wrong("fact: there is nothing to look for")
    return Case(
        id=_CASE,
        input=_optional(asked, "question"),
        response=text_of(answer, "answer"),
        metadata={"expected_facts": wanted},
    )


def _wrong(told: str) -> ClosecallError:
    current()  # a test runner looks at errors once a session is there
    return as_error(UsageError(told))


def text_of(value: object, name: str) -> str:
    """Return a text; refuse, as an error of an assertion, what is none."""
    if not isinstance(value, str):
        raise _wrong(f"{name} must be a text (str), got {type(value).__name__}")
    return value


def _optional(value: object, name: str) -> str | None:
    return None if value is None else text_of(value, name)


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """Return a text or several as several; refuse what is neither, as ``text_of`` does."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise _wrong(f"{name} must be a text or a list of texts, got {type(value).__name__}")
    return tuple(text_of(one, f"{name}[{at}]") for at, one in enumerate(value))


__all__ = [
    "assert_grounded",
    "assert_matches_fact",
    "assert_not_grounded",
    "assert_not_matches_fact",
    "assert_not_similar",
    "assert_similar",
]
