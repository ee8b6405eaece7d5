"""Adding up cases that were measured elsewhere, exactly as the run that measures them would."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from closecall.embedders.base import Usage
from closecall.errors import RunFolderError
from closecall.runs import sinks
from closecall.runs.beside import first_run, grouped, looks_beside, note_beside
from closecall.runs.gate_lines import Decided, Deciding, Noting, decision_lines
from closecall.runs.header import RunHeader
from closecall.runs.parts.stored import Kept
from closecall.runs.prices import Price, Prices
from closecall.runs.record import Answers, Run
from closecall.runs.results import CaseResult
from closecall.runs.spending import Spending, Spent
from closecall.runs.summary import RunTally
from closecall.runs.values import now_utc
from closecall.runs.wire import Document

if TYPE_CHECKING:
    from closecall.runs.monitor import Monitor, Watched


class Totals(NamedTuple):
    """What providers reported and what was spent; each None where there was nothing."""

    usage: Usage | None = None
    answered: Answers | None = None
    spending: Spending | None = None


def total_of(every: Sequence[Totals]) -> Totals:
    """Return the sums over parts of one run."""
    return Totals(
        _usage([one.usage for one in every if one.usage is not None]),
        _answers([one.answered for one in every if one.answered is not None]),
        _spending([one.spending for one in every if one.spending is not None]),
    )


def since(before: Totals, now: Totals) -> Totals:
    """Return what was added between two looks at one process; answers are counted anew each time.

    A process that asked no provider has nothing at both.
    """
    usage, spending = now.usage, now.spending
    if usage is not None and before.usage is not None:
        usage = type(usage)(*(b - a for a, b in zip(before.usage, usage, strict=True)))
    if spending is not None and before.spending is not None:
        old = {(one.role, one.name): one for one in before.spending.spent}
        left = [_less(one, old.get((one.role, one.name))) for one in spending.spent]
        spending = msgspec.structs.replace(
            spending, spent=tuple(one for one in left if one.anything)
        )
    return Totals(usage, now.answered, spending)


def _less(one: Spent, before: Spent | None) -> Spent:
    if before is None:
        return one
    return one.plus(**{name: -getattr(before, name) for name in _counts_of(one)})


def _counts_of(one: Spent) -> list[str]:
    return [name for name in one.__struct_fields__ if isinstance(getattr(one, name), int)]


def _usage(every: Sequence[Usage]) -> Usage | None:
    if not every:
        return None
    return type(every[0])(*map(sum, zip(*every, strict=True)))


def _answers(every: Sequence[Answers]) -> Answers | None:
    if not every:
        return None
    sums: dict[str, int | None] = {}
    for name in Answers.__struct_fields__:
        told = [getattr(one, name) for one in every if getattr(one, name) is not None]
        sums[name] = sum(told) if told else None
    return Answers(**sums)  # type: ignore[arg-type] # those that may not be None never are


def _spending(every: Sequence[Spending]) -> Spending | None:
    if len(every) < 2:  # noqa: PLR2004
        return every[0] if every else None
    found: dict[tuple[str, str, str], Spent] = {}
    for one in (line for spending in every for line in spending.spent):
        key = (one.role, one.provider, one.model)
        counts = {name: getattr(one, name) for name in _counts_of(one)}
        before = found.get(key, Spent(role=one.role, provider=one.provider, model=one.model))
        found[key] = before.plus(**counts)
    spent = tuple(found.values())
    # A budget is what one process may spend, and says nothing of several.
    return Spending(spent=spent, prices=_agreed([one.prices for one in every], spent))


def _agreed(every: Sequence[Prices], spent: Sequence[Spent]) -> Prices:
    """Return the prices of these models that all were told alike; a sum at two has no cost."""
    first = every[0]
    if all(one == first for one in every):
        return first
    if any(one.currency != first.currency for one in every):
        return Prices()
    kept = {}
    for one in spent:
        told = [prices.of(one.provider, one.model) for prices in every]
        price = told[0]
        if price is not None and all(_same_price(price, other) for other in told):
            name = f"{one.provider}:{one.model}"
            kept[name] = msgspec.structs.replace(price, model=name)
    return Prices(currency=first.currency, prices=tuple(kept.values()))


def _same_price(one: Price, other: Price | None) -> bool:
    return other is not None and (one.input, one.output) == (other.input, other.output)


class Counted(NamedTuple):
    """A run as it was counted, and what its folder says of that."""

    run: Run
    summary: Document
    gates: list[Document]


class Ended(NamedTuple):
    """What a run found at its end and cannot be counted again: a copy of it keeps that.

    Of texts and metadata a folder keeps a part, so neither what was watched nor which gates a
    case is about follows from it.
    """

    watched: tuple[Watched, ...]
    lines: list[Document]
    decided: Decided


class Recount:
    """Counts the cases of a run as they are read, in order.

    Parameters
    ----------
    header
        Of the whole run.
    monitor
        Watches for its calibrations; its cases have what it needs beside them.
    watch
        Decides the gates; see ``runs.work.Watch``.
    ended
        Of a run that is copied as it ended: what it found, and the gates it decided by.
    """

    def __init__(
        self,
        header: RunHeader,
        monitor: Monitor | None = None,
        watch: Callable[[RunHeader], Callable[[list[CaseResult]], None]] | None = None,
        ended: Ended | None = None,
    ) -> None:
        self.header, self._monitor, self._ended = header, monitor, ended
        decided = ended is not None and ended.decided.code is not None
        self._watch = None if watch is None or decided else watch(header)
        self._tally = RunTally.of(header)

    def add(self, kept: Kept) -> None:
        """Count the next case."""
        row = grouped(kept.row, kept.record.beside)
        self._tally.add([row])
        try:
            self._look(row, kept.record.beside)
        except (ValueError, msgspec.ValidationError) as error:
            raise RunFolderError(
                f"case {row.case.id!r}: what was noted of it cannot be read: {error}"
            ) from error

    def _look(self, row: CaseResult, beside: Mapping[str, Any]) -> None:
        if isinstance(self._watch, Noting):
            self._watch.take(row, note_beside(beside))
        elif self._watch is not None:
            self._watch([row])
        if self._monitor is not None:
            self._monitor.take(first_run(row), looks_beside(beside))

    def add_all(self, cases: Iterable[Kept]) -> None:
        """Count these cases."""
        for kept in cases:
            self.add(kept)

    def finish(self, totals: Totals) -> Counted:
        """Return the run as it ended: counts, what the monitor found, gates, exit code."""
        watched = () if self._monitor is None else self._monitor.finish()
        if self._ended is not None:
            watched = self._ended.watched
        tally = self._tally
        run = Run(
            header=self.header,
            metrics=tally.summaries(),
            cases=tally.counts(self.header.dataset.bad_rows),
            watched=watched,
            cascade=tally.cascade(),
            repeats=tally.repeats(),
            usage=totals.usage,
            answered=totals.answered,
            spending=totals.spending,
        )
        lines = None
        if isinstance(self._watch, Deciding):
            run = self._watch.decide(run)
        elif self._ended is not None:
            lines, found = self._ended.lines, self._ended.decided
            run = dataclasses.replace(run, gates=found.results, gates_code=found.code)
        summary = sinks.summary_json(
            self.header,
            tally.metrics,
            watched,
            totals.usage,
            totals.answered,
            repeats=tally.repeats(),
            spending=totals.spending,
        )
        if lines is None:
            lines = decision_lines(run.gates, run.gates_code, now_utc())
        return Counted(run, summary, lines)
