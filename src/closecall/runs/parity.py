"""Two embedders that should be one: how far apart their vectors, scores and verdicts are.

The same weights under ONNX and torch, in fp32 and fp16, on CPU and GPU are different instruments.
Whether that matters is a count: of so many cases, so many verdicts flip.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from closecall.embedders.base import Embedded, Embedder, TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import InstrumentMismatchError, UsageError
from closecall.instrument import differences, text_fingerprint
from closecall.metrics.base import Metric
from closecall.metrics.registry import DEFAULT, load_metrics
from closecall.records import Case, Measured, State, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.asked import chosen_embedder, read_cases
from closecall.runs.calibrations import Given, One, apply, load_calibrations, with_judges
from closecall.runs.results import decide
from closecall.runs.runner import BATCH_CASES, BATCH_CHARS, Progress, batched, measured_batch

PathLike = str | os.PathLike[str]

Which: TypeAlias = Literal["a", "b"]

NO_CUTOFF = "none"
"""``Parity.cutoff`` where nothing decides."""


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """How far ``n`` pairs of numbers are apart: half of them, 99 in 100, and the farthest."""

    n: int
    median: float
    p99: float
    largest: float

    @classmethod
    def of(cls, distances: Iterable[float]) -> Apart | None:
        """Return what these come to; None of none."""
        values = np.sort(np.fromiter(distances, dtype=np.float64))
        if not len(values):
            return None
        # The nearest rank, so that each is a distance that was seen.
        at = [int(np.ceil(share * len(values))) - 1 for share in (0.5, 0.99)]
        return cls(
            n=len(values),
            median=float(values[max(at[0], 0)]),
            p99=float(values[max(at[1], 0)]),
            largest=float(values[-1]),
        )


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A case that the two decide otherwise; a value is None where it was not measured."""

    id: str
    value_a: float | None
    value_b: float | None
    state_a: State
    state_b: State


class Parity(msgspec.Struct, frozen=True, kw_only=True):
    """What ``parity`` found.

    ``lowest_cosine`` is that of a text's two vectors, and ``components`` how far a component of
    them is apart; both are None where the widths differ. ``scores`` are differences of the
    metric's value. ``decided`` cases have a verdict from both; of the others it says nothing.
    ``calibrated`` says which of the two the calibration was made with, ``a`` where both; None
    without one.
    """

    metric: str
    identities: tuple[str, ...]
    cases: int
    texts: int
    lowest_cosine: float | None
    components: Apart | None
    scores: Apart | None
    decided: int
    flips: tuple[Flip, ...]
    unlike_absences: int
    cutoff: str
    calibrated: Which | None = None

    @property
    def compared(self) -> bool:
        """Whether anything was: verdicts where there is a cutoff, else scores."""
        return self.scores is not None if self.cutoff == NO_CUTOFF else self.decided > 0

    @property
    def apart(self) -> bool:
        """Whether a verdict flips, or a case was measured by one of the two only."""
        return bool(self.flips) or self.unlike_absences > 0

    @property
    def same(self) -> bool:
        """Whether verdicts were compared, every one is the same, and so are the absences."""
        return self.decided > 0 and not self.apart


def parity(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    a: Embedder | str,
    b: Embedder | str,
    metric: str | Metric | None = None,
    *,
    calibration: One | None = None,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Parity:
    """Embed and measure the same cases with two embedders and compare.

    No cache is used: it may hold what another build embedded. Memory: a float64 a case and text.

    Parameters
    ----------
    cases
        A case file or cases, as ``evaluate`` takes them.
    a, b
        Embedders or names.
    metric
        What turns vectors into a value; with its own cutoff verdicts are compared. None: that of
        the calibration, else ``embed_answer_similarity``.
    calibration
        One, or its file, whose cutoffs decide on the values of both. It must have been made with
        one of the two.
    window
        For embedders given by name; None: as in the calibration, else ``chunk``.
    threads, mapping, progress
        As for ``evaluate``.
    on_notice
        Called with what is worth telling.

    Raises
    ------
    UsageError
        Both have the same identity, so there is nothing to compare.
    CalibrationFileError, InstrumentMismatchError
        The calibration cannot be read, or belongs to neither, or to another metric or version.
        Raised before any case is embedded.
    """
    given = load_calibrations(calibration)
    of_file = given[0].made.window if given and window is None else window
    named = [
        chosen_embedder(spec, of_file if isinstance(spec, str) else window, threads)
        for spec in (a, b)
    ]
    one, other = (embedder for _, embedder in named)
    identities = tuple(differences(one.instrument, other.instrument))
    if not identities:
        raise UsageError("both embedders have one identity: they are the same instrument")
    made = _metric(metric, given)
    source, facts = read_cases(cases, mapping, "fail", frozenset(made.spec.needs))
    if one.instrument.dims != other.instrument.dims and on_notice is not None:
        on_notice(
            f"vectors of {one.instrument.dims} and {other.instrument.dims} numbers cannot be "
            "compared; scores and verdicts can"
        )
    applied, fits = _applied(given[0], made, named) if given else (None, None)
    work = _Work(made, (CachedEmbedder(one), CachedEmbedder(other)), applied)
    done = 0
    for batch in batched(source, BATCH_CASES, BATCH_CHARS):
        work.add(batch)
        done += len(batch)
        if progress is not None:
            progress(done, facts.rows)
    return work.found(identities, fits)


def _metric(metric: str | Metric | None, given: list[Given]) -> Metric:
    """Return the one metric, a judge made from the calibration that holds it."""
    asked = DEFAULT if metric is None and not given else metric
    found = load_metrics(with_judges(asked, given))
    if len(found) != 1:
        raise UsageError(f"parity is of one metric, got {len(found)}: compare them one by one")
    return found[0]


def _applied(
    one: Given, metric: Metric, named: list[tuple[str, Embedder]]
) -> tuple[Applied, Which]:
    """Return what decides, and which of the two embedders it belongs to."""
    problems = []
    sides: tuple[Which, ...] = ("a", "b")
    for side, (spec, embedder) in zip(sides, named, strict=True):
        try:
            found = apply([one], [metric], embedder, spec, None, uncalibrated=False)
        except InstrumentMismatchError as error:
            problems.append(str(error))
        else:
            return found[metric.spec.id], side
    # Another metric, or version of it, is one problem with both.
    apart = len(set(problems)) > 1
    told = map("{}: {}".format, "AB", problems) if apart else problems[:1]
    raise InstrumentMismatchError("\n".join(told))


class _Work:
    """The comparison under way."""

    def __init__(
        self,
        metric: Metric,
        embedders: tuple[CachedEmbedder, CachedEmbedder],
        applied: Applied | None,
    ) -> None:
        self.metric, self.embedders, self.applied = metric, embedders, applied
        self.cases = self.decided = self.unlike = 0
        self.cosines: list[float] = []
        self.components: list[float] = []
        self.scores: list[float] = []
        self.flips: list[Flip] = []
        self._seen: set[bytes] = set()

    def add(self, batch: list[Case]) -> None:
        """Embed and measure a batch with both."""
        self.cases += len(batch)
        self._compare_vectors(batch)
        columns = [measured_batch([self.metric], batch, each)[0] for each in self.embedders]
        for case, mine, yours in zip(batch, *columns, strict=True):
            if isinstance(mine, Measured) and isinstance(yours, Measured):
                self.scores.append(abs(mine.value - yours.value))
            elif isinstance(mine, Measured) != isinstance(yours, Measured):
                self.unlike += 1
            a, b = (decide(self.metric, value, self.applied) for value in (mine, yours))
            if a.cutoff is None or not (a.state.measured and b.state.measured):
                continue
            self.decided += 1
            if a.state is not b.state:
                values = [
                    one.value if isinstance(one, Measured) else None for one in (mine, yours)
                ]
                self.flips.append(
                    Flip(
                        id=case.id,
                        value_a=values[0],
                        value_b=values[1],
                        state_a=a.state,
                        state_b=b.state,
                    )
                )

    def _compare_vectors(self, batch: list[Case]) -> None:
        one, other = self.embedders
        asked = [self.metric.texts(case) for case in batch]
        keys = dict.fromkeys(
            chain.from_iterable(texts for texts in asked if not isinstance(texts, Unmeasured))
        )
        fresh = [key for key in keys if self._first(key)]
        if not fresh or one.instrument.dims != other.instrument.dims:
            return
        # Keys with pieces too, so that measuring finds all of it in memory.
        mine, yours = one.fetch(fresh), other.fetch(fresh)
        for key in fresh:
            a, b = mine[key], yours[key]
            if isinstance(a, Embedded) and isinstance(b, Embedded):
                x, y = a.vector.astype(np.float64), b.vector.astype(np.float64)
                self.components.append(float(np.abs(x - y).max()))
                self.cosines.append(float(x @ y / np.sqrt((x @ x) * (y @ y))))

    def _first(self, key: TextKey) -> bool:
        """Whether a text was not compared before; 16 bytes a text are kept."""
        name = text_fingerprint(key.text) + key.role.value.encode()
        if name in self._seen:
            return False
        self._seen.add(name)
        return True

    def found(self, identities: tuple[str, ...], fits: Which | None) -> Parity:
        """Return what it came to."""
        cutoff = self.metric.cutoff if self.applied is None else self.applied.accept
        below = None if self.applied is None else self.applied.reject
        shown = NO_CUTOFF if cutoff is None else f"{cutoff:.10g}"
        return Parity(
            metric=self.metric.spec.id,
            identities=identities,
            cases=self.cases,
            texts=len(self._seen),
            lowest_cosine=min(self.cosines, default=None),
            components=Apart.of(self.components),
            scores=Apart.of(self.scores),
            decided=self.decided,
            flips=tuple(self.flips),
            unlike_absences=self.unlike,
            cutoff=shown if below is None else f"{below:.10g} and {shown}",
            calibrated=fits,
        )
