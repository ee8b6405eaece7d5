"""How many actors work side by side."""

from __future__ import annotations

from typing import Any

from closecall.errors import ConfigurationError, UsageError

Concurrency = int | tuple[int, int] | None
"""A number of workers, the fewest and the most of them, or None: as many as there is room for."""


LEAST_EACH, MOST_EACH = 1e-4, 10_000
"""CPUs or GPUs of a worker; Ray counts in ten-thousandths."""


def require_concurrency(
    concurrency: Concurrency, *, num_cpus: float, num_gpus: float, part_size: int | None
) -> None:
    """Refuse numbers of workers, or of what each takes, that cannot be.

    Raises
    ------
    UsageError
        Says which, and what is allowed.
    """
    pair = concurrency if isinstance(concurrency, tuple) else (concurrency,)
    counts = [one for one in pair if type(one) is int and one >= 1]
    whole = len(counts) == len(pair) in {1, 2} and counts == sorted(counts)
    if concurrency is not None and not whole:
        raise UsageError(
            "concurrency is a number of workers, at least 1, or a pair (fewest, most), or None; "
            f"got {concurrency!r:.60}"
        )
    if not (_is_share(num_cpus) and _is_share(num_gpus) and num_cpus + num_gpus > 0):
        raise UsageError(
            f"a worker takes CPUs or GPUs, each from 0 to {MOST_EACH:,} and not both 0: num_cpus "
            f"and num_gpus are {num_cpus!r:.20} and {num_gpus!r:.20}"
        )
    if part_size is not None and (type(part_size) is not int or part_size < 1):
        raise UsageError(f"part_size is a number of cases, at least 1; got {part_size!r:.20}")


def _is_share(count: object) -> bool:
    return (
        isinstance(count, int | float)
        and not isinstance(count, bool)
        and (count == 0 or LEAST_EACH <= count <= MOST_EACH)
    )


def pool(concurrency: Concurrency, **options: Any) -> Any:
    """Return the pool of actors as Ray Data takes it."""
    from ray.data import ActorPoolStrategy

    if isinstance(concurrency, tuple):
        return ActorPoolStrategy(min_size=concurrency[0], max_size=concurrency[1], **options)
    if concurrency is None:
        return ActorPoolStrategy(min_size=1, **options)
    return ActorPoolStrategy(size=concurrency, **options)


def most_workers(concurrency: Concurrency) -> int | None:
    """Return the most workers that were asked for."""
    return concurrency[1] if isinstance(concurrency, tuple) else concurrency


def require_room(concurrency: Concurrency, *, num_cpus: float, num_gpus: float) -> int:
    """Return how many workers there is room for on the cluster, at most those asked for.

    Raises
    ------
    ConfigurationError
        There is room for none, or for fewer than asked for, which Ray would wait for without end.
    """
    import ray

    there = ray.cluster_resources()
    room = min(
        int(there.get(kind, 0) // each)
        for kind, each in (("CPU", num_cpus), ("GPU", num_gpus))
        if each
    )
    fewest = concurrency[0] if isinstance(concurrency, tuple) else concurrency or 1
    if room < fewest:
        raise ConfigurationError(
            f"the Ray cluster has {there.get('CPU', 0):g} CPUs and {there.get('GPU', 0):g} GPUs, "
            f"which is room for {room} workers of {num_cpus:g} CPUs and {num_gpus:g} GPUs; "
            f"{fewest} were asked for"
        )
    return min(room, most_workers(concurrency) or room)
