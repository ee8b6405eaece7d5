"""Work done side by side whose waits never hold up an end: what is under way is abandoned.

A ``ThreadPoolExecutor`` waits for its threads, also when Python exits; a reply of a chat model may
take minutes. So these threads are daemons.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

# A wait without an end cannot be interrupted on every system.
_LOOK_S = 0.2


def side_by_side(
    work: Callable[[int], T], count: int, in_flight: int, stopped: threading.Event
) -> list[T]:
    """Return ``work(0)`` to ``work(count - 1)``, in order, with several at a time.

    Parameters
    ----------
    work
        Called from other threads; from this one if only one may run at a time.
    count, in_flight
        How many there are, and how many may run at a time.
    stopped
        Set when an error or Ctrl-C ends it; then nothing new begins, and what is under way is
        left to itself.

    Raises
    ------
    BaseException
        The first error of ``work``, as it was raised, or ``KeyboardInterrupt``.
    """
    if min(count, in_flight) <= 1:
        return _in_turn(work, count, stopped)
    done: queue.SimpleQueue[tuple[int, Future[T]]] = queue.SimpleQueue()
    places = itertools.count()
    lock = threading.Lock()

    def run() -> None:
        while not stopped.is_set():
            with lock:
                at = next(places)
            if at >= count:
                return
            ended: Future[T] = Future()
            try:
                ended.set_result(work(at))
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                stopped.set()  # here, or this thread would begin another before that
                ended.set_exception(error)
            done.put((at, ended))

    for n in range(min(count, in_flight)):
        threading.Thread(target=run, name=f"closecall-side-{n}", daemon=True).start()
    found: dict[int, T] = {}
    try:
        while len(found) < count:
            with contextlib.suppress(queue.Empty):
                at, ended = done.get(timeout=_LOOK_S)
                found[at] = ended.result()
    except BaseException:
        stopped.set()
        raise
    return [found[at] for at in range(count)]


def _in_turn(work: Callable[[int], T], count: int, stopped: threading.Event) -> list[T]:
    try:
        return [work(at) for at in range(count)]
    except BaseException:
        stopped.set()
        raise
