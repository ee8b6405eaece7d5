"""What assertions share: an embedder, its vectors, recordings and calibrations."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from closecall.asserting.bench import Bench, choose, make_bench
from closecall.asserting.question import Question
from closecall.cassettes.embedder import worth_recording
from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import ClosecallError
from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import GuardPolicy, guard_policy
from closecall.metrics.registry import load_metrics
from closecall.records import Case, Measured
from closecall.runs.asked import is_recorded, needed_embedder, open_run_cache
from closecall.runs.calibrations import (
    Calibrations,
    Given,
    embedder_of,
    load_calibrations,
    window_of,
)
from closecall.runs.header import MetricPlan
from closecall.runs.results import CaseResult

if TYPE_CHECKING:
    from closecall.cache.vectors import VectorCache
    from closecall.cassettes import Cassette

Unsure = Literal["fail", "skip"]

ASSERTED = "__closecall_asserted__"
"""Set on an error of closecall that an assertion ran into."""


class Used(NamedTuple):
    """An embedder in use, and the same behind the vectors that are known already."""

    embedder: Embedder
    cached: CachedEmbedder


class Record(NamedTuple):
    """A case that was asserted: its results by these plans, and what embedded and judged."""

    row: CaseResult
    plans: tuple[MetricPlan, ...]
    embedder: str
    instrument: Instrument
    judges: tuple[str, ...]


class Session:
    """Shared by all assertions of a process; made once, closed at its end.

    Several threads may use it; they measure one after another.

    Parameters
    ----------
    embedder
        An embedder or its name; None: that of a calibration, else the default.
    calibrations
        Decide wherever a metric of theirs is asked for without a cutoff.
    guards
        What a guard that differs does, as ``evaluate`` takes it.
    open_cassette
        Opens the recordings; called at the first use.
    cache
        As ``evaluate`` takes it.
    unsure
        What becomes of an answer that is left unsure.
    record_hint
        What to type where a replay lacks something.
    on_record
        Called with each case that was asserted.
    on_notice
        Called with each thing worth telling a person that is not an error.
    """

    def __init__(
        self,
        *,
        embedder: Embedder | str | None = None,
        calibrations: Calibrations | None = None,
        guards: str | GuardPolicy | None = None,
        open_cassette: Callable[[], Cassette] | None = None,
        cache: bool | str | os.PathLike[str] = True,
        unsure: Unsure = "fail",
        record_hint: str = "",
        on_record: Callable[[Record], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        self.embedder = embedder
        self.asked_guards = guards
        self.guards = guard_policy(guards)
        self.given: list[Given] = load_calibrations(calibrations)
        self.unsure: Unsure = unsure
        self.record_hint = record_hint
        self.on_notice = on_notice
        self._on_record = on_record
        self._open_cassette = open_cassette
        self._cassette: Cassette | None = None
        self.cache = cache
        self._stores: list[VectorCache] = []
        self._benches: dict[Any, Bench] = {}
        self._used: dict[Any, tuple[str, Used]] = {}
        self._kept: list[Any] = []
        self._lock = threading.RLock()

    @property
    def cassette(self) -> Cassette | None:
        """The recordings, opened at the first use; None without any."""
        with self._lock:
            if self._cassette is None and self._open_cassette is not None:
                self._cassette = self._open_cassette()
            return self._cassette

    def metrics(self, asked: Question) -> list[Metric]:
        """Return the metrics of a question; no model is opened."""
        chosen = choose(asked, self.given)
        return load_metrics(chosen.metrics, chosen.cutoffs)

    def bench(self, asked: Question) -> Bench:
        """Return what measures the answers to a question, the same for the same question."""
        with self._lock:
            key = asked.key
            found = self._benches.get(key)
            if found is None:
                found = self._benches[key] = make_bench(asked, self)
            return found

    def measure(self, bench: Bench, cases: Sequence[Case]) -> list[CaseResult]:
        """Return cases measured and decided.

        Raises
        ------
        ReplayMissError
            A replay lacks what it was asked for.
        """
        with self._lock:
            tape = self.cassette
            before = 0 if tape is None else tape.counts.missed
            rows = bench.measure(cases)
            if tape is not None and tape.counts.missed > before:
                lost = tape.missing()
                if lost is not None:
                    raise lost
            return rows

    def record(self, one: Record) -> None:
        """Tell whoever keeps the results of a case that was asserted."""
        if self._on_record is not None:
            self._on_record(one)

    def embedder_for(
        self, metrics: Sequence[Metric], wanted: Embedder | str | None, made: Sequence[Given]
    ) -> tuple[str, Used]:
        """Return the name of the embedder for these metrics, and the embedder."""
        with self._lock:
            return self._embedder_for(metrics, wanted, made)

    def _embedder_for(
        self, metrics: Sequence[Metric], wanted: Embedder | str | None, made: Sequence[Given]
    ) -> tuple[str, Used]:
        plain = {metric.spec.id for metric in metrics if not metric.spec.embeds}
        own = [one for one in made if one.metric not in plain]
        asked = self.embedder if wanted is None else wanted
        asked = embedder_of(own) if asked is None and own else asked
        window = window_of(own) if own and isinstance(asked, str) else None
        embeds = any(metric.spec.embeds for metric in metrics)
        named = asked is None or isinstance(asked, str)
        key = (asked if named else id(asked), window, embeds)
        if key not in self._used:
            spec, used = needed_embedder(metrics, asked, window, None, cassette=self.cassette)
            # A warm cache would hide what a replay misses, and leave a recording incomplete.
            cache = False if is_recorded(used) else self.cache
            store = open_run_cache(used, cache, self.on_notice)
            if store is not None:
                self._stores.append(store)
            self._used[key] = spec, Used(used, CachedEmbedder(used, store))
            self._kept.append(asked)
        return self._used[key]

    def closest(self, bench: Bench, name: str, case: Case) -> Measured | None:
        """Return what another metric finds in the same texts, to explain; None if nothing.

        Nobody else is asked for it: to explain is no reason to send a text away.
        """
        if worth_recording(bench.embedder.instrument):
            return None
        try:
            (row,) = Bench(
                tuple(load_metrics(name)),
                (),
                {},
                GuardPolicy({}),
                bench.embedder,
                bench.spec,
                (),
                bench.asked,
            ).measure([case])
        except ClosecallError:
            return None
        found = row.results[0].measurement
        return found if isinstance(found, Measured) else None

    def close(self) -> None:
        """Write what was recorded and let go of the caches. A second call does nothing."""
        with self._lock:
            stores, self._stores = self._stores, []
            for store in stores:
                store.close()
            tape, self._cassette = self._cassette, None
            self._open_cassette = None
            self._benches.clear()
            self._used.clear()
            if tape is not None:
                tape.close()
