"""What a run being done makes of its meter: batch by batch, until a budget ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import BudgetError
from closecall.runs import cutting
from closecall.runs.case_tokens import added
from closecall.runs.meter import Meter
from closecall.runs.results import CaseResult, CaseTokens
from closecall.runs.spending import Spending

if TYPE_CHECKING:
    from closecall.subjects.answered import Answering


class Spender:
    """Keeps the count of one run.

    Parameters
    ----------
    meter
        What counts.
    embedder
        Whose cache saves requests.
    """

    def __init__(self, meter: Meter, embedder: CachedEmbedder) -> None:
        self._meter = meter
        self._embedder = embedder
        self._keep: Callable[[Spending], None] | None = None
        self._refused = 0

    @property
    def most(self) -> int | None:
        """Cases to ask together, None where there is no budget to run out in their midst."""
        return None if self._meter.budget is None else cutting.ASKED_CASES

    @property
    def spending(self) -> Spending | None:
        """What was spent so far; None where nothing was, and nothing saved."""
        self._meter.note(self._embedder.stats.store_hits, self._embedder.usage)
        found = self._meter.spending
        return found if found.spent else None

    @contextmanager
    def kept_in(self, keep: Callable[[Spending], None]) -> Iterator[None]:
        """Call this with what is spent whenever that changes, whatever ends the work inside."""
        self._keep = keep
        try:
            yield
        finally:
            self.save()
            self._keep = None

    def whole(self, rows: Sequence[CaseResult], answering: Answering | None) -> list[CaseResult]:
        """Return the cases of a batch that are measured in full, with their answers' tokens."""
        self.save()
        kept: Sequence[CaseResult] = rows
        refused = self._meter.refused
        if refused > self._refused:
            kept = cutting.whole_rows(rows, {} if answering is None else answering.missing)
            # Of cases that are still to come, another batch tells.
            self._refused = refused if len(kept) < len(rows) else self._refused
        return [self._with_tokens(row, answering) for row in kept]

    def end(self) -> None:
        """Let go of what was counted."""
        self._meter.end()

    def over(self, done: int, cases: int) -> BudgetError:
        """Return the error that ends a run of which a batch was cut."""
        return self._meter.over(done, cases)

    def save(self) -> None:
        """Write what was spent so far, where it is kept."""
        found = self.spending
        if self._keep is not None and found is not None:
            self._keep(found)

    def _with_tokens(self, row: CaseResult, answering: Answering | None) -> CaseResult:
        said = [] if answering is None else answering.said.pop(row.case.id, [])
        if answering is None or not said:
            return row
        found = added(
            CaseTokens(
                role="subject",
                model=answering.name,
                prompt_tokens=one.usage.prompt_tokens,
                completion_tokens=one.usage.completion_tokens,
                replayed=int(one.latency_ms == 0.0),
            )
            for one in said
        )
        return msgspec.structs.replace(row, answered=found)
