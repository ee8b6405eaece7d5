"""A block of cases evaluated on its own, by whichever process, and written as its part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from closecall.bulk.counting import Totals, since
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import RunFolderError
from closecall.records import Case
from closecall.runs.grouping import GroupNames
from closecall.runs.header import RunHeader
from closecall.runs.parts.ranges import Part
from closecall.runs.parts.writing import NO_END, PartWriter
from closecall.runs.preparing import Chosen, Decided, monitor_of
from closecall.runs.results import CaseResult
from closecall.runs.work import Work
from closecall.storage import Store

if TYPE_CHECKING:
    from closecall.cache.vectors import VectorCache
    from closecall.runs.nearest import NearestLabelled


class Block(NamedTuple):
    """A part that is there, and what it took; ``totals`` is empty where it was there before."""

    part: Part
    totals: Totals
    written: bool


class BlockWorker:
    """Evaluates blocks of one run, one after the other, with one embedder.

    Parameters
    ----------
    chosen
        What the run measures with (``runs.preparing.choose``), made in this process from the same
        arguments as the run's.
    decided
        What decides (``chosen.decided``).
    header
        Of the run, as its run.json has it.
    cache
        An open vector cache, or None.
    nearest
        Puts labelled cases beside unsure ones, where the run has that.
    notes
        The gates of the run, which note what a case has to do with them
        (``gates.deciding.LaterGates(gates, header)``); None where it has none.
    names
        Of the groups of the whole data set, which a run without content needs.

    Raises
    ------
    RunFolderError
        This process measures with something else than the run does.
    """

    def __init__(
        self,
        chosen: Chosen,
        decided: Decided,
        header: RunHeader,
        *,
        cache: VectorCache | None = None,
        nearest: NearestLabelled | None = None,
        notes: Callable[[list[CaseResult]], None] | None = None,
        names: GroupNames | None = None,
    ) -> None:
        digest = chosen.definition_digest(header.dataset.digest, decided)
        if digest != header.definition_digest:
            raise RunFolderError(
                f"run {header.run_id}: this process would measure with something else: the "
                f"question is {digest[:12]} here and {header.definition_digest[:12]} in the run. "
                "Give every worker the same version of closecall, model and calibrations"
            )
        self._header = header
        monitor = monitor_of(
            chosen.made, decided.plans, cascade=header.cascade, texts=header.content
        )
        self._work = Work(
            header,
            chosen.metrics,
            CachedEmbedder(chosen.embedder, cache),
            progress=None,
            monitor=monitor,
            guards=chosen.guards,
            subject=chosen.subject,
            nearest=nearest,
            watch=notes,
            names=names,
        )
        self._work.prepare()

    def evaluate(self, cases: Iterable[Case], store: Store, first: int, stop: int) -> Block:
        """Measure and decide the cases at positions ``first`` up to ``stop``; write their part.

        A part that is there already is left, and nothing is measured. Killed half-way, nothing is
        written. Memory holds the one part.

        Parameters
        ----------
        cases
            Those at these positions, in order (``Dataset.between``).

        Raises
        ------
        RunFolderError
            There are fewer cases.
        StorageError
            The part cannot be written.
        """
        part = Part(first, stop)
        if store.exists(part.name):
            return Block(part, Totals(), written=False)
        writer = PartWriter(store, self._header, first, NO_END)
        before = self._totals()
        for rows in self._work.rows_of(islice(cases, stop - first)):
            writer.add(self._work.as_kept(rows), [self._work.beside(row) for row in rows])
        if writer.position != stop:
            raise RunFolderError(
                f"there are only {writer.position - first} cases from position {first} on, not "
                f"{stop - first}"
            )
        writer.flush()
        return Block(part, since(before, self._totals()), written=True)

    def _totals(self) -> Totals:
        work = self._work
        return Totals(work.embedder.usage, work.answered(), work.spender.spending)


def evaluate_block(  # noqa: PLR0917 - as a worker is called
    chosen: Chosen,
    decided: Decided,
    header: RunHeader,
    cases: Iterable[Case],
    store: Store,
    first: int,
    stop: int,
    *,
    names: GroupNames | None = None,
) -> Block:
    """Evaluate one block with a worker made for it; see ``BlockWorker``."""
    return BlockWorker(chosen, decided, header, names=names).evaluate(cases, store, first, stop)
