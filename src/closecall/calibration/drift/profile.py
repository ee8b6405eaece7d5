"""What a set of cases looks like, in bounded memory: to be compared with another one.

A profile holds the scores, the lengths of the responses, the numbers of references and the slices
of a simple random sample of the cases, and counts slices over all of them. One is made of the
labelled cases, another of every run; ``shift`` compares the two. No text is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from closecall.calibration.drift.streams import Use, raw_stream
from closecall.calibration.inputs import round_scores
from closecall.errors import NonFiniteError, UsageError

KEPT = 2000
"""How many cases a profile keeps."""

MOST_VALUES = 1000
"""How many values of one slicing are counted; a field with more of them hardly is one."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of cases, column by column, and the slice counts of all of them.

    ``n`` cases were seen; ``ids``, ``scores`` (rounded), ``lengths`` (characters of the response)
    and ``references`` (how many a case has) are those of the cases kept, a simple random sample,
    in no particular order. ``groups`` numbers the group of each, None where every case is on its
    own. ``values`` has their value in each slicing, None for a case that has none.

    ``slices`` counts the values over all ``n`` cases; ``uncounted`` how many cases had a value
    beyond the first ``MOST_VALUES`` different ones of its slicing.
    """

    n: int
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    lengths: tuple[int, ...]
    references: tuple[int, ...]
    groups: tuple[int, ...] | None
    values: dict[str, tuple[str | None, ...]]
    slices: dict[str, dict[str, int]]
    uncounted: dict[str, int] = {}

    def __post_init__(self) -> None:
        columns = {"scores": self.scores, "lengths": self.lengths, "references": self.references}
        if self.groups is not None:
            columns["groups"] = self.groups
        for name, column in (*columns.items(), *self.values.items()):
            if len(column) != len(self.ids):
                raise ValueError(f"{len(column)} {name} do not fit {len(self.ids)} ids")
        if self.n < len(self.ids):
            raise ValueError(f"{len(self.ids)} cases kept of {self.n}")
        if not all(map(math.isfinite, self.scores)):
            raise ValueError("a score is not finite")


class _Row(msgspec.Struct, frozen=True):
    id: str
    score: float
    length: int
    references: int
    group: str | None
    slices: dict[str, str]


class ProfileBuilder:
    """Makes a profile of cases that come one by one; O(1) a case, memory for ``cap`` of them.

    Which cases are kept depends on the seed and on the order they come in: the same cases in the
    same order give the same profile on any machine.

    Parameters
    ----------
    cap
        How many cases to keep, at least 1.
    seed
        Draws which: a whole number of at least 0.

    Raises
    ------
    UsageError
        An argument is out of range.
    """

    def __init__(self, cap: int = KEPT, seed: int = 0) -> None:
        if isinstance(cap, bool) or not isinstance(cap, int) or cap < 1:
            raise UsageError(f"cap must be a whole number of at least 1, got {cap!r}")
        self._cap = cap
        self._stream = raw_stream(seed, Use.RESERVOIR)
        self._n = 0
        self._kept: list[_Row] = []
        self._slices: dict[str, dict[str, int]] = {}
        self._uncounted: dict[str, int] = {}

    def add(
        self,
        case_id: str,
        score: float,
        length: int,
        references: int,
        slices: Mapping[str, str],
        *,
        group: str | None = None,
    ) -> None:
        """Take one measured case; a case without a score is not measured and stays out.

        Parameters
        ----------
        case_id
            Its id, by which it can be found again to be labelled.
        score
            Its score, finite; rounded like any score that is compared with a cutoff.
        length
            Characters of its response.
        references
            How many references it has.
        slices
            Its value in each slicing that it has one in.
        group
            What it shares with cases that are not independent of it, as in a calibration; None
            where it is on its own.

        Raises
        ------
        NonFiniteError
            The score is NaN or infinite.
        """
        if not math.isfinite(score):
            raise NonFiniteError(
                f"case {case_id!r} has the score {score}: every score must be finite; "
                "a case that was not measured is left out"
            )
        self._count(slices)
        self._n += 1
        place = len(self._kept)
        if place == self._cap:
            # Algorithm R (Vitter 1985): the n-th case is kept with probability cap / n, in the
            # place of any of those kept. The bias of % is far below what n cases could show.
            place = self._stream.random_raw() % self._n
            if place >= self._cap:
                return
        row = _Row(case_id, float(score), length, references, group, dict(slices))
        self._kept[place : place + 1] = [row]

    def _count(self, slices: Mapping[str, str]) -> None:
        for name, value in slices.items():
            counts = self._slices.setdefault(name, {})
            if value in counts or len(counts) < MOST_VALUES:
                counts[value] = counts.get(value, 0) + 1
            else:
                self._uncounted[name] = self._uncounted.get(name, 0) + 1

    def profile(self) -> Profile:
        """Return the profile of the cases so far; more can be added after."""
        rows = self._kept
        names = sorted(self._slices)
        return Profile(
            n=self._n,
            ids=tuple(row.id for row in rows),
            scores=tuple(round_scores([row.score for row in rows]).tolist()) if rows else (),
            lengths=tuple(row.length for row in rows),
            references=tuple(row.references for row in rows),
            groups=_numbered([row.group for row in rows]),
            values={name: tuple(row.slices.get(name) for row in rows) for name in names},
            slices={name: dict(sorted(self._slices[name].items())) for name in names},
            uncounted=dict(sorted(self._uncounted.items())),
        )


def _numbered(groups: list[str | None]) -> tuple[int, ...] | None:
    """Return numbers for groups, as they are met; a case without one is a group of its own."""
    keys = [at if group is None else group for at, group in enumerate(groups)]
    number: dict[int | str, int] = {}
    codes = tuple(number.setdefault(key, len(number)) for key in keys)
    return None if len(number) == len(keys) else codes
