"""What is tried on a cluster, counted outside the workers, since those may die.

Ray starts a worker that died anew and gives it its block again, without end. The ledger ends that:
it knows how often each block was begun, and how often workers began to load.
"""

from __future__ import annotations

from typing import Any


class Ledger:
    """Counts what was begun and did not end; an actor of its own."""

    def __init__(self) -> None:
        self._begun: dict[int, int] = {}
        self._loads = 0
        self.stopped = False

    def begin(self, block: int) -> int:
        """Return how often this block was begun and not ended, this time included; 0: stop."""
        if self.stopped:
            return 0
        self._begun[block] = self._begun.get(block, 0) + 1
        return self._begun[block]

    def end(self, block: int) -> None:
        """Take note that the block's part was written, or that it failed with an error."""
        self._begun.pop(block, None)

    def load(self) -> int:
        """Return how many workers have begun to load since one was ready, this one included."""
        self._loads += 1
        return self._loads

    def ready(self) -> None:
        """Take note that a worker has loaded."""
        self._loads = 0

    def stop(self) -> None:
        """Have workers leave the blocks that are left undone."""
        self.stopped = True


def start_ledger() -> Any:
    """Return a ledger on the machine of the driver, which ends with the driver."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    import ray

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    made = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Ledger)
    return made.options(scheduling_strategy=here).remote()
