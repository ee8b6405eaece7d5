"""Blocks of positions through a pool of actors, as a pipeline of Ray Data.

An actor that dies is started anew by Ray and gets its block again; the ledger bounds that. What
Python raises does not travel as an error of Ray's, which would bury it, but as words in a row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from closecall.errors import ConfigurationError
from closecall.ray.ledger import start_ledger
from closecall.ray.pool import Concurrency, pool, require_room
from closecall.ray.question import Failed

TRIES = 3
"""Workers that may die in one block, or in a row while they load, before the run ends."""

MOST_TASKS = 10_000
"""Tasks of Ray; where there are more blocks, a task has several."""


_GIVEN_UP = (
    f"the worker that had them died {TRIES} times, so they are not tried again. It may lack "
    "memory (smaller parts or fewer workers take less), or a library crashes on one of their texts"
)


class Block(NamedTuple):
    """The cases at positions ``first`` to ``stop``, that one excluded."""

    first: int
    stop: int

    def __str__(self) -> str:
        counted = f"cases {self.first + 1:,} to {self.stop:,}"
        return f"{counted} (positions {self.first} to {self.stop - 1})"


class Done(NamedTuple):
    """A part that was written, or was there: its name, its rows and the sha256 of its bytes.

    ``spent`` says in JSON what it took of providers.
    """

    block: Block
    name: str
    rows: int
    sha256: str
    spent: str = ""


class Task(Protocol):
    """What a worker does; made in the driver, sent to each worker, loaded there once."""

    def load(self) -> None:
        """Make ready."""
        ...

    def do(self, block: Block) -> Done:
        """Do a block, and keep its result where the driver finds it."""
        ...


class BlockWorker:
    """Does one block after another; made once in each actor.

    Nothing is loaded before the first block, since an actor that fails to start is started anew
    without end.
    """

    def __init__(self, task: Task, ledger: Any, loads: int) -> None:
        self._task, self._ledger, self._loads = task, ledger, loads
        self._ready = False

    def __call__(self, batch: Any) -> dict[str, list[Any]]:
        """Return one row for the one block in the batch."""
        block = Block(int(batch["first"][0]), int(batch["stop"][0]))
        done, failed, tries = Done(block, "", 0, ""), Failed("", ""), 1
        try:
            if not self._ready:
                self._load()
            tries = self._ask("begin", block.first)
            if tries > TRIES:
                failed = Failed(ConfigurationError.__name__, f"{block}: {_GIVEN_UP}")
            elif tries:
                done = self._task.do(block)
        except Exception as error:  # noqa: BLE001 - it is told in the driver
            failed = Failed.of(error, str(block))
        if tries:
            self._ask("end", block.first)
        return {
            "first": [block.first],
            "stop": [block.stop],
            "name": [done.name],
            "rows": [done.rows],
            "sha256": [done.sha256],
            "spent": [done.spent],
            "tries": [tries],
            "kind": [failed.kind],
            "message": [failed.message],
        }

    def _load(self) -> None:
        if self._ask("load") > self._loads:
            raise ConfigurationError(
                f"workers died {self._loads} times while they loaded the embedder, so no further "
                "one is started. They may lack memory: fewer workers, or more memory for each"
            )
        try:
            self._task.load()
        finally:
            self._ask("ready")
        self._ready = True

    def _ask(self, what: str, *about: int) -> int:
        import ray

        return int(ray.get(getattr(self._ledger, what).remote(*about)) or 0)


def run_blocks(
    task: Task,
    blocks: Sequence[Block],
    done: Callable[[Done], None],
    *,
    concurrency: Concurrency,
    num_cpus: float,
    num_gpus: float,
    on_notice: Callable[[str], None] | None = None,
) -> None:
    """Have every block done, and call ``done`` with each as it comes, in any order.

    Raises
    ------
    ClosecallError
        What a worker raised, in its own words; no further block is begun then.
    ConfigurationError
        The workers of a block died again and again, or the cluster failed.
    """
    import ray

    if not blocks:
        return
    most = require_room(concurrency, num_cpus=num_cpus, num_gpus=num_gpus)
    fewest = concurrency[0] if isinstance(concurrency, tuple) else most
    size = (min(fewest, len(blocks)), min(most, len(blocks)))
    ledger = start_ledger()
    with _quiet():
        rows = ray.data.from_items(
            [{"first": block.first, "stop": block.stop} for block in blocks],
            override_num_blocks=min(len(blocks), MOST_TASKS),
        ).map_batches(
            BlockWorker,
            fn_constructor_args=(task, ledger, TRIES + size[1] - 1),
            batch_size=1,
            batch_format="numpy",
            # A block that waits for its turn waits for any worker, not behind another block.
            compute=pool(size, max_tasks_in_flight_per_actor=1),
            num_cpus=num_cpus,
            num_gpus=num_gpus,
        )
        ended = False
        try:
            for row in rows.iter_rows():
                _take(row, done, on_notice)
            ended = True
        except ray.exceptions.RayError as error:
            raise ConfigurationError(f"the Ray cluster failed: {_words(error)}") from error
        finally:
            if not ended:
                ledger.stop.remote()


def _take(
    row: dict[str, Any], done: Callable[[Done], None], on_notice: Callable[[str], None] | None
) -> None:
    block = Block(row["first"], row["stop"])
    if row["message"]:
        raise Failed(row["kind"], row["message"]).error()
    if row["tries"] > 1 and on_notice is not None:
        on_notice(f"a worker died; {block} were done again")
    done(Done(block, row["name"], row["rows"], row["sha256"], row["spent"]))


def _words(error: BaseException) -> str:
    """Return what happened, without the traces of every process it went through."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what Ray Data tells of its own progress; ours is told."""
    from ray.data import DataContext

    context, logger = DataContext.get_current(), logging.getLogger("ray.data")
    shown, level = context.enable_progress_bars, logger.level
    context.enable_progress_bars = False
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        context.enable_progress_bars = shown
        logger.setLevel(level)
