"""A calibration in words: cutoff, promise, price, the biggest worry; then what is behind them."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.calibration.artefact import Calibration
from closecall.calibration.cautions import CAUTIONS, WORST_FIRST
from closecall.calibration.figures import about, at_most, count_of, one_in, percent, plain
from closecall.calibration.records import TwoCutoffs
from closecall.calibration.words import goal_words, promises_words
from closecall.report import calibration_details as details
from closecall.report import calibration_judge as judge
from closecall.report import calibration_labels as labels
from closecall.report.calibration_terms import backing, noisy, unit
from closecall.report.words import blind, plural

MANY_WRONG = 0.25
"""From this share of wrong answers among the accepted ones on, that is the first worry."""


def lines(calibration: Calibration) -> list[str]:
    """Return the report, one statement a line; lines that begin with two spaces belong above.

    The part before the empty line says it all in short.
    """
    return [
        *_heading(calibration),
        *_rows(calibration),
        *_promise(calibration),
        *_price(calibration),
        _worry(calibration),
        "",
        *judge.lines(calibration),
        *details.lines(calibration),
        *labels.lines(calibration),
        blind([calibration.metric.id]),
    ]


def _heading(made: Calibration) -> Iterator[str]:
    data, model = made.data, made.instrument
    revision = f"@{model.revision[:7]}" if model.revision else ""
    by = ", ".join(made.metric.judges) or f"{model.model}{revision}"
    of = f"{made.metric.id}({by})"
    n = data.accepts + data.rejects
    groups = ""
    if data.groups is not None:
        by = "" if unit(made) == "question" else f" by {data.grouped_by}"
        groups = f", {plural(data.groups, unit(made))}{by}"
    chosen = (
        f"chosen from {n:,} labels ({data.rejects:,} rejects, {data.accepts:,} accepts{groups})"
    )
    rule = made.rule
    if isinstance(rule, TwoCutoffs) and rule.abstains:
        # The price of two cutoffs comes first: nobody is to find it out later.
        yield f"Left to a person: {count_of(rule.unsure)} of the labelled answers."
        yield (
            f"Accept from {plain(rule.accept.value)} on, reject below {plain(rule.reject.value)}, "
            f"unsure between, on {of}, {chosen}."
        )
        return
    yield f"Cutoff {plain(made.accept_cutoff.value)} on {of}, {chosen}."
    if isinstance(rule, TwoCutoffs):
        yield "  One cutoff keeps both promises, so no answer is left unsure."


def _rows(made: Calibration) -> Iterator[str]:
    """Say where the rows went that are not among the labels above."""
    data = made.data
    if data.rows == data.used:
        return
    clashing = sum(conflict.accepts + conflict.rejects for conflict in data.conflicts)
    parts = [
        (data.unlabelled, "without a label"),
        (sum(data.unmeasured.values()), "without a score"),
        (data.merged, "repeat" if data.merged == 1 else "repeats"),
        (clashing, "labelled both ways"),
        (data.locked, "set aside as a test"),
        (len(made.sample.trained), "to train the judge"),
        (data.used, "used"),
    ]
    yield f"  {data.rows:,} rows: {', '.join(f'{n:,} {what}' for n, what in parts if n)}."


def _promise(made: Calibration) -> Iterator[str]:
    goal, backed = made.goal, list(backing(made))
    if not backed:
        yield f"No guarantee: {goal_words(goal)}."
        return
    said = promises_words(goal)
    if backed[0].guarantee == "average":
        yield f"Guarantee on average only: over many calibrations {said}."
        exceeds = at_most(sum(each.violation_probability or 0.0 for each in backed))
        yield f"  One calibration may exceed that: up to {exceeds} of those from such labels do."
    elif backed[0].guarantee == "approximate":
        yield f"Approximate guarantee: {said}."
    else:
        yield f"Guarantee: {said}."
    floor, agreed = made.data.noise_floor, made.data.agreement
    if noisy(made) and floor is not None and agreed is not None:
        yield (
            "  As your labels have it; but they disagree so often that rates below about "
            f"{percent(floor, agreed.pairs)} cannot be measured."
        )


def _price(made: Calibration) -> Iterator[str]:
    rule, costs = made.rule, made.goal.costs
    if isinstance(rule, TwoCutoffs) and rule.abstains:
        return
    counts = made.accept_cutoff.counts
    missed = _of(counts.false_rejects, counts.accepts, "good answers", "turned away")
    passed = _of(counts.false_accepts, counts.rejects, "wrong answers", "let through")
    if costs is not None:
        n = counts.accepts + counts.rejects
        good = counts.accepts / n if costs.base_rate is None else costs.base_rate
        wrong = (1 - good) * counts.false_accepts / counts.rejects if counts.rejects else 0.0
        lost = good * counts.false_rejects / counts.accepts if counts.accepts else 0.0
        here = costs.false_accept * wrong + costs.false_reject * lost
        yield (
            f"Price: accepting all would cost {costs.false_accept * (1 - good):.3g} per answer, "
            f"rejecting all {costs.false_reject * good:.3g}, this cutoff {here:.3g}."
        )
        yield f"  {missed[0].upper()}{missed[1:]}; {passed}."
    elif made.goal.promises:
        one = isinstance(rule, TwoCutoffs)
        both = f"{missed}; {passed}"
        yield f"Price: {both if one else passed if made.goal.max_far is None else missed}."
    else:
        yield f"Price: {missed}; {passed}."


def _of(count: int, n: int, what: str, done: str) -> str:
    """Return ``about 8 in 10 good answers are turned away: 76 of 91``."""
    if not n:
        return f"no {what} were labelled"
    share = about(count, n)
    if count in {0, n}:
        return f"{share} of the {n:,} {what} are {done}"
    return f"{share} {what} {'is' if ' 1 in ' in share else 'are'} {done}: {count:,} of {n:,}"


def _worry(made: Calibration) -> str:
    """Return the one thing to know first, in one line."""
    start = "Biggest worry:"
    if noisy(made):
        return f"{start} {CAUTIONS['W9'].what}, more often than the promise has room for."
    codes = {caution.code for caution in made.cautions}
    accepted = details.accepted_wrong(made)
    if "W12" not in codes and accepted is not None and (accepted.share or 0.0) >= MANY_WRONG:
        n = accepted.accepts + accepted.rejects
        share = one_in(accepted.share)
        verb = "is" if share.startswith("1 in ") else "are"
        return (
            f"{start} of the accepted answers about {share} {verb} wrong, if "
            f"{percent(accepted.base_rate, n)} of your answers are good."
        )
    broken = labels.worst_part(made.slices)
    for code in WORST_FIRST:
        if code == "W2" and broken is not None:
            return f"{start} the promise seems broken for {broken}."
        if code in codes:
            return f"{start} {CAUTIONS[code].what} ({code})."
    return (
        f"{start} whether your labels are a random sample of the answers to come; nothing else "
        "stands out."
    )


__all__ = ["lines"]
