"""Shards: a run in parts that know nothing of each other, each a range of the data set's cases."""

from __future__ import annotations

import re

import msgspec

from closecall.errors import UsageError

MAX_SHARDS = 100_000
_SPELT = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a run this is: ``index`` (from 1) of ``count``.

    It holds the cases from position ``first`` up to, and without, ``stop``, counted from 0 among
    those that can be read.
    """

    index: int
    count: int
    first: int
    stop: int

    def __post_init__(self) -> None:
        if not (1 <= self.index <= self.count <= MAX_SHARDS and 0 <= self.first <= self.stop):
            raise ValueError(f"there is no shard {self.index} of {self.count} from {self.first}")

    def __str__(self) -> str:
        return f"shard {self.index} of {self.count}"

    @property
    def cases(self) -> int:
        """How many cases it has."""
        return self.stop - self.first


ShardOf = tuple[int, int]
"""(index from 1, count) of a shard that was asked for."""


def read_shard(text: str) -> ShardOf:
    """Return index and count of ``2/8``.

    Raises
    ------
    UsageError
        It is spelt otherwise, or there is no such shard.
    """
    found = _SPELT.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"a shard is spelt INDEX/COUNT, such as 2/8, got {text!r}")
    return checked_shard((int(found[1]), int(found[2])))


def checked_shard(wanted: ShardOf) -> ShardOf:
    """Return it, or raise ``UsageError`` where there is no such shard."""
    index, count = wanted
    if not 1 <= index <= count <= MAX_SHARDS:
        raise UsageError(
            f"there is no shard {index} of {count}: the first is 1/{count}, the last "
            f"{count}/{count}, and at most {MAX_SHARDS:,} are counted"
        )
    return index, count


def shard_of(wanted: ShardOf, rows: int) -> Shard:
    """Return the range of a shard of ``rows`` cases; sizes differ by at most one.

    Raises
    ------
    UsageError
        There are fewer cases than shards, so that some would hold none.
    """
    index, count = checked_shard(wanted)
    if rows < count:
        raise UsageError(f"{rows:,} cases make at most {rows:,} shards, not {count:,}")
    return Shard(
        index=index,
        count=count,
        first=rows * (index - 1) // count,
        stop=rows * index // count,
    )
