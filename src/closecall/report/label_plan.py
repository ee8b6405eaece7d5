"""A plan of labels in words: what they take, what those at hand can back, what to label next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING, Decimal

from closecall.calibration.evidence.locked import FEWEST_REJECTS, FEWEST_ROWS
from closecall.calibration.figures import at_most, count_of, limit
from closecall.calibration.goals import promise_words
from closecall.calibration.labels.label_stock import Stock
from closecall.calibration.labels.labelling import Batch
from closecall.calibration.labels.planning import (
    ENOUGH,
    SURE,
    LabelPlan,
    PromisePlan,
    average_exceeded,
)
from closecall.calibration.refusals import FEWEST
from closecall.report.words import plural, visible

SHOWN = 10
"""Ids of a batch that are printed; the others are counted."""

WORTH_ASKING = 0.5
"""A limit above this promises nothing that anybody would rely on."""

LOOKS = (
    "A cutoff that you have seen is a look. A refusal for too few labels is none: it counts "
    "labels and looks at no score. So add labels until there are enough, and calibrate once; to "
    "see a cutoff for more than one limit, or again after more labels, say beforehand how "
    "many in all with --looks."
)

_LABELS = {"false_accepts": "reject", "false_rejects": "accept"}
_ANSWERS = {"false_accepts": "wrong answer", "false_rejects": "good answer"}
_DONE = {"false_accepts": "accepted", "false_rejects": "rejected"}
_OPTIONS = {"false_accepts": "max_far", "false_rejects": "max_frr"}


def wrapped(line: str, width: int) -> str:
    """Return a line of a plan wrapped, what follows its first row set in; commands stay whole."""
    text = visible(line)
    inner = text.lstrip(" ")
    if len(text) <= width or inner.startswith("closecall "):
        return text
    indent = " " * (len(text) - len(inner))
    return textwrap.fill(
        inner,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def needs(plan: LabelPlan) -> list[str]:
    """Return what the promises take, with no labels at hand."""
    said = [f"To promise that {_promised(plan)}, it takes labels of"]
    for promise in plan.promises:
        said.extend(_needed(promise, plan))
    said.append(
        f"They must be of answers picked at random from those the cutoff will meet. {LOOKS}"
    )
    if plan.reject_rate is None:
        said.append(
            "How many answers that takes in all depends on how many of them are wrong: "
            "--reject-rate 0.2 says a fifth."
        )
    said.append("Labels already? closecall plan FILE says what they can back and what to add.")
    return said


def standing(plan: LabelPlan, stock: Stock, name: str) -> list[str]:
    """Return what the labels of a file can back, and how many more it takes."""
    return [
        *_counted(stock, name),
        *_opening(plan),
        *_lacking(plan),
        "In detail:",
        *(f"  {line}" for line in _detail(plan, stock)),
    ]


def batch_lines(batch: Batch, unmeasured: int = 0, labelled: int = 0) -> list[str]:
    """Return which cases to label next; nothing where none is left.

    ``unmeasured`` cases had no score and are in no stratum; ``labelled`` of the picks carry a
    label already.
    """
    drawn = len(batch.picks)
    if not drawn:
        return []
    if batch.kind == "certify":
        among = plural(batch.pool, "case")
        if batch.groups is not None:
            among += f", each from another of {plural(batch.groups, 'group')},"
        how = "drawn at random"
    else:
        among = f"{plural(batch.pool, 'case')} without a label,"
        how = "drawn by score"
    said = [
        f"Label next, {batch.kind} batch: {drawn:,} of {among} {how} (seed {batch.seed}):",
        f"  {_some([pick.id for pick in batch.picks])}",
    ]
    if drawn < batch.asked:
        why = "cases" if batch.groups is None else "groups, and a batch takes one case of each"
        said.append(f"  {batch.asked:,} were wanted; there are no more {why}.")
    if batch.again:
        said.append(
            f"  Of groups that have a label: {batch.again:,}. One reject of a group counts, so "
            "they add less than labels of other groups would."
        )
    if labelled:
        said.append(
            f"  Labelled already, from a draw by score: {labelled:,}. Drawn at random now, their "
            "labels count."
        )
    if unmeasured:
        said.append(f"  {plural(unmeasured, 'case')} without a score could not be drawn.")
    for stratum in batch.strata:
        side = "above" if stratum.above else "below"
        said.append(
            f"  scores {stratum.low:.6g} to {stratum.high:.6g}, {side} the cutoff: "
            f"{stratum.drawn:,} of {stratum.size:,}"
        )
    if batch.kind == "improve":
        said.append(
            "  These labels do not count for a promise: they are picked by score, which the "
            "column sampling says (active). With their inclusion probabilities they sharpen an "
            "estimate of the false-accept rate at this cutoff."
        )
    return said


def _promised(plan: LabelPlan) -> str:
    said = " and ".join(
        promise_words(promise.limit, _OPTIONS[promise.errors]) for promise in plan.promises
    )
    both = ", both together" if len(plan.promises) > 1 else ""
    return f"{said}{both}, {_sure(plan)}"


def _sure(plan: LabelPlan) -> str:
    """Return how sure, with no more digits than tell it from certainty, and rounded down."""
    # Of the complement, so that 0.99996 is not 100%; and without the last float digits.
    left = 100 - 100 * Decimal(f"{plan.confidence:.12g}")
    rounded = left.quantize(Decimal(1).scaleb(left.adjusted() - 1), rounding=ROUND_CEILING)
    looks = f" over {plan.looks} looks" if plan.looks > 1 else ""
    return f"at confidence {(100 - rounded).normalize():f}%{looks}"


def _needed(promise: PromisePlan, plan: LabelPlan) -> Iterator[str]:
    word, done = _ANSWERS[promise.errors], _DONE[promise.errors]
    for need in promise.needs:
        allowed = f"at most {need.errors:,}" if need.errors else "none"
        total = ""
        if need.drawn is not None and need.drawn_surely is not None:
            total = f"; about {need.drawn:,} labels picked at random"
            if not need.errors:
                total += f" ({need.drawn_surely:,} to be {SURE:.0%} sure of enough)"
        yield f"  {plural(need.labels, word)}, {allowed} of them {done}{total}"
    if plan.reject_rate is not None:
        yield f"  (with {limit(plan.reject_rate)} of answers wrong)"
    yield f"  {_aims(promise)}"
    yield (
        f"  To keep {limit(promise.limit)} on average only, {plural(promise.average, word)} will "
        f"do (--guarantee average): up to {_exceeded(promise.average, promise.limit)} of cutoffs "
        "from so few exceed it."
    )


def _aims(promise: PromisePlan) -> str:
    rate, units = limit(promise.aims[0].true_rate), _units(promise)
    chances = ", ".join(f"{100 * aim.power:g}% from {aim.labels:,}" for aim in promise.aims)
    return (
        f"A cutoff by which in truth {rate} of {_ANSWERS[promise.errors]}s are "
        f"{_DONE[promise.errors]} passes this test with a probability of {chances} {units} on."
    )


def _exceeded(labels: int, share: float) -> str:
    return at_most(average_exceeded(labels, share))


def _counted(stock: Stock, name: str) -> Iterator[str]:
    have = stock.have
    groups = (
        ""
        if have.reject_groups is None
        else f"; {plural(have.reject_groups, 'group')} by {stock.grouped_by} hold a reject, "
        f"{have.accept_groups:,} an accept"
    )
    yield (
        f"{name}: {plural(stock.rows, 'row')}, {plural(have.accepts + have.rejects, 'label')} to "
        f"count on: {plural(have.rejects, 'reject')} (wrong answers) and "
        f"{plural(have.accepts, 'accept')} (good ones){groups}."
    )
    left = [
        (stock.repeated, "the same item again"),
        (stock.conflicts, "labelled both ways"),
        (stock.active, "picked by score (sampling: active)"),
    ]
    said = [f"{count:,} {what}" for count, what in left if count]
    if said:
        yield f"  Not counted: {', '.join(said)}."


def _opening(plan: LabelPlan) -> Iterator[str]:
    """Say what can be promised with the labels there are, and what cannot."""
    have = plan.have
    labels = 0 if have is None else have.accepts + have.rejects
    if have is None or not labels:
        yield "Without a label nothing can be promised."
        return
    these = "this label" if labels == 1 else f"these {plural(labels, 'label')}"
    if not plan.decidable:
        scarce = [
            plural(n, word)
            for n, word in ((have.rejects, "reject"), (have.accepts, "accept"))
            if n < FEWEST
        ]
        count = 0 if len(scarce) > 1 else min(have.rejects, have.accepts)
        yield (
            f"With {these} no cutoff of any kind can be chosen: that takes {FEWEST} rejects and "
            f"{FEWEST} accepts, and here {_be(count)} {' and '.join(scarce)}."
        )
        return
    kept = [(promise, _kept(promise)) for promise in plan.promises]
    can = " and ".join(
        f'"{promise_words(float(share), _OPTIONS[promise.errors])}"{_typed(promise, share)}'
        for promise, share in kept
        if share is not None
    )
    if can:
        yield (
            f"With {these} you can promise {can}, {_sure(plan)}. How many good answers pass such "
            "a cutoff only the scores can tell; where rejects have the highest, there is none."
        )
    for promise, share in kept:
        n, units, done = promise.have or 0, _units(promise), _DONE[promise.errors]
        if promise.allowed is not None:
            allowed = f"at most {promise.allowed:,}" if promise.allowed else "none"
            yield f"  The cutoff is then one by which {allowed} of the {n:,} {units} are {done}."
        else:
            nothing = "" if share else f" With {these} no limit worth asking can be promised."
            yield (
                f"{nothing.lstrip()}{' ' if nothing else ''}You cannot promise "
                f"{limit(promise.limit)}: that takes {promise.needs[0].labels:,} {units} even if "
                f"none of them is {done}; here {_be(n)} {n:,}."
            )


def _kept(promise: PromisePlan) -> str | None:
    """Return the limit that the labels can back: the one asked, else the smallest, rounded up."""
    if promise.allowed is not None:
        return f"{promise.limit:.10g}"
    if promise.best_limit is None or promise.best_limit > WORTH_ASKING:
        return None
    return up(promise.best_limit)


def _typed(promise: PromisePlan, share: str) -> str:
    if promise.allowed is not None:
        return ""
    return f" (--{_OPTIONS[promise.errors].replace('_', '-')} {share})"


def _lacking(plan: LabelPlan) -> Iterator[str]:
    """Say how many more labels it takes, and what they would buy."""
    grouped = {_LABELS[found.errors] for found in plan.promises if found.per == "group"}
    missing = " and ".join(
        f"{plural(count, f'more {word}')}{', each of another group,' if word in grouped else ''}"
        for count, word in ((plan.more_rejects, "reject"), (plan.more_accepts, "accept"))
        if count
    )
    if missing:
        yield from _drawn(plan, missing)
        for promise in plan.promises:
            strict, second = promise.needs[0], promise.needs[1]
            if strict.more:
                yield (
                    f"The cutoff will then be strict: of {strict.labels:,} {_units(promise)} none "
                    f"may be {_DONE[promise.errors]}, of {second.labels:,} only one."
                )
    if plan.enough:
        rates = " and ".join(
            f"{limit(found.limit / 2)} of {_ANSWERS[found.errors]}s {_DONE[found.errors]}"
            for found in plan.promises
        )
        more = " more" if plan.have and plan.have.accepts + plan.have.rejects else ""
        yield (
            f"For a less strict cutoff, label about {plan.enough:,} answers{more}, picked at "
            f"random: one with {rates} in truth then passes with a probability of "
            f"{100 * ENOUGH:g}%."
        )


def _drawn(plan: LabelPlan, missing: str) -> Iterator[str]:
    seen = plan.observed_rejects
    if plan.drawn is None or plan.drawn_surely is None:
        yield (
            f"To be able to promise that {_promised(plan)}, it takes "
            f"{missing.removesuffix(',')}. How many answers to label for that cannot be "
            "told: say with --reject-rate what share of them is wrong."
        )
        return
    if plan.reject_rate is not None:
        share = f"as {limit(plan.reject_rate)} of answers are wrong"
    else:
        share = f"as {count_of(seen)} of these labels are rejects" if seen is not None else ""
    more = "more answers" if plan.have and plan.have.accepts + plan.have.rejects else "answers"
    yield (
        f"To be able to promise that {_promised(plan)}, label {plan.drawn_surely:,} {more} picked "
        f"at random: that is {SURE:.0%} sure to bring {missing.removesuffix(',')}, {share}; "
        f"{plan.drawn:,} would on average."
    )


def _detail(plan: LabelPlan, stock: Stock) -> Iterator[str]:
    have = stock.have
    for promise in plan.promises:
        yield from _reach(promise, decidable=bool(plan.decidable))
    yield from (_aims(promise) for promise in plan.promises)
    if stock.facts.unstated:
        yield (
            f"Nothing says how {plural(stock.facts.unstated, 'label')} came about (column "
            "sampling). This counts them as picked at random; if they were not, nothing can be "
            "promised from them."
        )
    if have.accepts + have.rejects >= FEWEST_ROWS and have.rejects >= FEWEST_REJECTS:
        yield (
            "This counts every label; calibrate sets a third of so many aside to test the cutoff, "
            "unless told --no-lock."
        )
    yield LOOKS


def _reach(promise: PromisePlan, *, decidable: bool) -> Iterator[str]:
    if not decidable:
        return
    done, units, n = _DONE[promise.errors], _units(promise), promise.have or 0
    if promise.backings is not None:
        can = [at for at in promise.backings if at.allowed is not None]
        cannot = [at for at in promise.backings if at.allowed is None]
        said = ", ".join(f"{at.allowed:,} for {limit(at.limit)}" for at in can)
        if can:
            yield f"Of {n:,} {units}, so many at most may be {done} to promise a limit: {said}."
        if cannot:
            yield f"Too few for: {', '.join(limit(at.limit) for at in cannot)}."
    if promise.allowed is not None and promise.best_limit is not None:
        option, share = _OPTIONS[promise.errors].replace("_", "-"), up(promise.best_limit)
        yield (
            f"The smallest limit that {n:,} {units} can back is {limit(float(share))}, with none "
            f"{done} (--{option} {share})."
        )
    if promise.allowed is None and n >= promise.average:
        yield (
            f"On average only, {limit(promise.limit)} can be kept (--guarantee average): up to "
            f"{_exceeded(n, promise.limit)} of cutoffs from {n:,} {units} exceed it."
        )


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def _units(promise: PromisePlan) -> str:
    word = _LABELS[promise.errors]
    return f"groups with a {word}" if promise.per == "group" else f"{word}s"


def _some(ids: Iterable[str]) -> str:
    named = list(ids)
    more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
    return f"{', '.join(named[:SHOWN])}{more}"


def up(share: float) -> str:
    """Return a share to three significant digits, never below it, so that asking for it works.

    >>> up(0.15332), up(0.0295), up(0.9996)
    ('0.154', '0.0295', '0.9996')
    """
    exact = Decimal(repr(share))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), rounding=ROUND_CEILING)
    return f"{rounded.normalize():f}" if rounded < 1 else repr(share)
