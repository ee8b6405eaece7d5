"""Windows to padded batches of so many tokens, fewer of them where memory does not do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Ran(NamedTuple):
    """Windows that did not fit even alone, and the budget that did for the others."""

    failed: list[int]
    budget: int


def padded_batches(windows: Sequence[int], lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group windows of similar length into batches of at most ``budget`` tokens, longest first.

    Padding counts: a batch takes its rows times its longest. Each window is in exactly one
    batch, and a batch holds one at least. Within a length the order is kept.

    Parameters
    ----------
    windows
        Indices into ``lengths``.
    lengths
        Tokens of each window as the model will see it, from 1.
    budget
        Most tokens in a batch.
    """
    batches: list[list[int]] = []
    rows = 0
    for at in sorted(windows, key=lambda at: -lengths[at]):
        if not batches or len(batches[-1]) >= rows:
            batches.append([])
            rows = max(1, budget // lengths[at])
        batches[-1].append(at)
    return batches


def run_batches(lengths: Sequence[int], budget: int, run: Callable[[list[int]], bool]) -> Ran:
    """Run every window, and halve what runs together whenever memory is not enough.

    Parameters
    ----------
    lengths
        See ``padded_batches``.
    budget
        Most tokens in a batch to begin with.
    run
        Runs a batch; False if the device had not the memory for it.
    """
    failed: list[int] = []
    waiting = padded_batches(range(len(lengths)), lengths, budget)
    while waiting:
        batch = waiting.pop(0)
        if run(batch):
            continue
        if len(batch) == 1:
            failed.append(batch[0])
            continue
        budget = len(batch) * lengths[batch[0]] // 2
        left = [at for group in [batch, *waiting] for at in group]
        waiting = padded_batches(left, lengths, budget)
    return Ran(sorted(failed), budget)
