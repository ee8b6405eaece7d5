"""A stress test in the terminal: which wrong answers get through, which right ones do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from closecall.calibration.figures import percent, plain, span
from closecall.metrics.cutoffs import shown
from closecall.report.words import number, plural, shorten, visible
from closecall.report.worst import decimals
from closecall.report.wrapped import columns, wrapped
from closecall.stress.results import Example, FamilyResult, MetricStress, StressResult

HALF = 0.5
"""From this share of a family on the report calls a score blind to it."""
TENTH = 0.1
"""From this share of a harmless family on the report says that it is turned away."""
PIECE = 28
"""Characters shown of what an edit changed."""

MADE_UP = (
    "These answers were made up by rules. Their rates are those of this kind of error, not of the "
    "answers to come: choose no cutoff by them, and label real answers for a promise."
)
GUARDED = (
    "The edits are found with the same readers as the guards use, so guards look better here than "
    "on real answers."
)
_REASONS = 5


def write(found: StressResult, out: IO[str], width: int | None = None) -> None:
    """Write the report; colours and width follow the terminal, a file gets plain text."""
    from rich.console import Console

    wide = columns(out) if width is None else width
    console = Console(
        file=out,
        force_terminal=None if out.isatty() else False,
        width=wide,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(visible(_title(found)), style="bold", soft_wrap=True)
    _lines(console, _made_from(found), wide, style="dim")
    for metric in found.metrics:
        console.print(f"\n{visible(_heading(metric))}", style="bold", soft_wrap=True)
        for kind in ("wrong", "harmless"):
            families = ordered(metric, kind)
            if families:
                console.print()
                console.print(_table(metric, families, kind))
        _lines(console, [*_absent(metric), *blindness(metric), *_cost(metric)], wide)
    console.print()
    held = any(one.held for metric in found.metrics for one in metric.families)
    notes = [MADE_UP, GUARDED] if held else [MADE_UP]
    _lines(console, notes, wide, style="dim")


def _lines(console, lines: Sequence[str], width: int, style: str | None = None) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - rich is imported lazily
    for line in wrapped(lines, width):
        console.print(line, style=style, soft_wrap=True)


def _title(found: StressResult) -> str:
    made = sum(one.made for one in found.made)
    families = sum(1 for one in found.made if one.made)
    return f"{found.name}: {plural(made, 'edited answer')} in {families} families, {found.model}"


def _made_from(found: StressResult) -> list[str]:
    what = "references" if found.base == "references" else "accepted responses"
    limit = "" if found.most is None else f", at most {found.most:,} of a family"
    made = f"{plural(found.sources, 'case')} in {plural(found.groups, 'group')}"
    lines = [f"Made from the {what} of {made} (seed {found.seed}{limit})."]
    if found.left_out:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in found.left_out.items())
        lines.append(f"Left out of {plural(found.seen, 'row')}: {reasons}.")
    none = [one.family for one in found.made if not one.made]
    if none:
        lines.append(f"Nothing to edit for: {', '.join(none)}.")
    return lines


def _heading(metric: MetricStress) -> str:
    if metric.cutoff is None:
        return f"{metric.metric}: no cutoff, so no verdicts"
    return f"{metric.metric}, cutoff {plain(metric.cutoff)} ({metric.cutoff_note})"


def ordered(metric: MetricStress, kind: str) -> list[FamilyResult]:
    """Return the families of a kind, those with the largest share of errors first."""
    families = [one for one in metric.families if one.kind == kind and one.measured]

    def key(one: FamilyResult) -> tuple[float, float, str]:
        errors = one.by_score if kind == "wrong" else one.rejected
        high = (one.as_high or 0) / one.measured
        return -errors / one.measured, -high if kind == "wrong" else high, one.family

    return sorted(families, key=key)


def _table(metric: MetricStress, families: Sequence[FamilyResult], kind: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - rich is imported lazily
    from rich import box
    from rich.table import Table

    wrong = kind == "wrong"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("wrong answers" if wrong else "harmless edits", no_wrap=True)
    decided = metric.cutoff is not None
    if decided:
        table.add_column("let through" if wrong else "turned away", justify="right", no_wrap=True)
        table.add_column("95% interval", justify="right", no_wrap=True)
        if wrong:
            table.add_column("score alone", justify="right", no_wrap=True)
        table.add_column("unsure", justify="right", no_wrap=True)
    elif wrong:
        table.add_column("as harmless", justify="right", no_wrap=True)
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("for example", overflow="fold")
    for one in families:
        cells = [one.family]
        if decided:
            cells += _decided(one)
        elif wrong:
            cells.append(_count(one.as_high or 0, one.measured))
        cells.append(number(one.median, decimals(metric.high)))
        cells.append(_example(metric, one.example))
        table.add_row(*cells)
    return table


def _decided(one: FamilyResult) -> list[str]:
    interval = "-" if one.rate is None else span(one.rate.interval, one.rate.n)
    alone = [f"{one.by_score:,}"] if one.kind == "wrong" else []
    return [_count(one.errors, one.measured), interval, *alone, f"{one.unsure:,}"]


def _count(count: int, n: int) -> str:
    return f"{count:,} of {n:,} = {percent(count / n, n)}"


def _example(metric: MetricStress, example: Example | None) -> str:
    """Return what was changed, the score it got, and where to find it."""
    if example is None:
        return ""
    value = shown(example.value, metric.cutoff, decimals(metric.high))
    before, after = shorten(example.before, PIECE), shorten(example.after, PIECE)
    changed = before if before == after else f"{before or '(nothing)'} -> {after or '(nothing)'}"
    return f"{visible(changed)}: {value}, {shorten(example.source, 40)}"


def _absent(metric: MetricStress) -> Iterator[str]:
    reasons: dict[str, int] = {}
    for one in metric.families:
        for reason, count in one.absent.items():
            reasons[reason] = reasons.get(reason, 0) + count
    listed = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    for reason, count in listed[:_REASONS]:
        yield f"Not measured, {plural(count, 'answer')}: {shorten(reason, 200)}"
    rest = sum(count for _, count in listed[_REASONS:])
    if rest:
        yield f"Not measured, {plural(rest, 'answer')}: other reasons"


def _cost(metric: MetricStress) -> Iterator[str]:
    cost = metric.cost
    if cost is None:
        return
    line = (
        f"Its cost: {plural(cost.pairs, 'pair')} of {plural(cost.answers, 'answer')} read in "
        f"{cost.seconds:.1f} s, {cost.pairs_per_second:,.0f} pairs a second"
    )
    if cost.ratio is not None:
        line += (
            f"; {cost.ratio:.1f} times as long as {cost.embedder} takes to embed the "
            f"{plural(cost.texts or 0, 'text')} of the same answers"
        )
    yield f"{line}."


def blindness(metric: MetricStress) -> list[str]:
    """Return what a metric does not see, in plain sentences, the counts beside each family."""
    wrong = ordered(metric, "wrong")
    if metric.cutoff is None:
        return [*_as_high(wrong), _NO_CUTOFF.format(metric=metric.metric)]
    missed = [one for one in wrong if one.by_score / one.measured >= HALF]
    lines = []
    if missed:
        named = ", ".join(f"{one.family} ({one.by_score:,} of {one.measured:,})" for one in missed)
        held, through = sum(one.held for one in missed), sum(one.accepted for one in missed)
        guards = (
            f"; guards hold back {held:,} of these and let {through:,} through" if held else ""
        )
        lines.append(f"At this cutoff the score alone accepts at least half of: {named}{guards}.")
    elif wrong:
        lines.append("At this cutoff the score alone accepts less than half of every family.")
    turned = [one for one in ordered(metric, "harmless") if one.rejected / one.measured >= TENTH]
    if turned:
        named = ", ".join(f"{one.family} ({one.rejected:,} of {one.measured:,})" for one in turned)
        lines.append(f"It turns away right answers for their wording: {named}.")
    return lines


_NO_CUTOFF = (
    "Without a cutoff nothing is let through or turned away; for rates give --cutoff "
    "{metric}=VALUE or --calibration FILE."
)


def _as_high(wrong: Sequence[FamilyResult]) -> Iterator[str]:
    missed = [
        one for one in wrong if one.as_high is not None and one.as_high / one.measured >= HALF
    ]
    if missed:
        named = ", ".join(f"{one.family} ({one.as_high:,} of {one.measured:,})" for one in missed)
        yield (
            "A cutoff that keeps nine in ten harmless edits would let through at least half of: "
            f"{named}."
        )
    elif wrong:
        yield (
            "A cutoff that keeps nine in ten harmless edits would let through less than half of "
            "every family."
        )
