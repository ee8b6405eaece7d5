"""Results of two runs, case by case: counted as they come, with the few that changed most.

The results of A are read first and kept as a number and a byte a case and metric; those of B are
held against them as they come. Memory holds about 10 bytes a case and metric of A, 35 more of each
pair, and the texts of the few cases that are named.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from closecall.metrics.base import SCORE_NOISE
from closecall.metrics.cutoffs import PERCENT
from closecall.records import Case, Label, Measured, State
from closecall.runs.comparing.cases import CaseMatch
from closecall.runs.comparing.records import Changed
from closecall.runs.results import CaseResult
from closecall.runs.summary import MAX_REASONS, OTHER_REASONS
from closecall.runs.values import clip_reason

CASCADE = "cascade"
"""Stands for all rungs of a cascade together, of which there are verdicts and no values."""

RESPONSE = 1000
"""Characters kept of a response that is named."""
REASON = 300

_STATES = tuple(State)
_CODES = {state: code for code, state in enumerate(_STATES)}
_NOBODY = 255
_LABELS: tuple[Label | None, ...] = (None, *Label)

RANK = {State.FAILED: 0, State.INCONCLUSIVE: 1, State.WARN: 1, State.PASSED: 2}
"""How good a verdict is. A number without a cutoff is no verdict."""


class Seen(NamedTuple):
    """What is known of one result: its state, its value and what was said of it."""

    state: State
    value: float | None
    reason: str


class Few:
    """The first few changed cases by a key; ties go to the id that sorts first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, _Backwards, Changed]] = []

    def offer(self, key: float, case: str, make: Callable[[], Changed]) -> None:
        """Keep the case if its key is among the highest."""
        entry = (key, _Backwards(case))
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (*entry, make()))
        elif self._heap and entry > self._heap[0][:2]:
            heapq.heapreplace(self._heap, (*entry, make()))

    def best(self) -> tuple[Changed, ...]:
        """Return them, the highest key first."""
        return tuple(one for *_, one in sorted(self._heap, key=lambda e: e[:2], reverse=True))


class _Backwards(str):
    """An id that counts as larger the earlier it sorts."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


class MetricPairs:
    """One metric on the cases of both runs."""

    def __init__(self, metric: str, high: float | None, rows: int, named: int) -> None:
        self.metric = metric
        self.noise = SCORE_NOISE * (PERCENT if high == PERCENT else 1.0)
        self.states = bytearray([_NOBODY]) * rows
        self.before = array("d", bytes(8 * rows))
        # Of each pair, in the order of B.
        self.groups = array("q")
        self.a_values, self.b_values = array("d"), array("d")
        self.a_states, self.b_states = bytearray(), bytearray()
        self.a_labels, self.b_labels = bytearray(), bytearray()
        self.only_a = self.only_b = self.only_b_failed = self.neither = 0
        self.reasons: dict[str, int] = {}
        self.moved = 0
        self.fell, self.rose = Few(named), Few(named)
        self.worse, self.better, self.absent = Few(named), Few(named), Few(named)

    def first(self, at: int, seen: Seen) -> None:
        """Keep a result of A."""
        self.states[at] = _CODES[seen.state]
        self.before[at] = math.nan if seen.value is None else seen.value

    def second(self, at: int, group: int, seen: Seen, case: Case, label: Label | None) -> None:
        """Hold a result of B against that of A, whose case had this label."""
        state = _STATES[self.states[at]]
        if not state.measured or not seen.state.measured:
            self._absence(state, seen, case)
            return
        value = self.before[at]
        known = None if math.isnan(value) else value
        self.groups.append(group)
        self.a_values.append(value)
        self.b_values.append(math.nan if seen.value is None else seen.value)
        self.a_states.append(self.states[at])
        self.b_states.append(_CODES[seen.state])
        self.a_labels.append(_LABELS.index(label))
        self.b_labels.append(_LABELS.index(case.label))

        def made() -> Changed:
            return changed(case, state, known, seen)

        if known is not None and seen.value is not None:
            by = seen.value - known
            if abs(by) > self.noise:
                self.moved += 1
                (self.rose if by > 0 else self.fell).offer(abs(by), case.id, made)
        if state in RANK and seen.state in RANK and state is not seen.state:
            steps = RANK[seen.state] - RANK[state]
            near = 0.0 if known is None or seen.value is None else abs(seen.value - known)
            # Whole steps first (a pass that fails), then by how far the value went.
            key = abs(steps) + 1 - 1 / (1 + near)
            (self.better if steps > 0 else self.worse).offer(key, case.id, made)

    def _absence(self, state: State, seen: Seen, case: Case) -> None:
        if state.measured:
            self.only_a += 1
            reason = seen.reason.strip().partition("\n")[0] or OTHER_REASONS
            if reason not in self.reasons and len(self.reasons) >= MAX_REASONS:
                reason = OTHER_REASONS
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
            # What passed and is gone comes first.
            self.absent.offer(
                RANK.get(state, 0), case.id, lambda: changed(case, state, None, seen)
            )
        elif seen.state.measured:
            self.only_b += 1
            self.only_b_failed += seen.state is State.FAILED
        elif State.NOT_APPLICABLE not in {state, seen.state}:
            self.neither += 1

    @property
    def named(self) -> Iterator[tuple[Changed, ...]]:
        """The cases that are named, list by list."""
        for few in (self.fell, self.rose, self.worse, self.better, self.absent):
            yield few.best()


class Responses:
    """Which compared cases have another response, or another label on the same one."""

    def __init__(self, rows: int, *, kept: bool) -> None:
        self.kept = kept
        self._marks = array("Q", bytes(8 * rows))
        self.labels = bytearray(rows)
        self.differ = self.relabelled = 0

    def first(self, at: int, case: Case) -> None:
        """Keep what stands for a response of A, and its label."""
        self._marks[at] = _mark(case.response)
        self.labels[at] = _LABELS.index(case.label)

    def second(self, at: int, case: Case) -> None:
        """Hold a case of B against that of A."""
        same = self._marks[at] == _mark(case.response)
        self.differ += not same
        self.relabelled += same and self.label(at) is not case.label

    def label(self, at: int) -> Label | None:
        """Return the label of a case of A."""
        return _LABELS[self.labels[at]]


def pair(
    a: Iterator[CaseResult],
    b: Iterator[CaseResult],
    match: CaseMatch,
    metrics: list[MetricPairs],
    responses: Responses,
) -> None:
    """Read both runs once, A first, and count."""
    for row in a:
        at = match.rows.get(row.case.id)
        if at is None or not match.common[at]:
            continue
        responses.first(at, row.case)
        for found in metrics:
            found.first(at, seen_of(row, found.metric))
    for row in b:
        at = match.rows.get(row.case.id)
        if at is None or not match.common[at]:
            continue
        responses.second(at, row.case)
        for found in metrics:
            seen = seen_of(row, found.metric)
            found.second(at, match.groups[at], seen, row.case, responses.label(at))


def seen_of(row: CaseResult, metric: str) -> Seen:
    """Return what a run says of one case, of a metric or of its cascade as a whole."""
    if metric == CASCADE and row.cascade:
        spoke = next((one for one in row.results if one.state is row.state), row.deciding[0])
        return Seen(row.state, None, spoke.reason)
    result = next(one for one in row.results if one.metric == metric)
    found = result.measurement
    value = found.value if isinstance(found, Measured) else None
    return Seen(result.state, value, result.reason)


def changed(case: Case, before: State, value: float | None, seen: Seen) -> Changed:
    """Return a case that came out differently; the response of A is filled in later."""
    return Changed(
        id=case.id,
        a=before.value,
        b=seen.state.value,
        value_a=value,
        value_b=seen.value,
        response_a=None,
        response_b=clipped(case.response),
        reason=clip_reason(seen.reason, REASON) if seen.reason.strip() else "",
    )


def with_responses(
    found: tuple[Changed, ...], responses: dict[str, str | None]
) -> tuple[Changed, ...]:
    """Return the cases with the responses of A."""
    return tuple(msgspec.structs.replace(one, response_a=responses.get(one.id)) for one in found)


def clipped(text: str | None) -> str | None:
    """Return a response, cut where it is long, with its length said."""
    if text is None or len(text) <= RESPONSE:
        return text
    return f"{text[:RESPONSE]}… [{len(text):,} characters in all]"


def _mark(text: str | None) -> int:
    spelt = b"" if text is None else b"t" + text.encode("utf-8", errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(spelt, digest_size=8).digest())


def state_codes(*states: State) -> frozenset[int]:
    """Return the bytes that stand for these states in ``a_states`` and ``b_states``."""
    return frozenset(_CODES[state] for state in states)


def label_code(label: Label) -> int:
    """Return the byte that stands for a label in ``a_labels`` and ``b_labels``."""
    return _LABELS.index(label)


def state_of(code: int) -> State:
    """Return the state a byte stands for."""
    return _STATES[code]


def columns(pairs: MetricPairs) -> Any:
    """Return the pairs as arrays, by the names they have here."""
    import numpy as np

    return {
        "groups": np.array(pairs.groups, dtype=np.int64),
        "a_values": np.array(pairs.a_values, dtype=np.float64),
        "b_values": np.array(pairs.b_values, dtype=np.float64),
        "a_states": np.frombuffer(bytes(pairs.a_states), dtype=np.uint8),
        "b_states": np.frombuffer(bytes(pairs.b_states), dtype=np.uint8),
        "a_labels": np.frombuffer(bytes(pairs.a_labels), dtype=np.uint8),
        "b_labels": np.frombuffer(bytes(pairs.b_labels), dtype=np.uint8),
    }
