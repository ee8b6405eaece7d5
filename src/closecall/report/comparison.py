"""A comparison of two cutoffs or two models in words: the verdict first, then the counts."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.calibration.comparing.paired import Flips
from closecall.calibration.figures import MANY, limit, percent, share_of
from closecall.calibration.records import Interval
from closecall.report.words import BLIND, plural
from closecall.runs.compared import Candidate, Compared

LEAST_P = 1e-4
"""Smaller ones are not told apart: their size depends on the last answer counted."""

REASONS = 3


def lines(found: Compared) -> list[str]:
    """Return the report, one statement a line; lines that begin with two spaces belong above."""
    return [
        *_verdict(found),
        *_cautions(found),
        *_compared(found),
        *_promise(found),
        *_counts(found),
        *_ranking(found),
        *_left_out(found),
        BLIND,
    ]


def _verdict(found: Compared) -> Iterator[str]:
    made = found.comparison
    winner = {"A": made.a, "B": made.b}.get(made.verdict)
    if winner:
        letter = "" if winner == made.verdict else f" ({made.verdict})"
        yield f"Better: {winner}{letter}."
    else:
        yield "Neither can be called better."
    yield f"  {_sentence(found)}"
    for count, word in ((made.rejects, "wrong"), (made.accepts, "good")):
        if not count:
            yield f"  No answer is labelled {word}, so how the two decide such ones is not known."
    if winner is None:
        yield from _trade(found)


def _sentence(found: Compared) -> str:
    """Return the reason as a sentence, with options where it names parameters."""
    made = found.comparison
    why = made.why.replace("max_far=", "--max-far ")
    # A name keeps its spelling.
    return f"{why if why.startswith((made.a, made.b)) else why[:1].upper() + why[1:]}."


def _trade(found: Compared) -> Iterator[str]:
    """Say what one of two gains and what it costs, where one of them is stricter."""
    made = found.comparison
    far, frr = made.false_accepts, made.false_rejects
    if far is None or frr is None or found.goal is not None:
        return
    fewer, more = far.errors_a - far.errors_b, frr.errors_b - frr.errors_a
    if fewer * more > 0:
        yield (
            f"  In all, {made.b if fewer > 0 else made.a} accepts {abs(fewer):,} fewer wrong "
            f"answers and rejects {abs(more):,} more good ones."
        )


def _cautions(found: Compared) -> Iterator[str]:
    n = found.comparison.n
    told = [
        f"{one.known:,} belong to questions that {one.name} was calibrated on"
        for one in (found.a, found.b)
        if one.known
    ]
    if told:
        yield (
            f"Caution: of these {n:,} answers {' and '.join(told)}, where it errs less than "
            "elsewhere. Compare on others."
        )
    if found.picked:
        yield (
            f"Caution: {found.picked:,} of the labels were picked by score, which is hard on the "
            "one whose score it was. --leave-out-active leaves them out."
        )


def _compared(found: Compared) -> Iterator[str]:
    made = found.comparison
    groups = (
        ""
        if made.groups is None
        else f", in {plural(made.groups, 'group')} by {found.grouped_by}, which count as wholes"
    )
    yield (
        f"Both on the same {plural(made.n, 'labelled answer')} of {found.data}: "
        f"{made.rejects:,} wrong (rejects), {made.accepts:,} good (accepts){groups}."
    )
    yield f"  {_described('A', found.a)}"
    yield f"  {_described('B', found.b)}"


def _described(letter: str, one: Candidate) -> str:
    """Return what a candidate is, apart from what its name says already."""
    name = letter if one.name == letter else f"{letter}, {one.name}"
    parts = ((one.metric, one.metric), (one.model, f"with {one.model}"))
    rest = " ".join(said for known, said in parts if known not in one.name)
    return ": ".join(filter(None, (name, "; ".join(filter(None, (rest, one.words))))))


def _promise(found: Compared) -> Iterator[str]:
    made = found.comparison
    gain, kept, let_in = made.acceptance, made.false_rejects, made.false_accepts
    if gain is None or kept is None or let_in is None:
        return
    unit = "" if gain.groups is None else ", one drawn from each group,"
    may = f"{gain.allowed:,} of {gain.backing:,}{unit} may be"
    yield (
        f"Each at its own cutoff for at most {limit(gain.max_far)} of wrong answers accepted "
        f"({gain.guarantee}: {may}):"
    )
    for name, rate in ((made.a, gain.tar_a), (made.b, gain.tar_b)):
        yield f"  {name} accepts {rate.count:,} of {rate.n:,} good answers = {share_of(rate)}"
    # What one rejects alone, the other accepts alone.
    alone = (made.a, kept.only_b), (made.b, kept.only_a)
    yield from _apart(kept, alone, "accepts", "with these very cutoffs, ")
    yield (
        f"  Wrong answers accepted, of {let_in.n:,}: {let_in.errors_a:,} by {made.a}, "
        f"{let_in.errors_b:,} by {made.b}; the cutoffs were put where few pass, so this tells "
        "nothing."
    )
    if gain.interval is not None:
        ahead, low, high = _ahead(found, gain.difference, gain.interval)
        either = ", so either may be the better one" if low <= 0 else ""
        yield (
            "  Other labels would give other cutoffs: over "
            f"{gain.resamples:,} draws of these answers (seed {gain.seed}), each with cutoffs of "
            f"its own, the middle {100 * gain.interval.level:.6g}% put {ahead} "
            f"{_points(low, made.n)} to {_points(high, made.n)} points ahead{either}."
        )


def _ahead(found: Compared, difference: float, interval: Interval) -> tuple[str, float, float]:
    """Return which of the two is ahead, and by how much at least and at most."""
    if difference < 0:
        return found.a.name, -interval.high, -interval.low
    return found.b.name, interval.low, interval.high


def _counts(found: Compared) -> Iterator[str]:
    made = found.comparison
    if made.acceptance is not None:
        return
    for what, done, flips in (
        ("Wrong answers accepted (false accepts)", "accepts", made.false_accepts),
        ("Good answers rejected (false rejects)", "rejects", made.false_rejects),
        ("Left to a person (unsure)", "leaves", made.unsure),
    ):
        if flips is not None:
            yield (
                f"{what}, of {flips.n:,}: {flips.errors_a:,} by {made.a}, {flips.errors_b:,} by "
                f"{made.b}."
            )
            alone = (made.a, flips.only_a), (made.b, flips.only_b)
            yield from _apart(flips, alone, done)


def _apart(
    flips: Flips, alone: tuple[tuple[str, int], tuple[str, int]], done: str, given: str = ""
) -> Iterator[str]:
    """Say which answers tell the two apart, and how often chance alone would."""
    if not flips.discordant:
        if flips.errors_a:
            yield "  The same ones by both."
        return
    (a, only_a), (b, only_b) = alone
    said = f"  {a} alone {done} {only_a:,}, {b} alone {only_b:,}"
    if flips.p is None:
        yield f"{said}; {flips.method}."
        return
    by = "" if flips.groups is None else f" over {plural(flips.groups, 'group')}"
    yield f"{said}: {given}{_chance(flips.p, by)}."


def _chance(p: float, by: str) -> str:
    if p == 1:
        return f"as even a split{by} as can be"
    often = (
        "less than once in 10,000 times (p < 0.0001)"
        if p < LEAST_P
        else f"{percent(p, 1)} of the time (p = {p:.2g})"
    )
    return f"if the two were alike, so uneven a split{by} would come up {often}"


def _ranking(found: Compared) -> Iterator[str]:
    auc = found.comparison.auc
    if found.same_score:
        yield "Both cut the same score, so they rank the answers alike; only the cutoffs differ."
    elif auc is not None:
        n = auc.n_accepts + auc.n_rejects
        lead = ""
        if auc.interval is not None:
            ahead, low, high = _ahead(found, auc.difference, auc.interval)
            apart = _points(abs(auc.difference), n)
            who = f"{ahead} is {apart} points ahead" if float(apart) else "neither is ahead"
            lead = (
                f"; {who} "
                f"({100 * auc.interval.level:.6g}% interval {_points(low, n)} to "
                f"{_points(high, n)})"
            )
        yield (
            "Order alone, whatever the cutoff: a good answer scores above a wrong one in "
            f"{percent(auc.auc_a, n)} of pairs by {found.a.name}, {percent(auc.auc_b, n)} by "
            f"{found.b.name}{lead}. This decides nothing."
        )


def _points(share: float, n: int) -> str:
    """Return percentage points with the digits that so many rows support."""
    points = 100 * share
    text = f"{points:.{0 if abs(points) >= 10 and n < MANY else 1}f}"  # noqa: PLR2004 - two digits
    return text if float(text) else text.removeprefix("-")


def _left_out(found: Compared) -> Iterator[str]:
    out = found.left_out
    parts = [
        (out.unreadable, "that cannot be read"),
        (out.unlabelled, "without a label"),
        (out.picked, "picked by score"),
        (out.unmeasured, "labelled, but not measured by both"),
        (out.merged, "the same item labelled again"),
        (out.conflicts, "of items labelled both ways"),
    ]
    said = [f"{count:,} {what}" for count, what in parts if count]
    if said:
        yield f"Left out of {plural(found.rows, 'row')}: {', '.join(said)}."
    yield from (f"  {problem}" for problem in out.problems[:REASONS])
    for one in (found.a, found.b):
        reasons = sorted(one.unmeasured.items(), key=lambda item: -item[1])[:REASONS]
        yield from (f"  not measured by {one.name}, {n:,}: {reason}" for reason, n in reasons)
