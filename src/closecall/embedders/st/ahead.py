"""The next item is made on another thread while the last one is used."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from queue import Empty, Queue
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class _Raised(NamedTuple):
    error: BaseException


class _End:
    """Nothing more comes."""


def ahead(items: Iterable[T], depth: int = 1) -> Generator[T, None, None]:
    """Yield what ``items`` yields, in order, made by a thread of its own.

    An exception is raised where it would have been, after the items before it. Close the
    generator (``contextlib.closing``) to end the thread when not all is wanted, as on Ctrl-C; it
    ends after the item it is making.

    Parameters
    ----------
    items
        Used by the other thread only.
    depth
        Items that may wait to be used, from 1.
    """
    found: Queue[T | _Raised | _End] = Queue(depth)
    stopped = threading.Event()

    def fill() -> None:
        try:
            for item in items:
                found.put(item)
                if stopped.is_set():
                    return
            found.put(_End())
        except BaseException as error:  # noqa: BLE001 - raised again where the items are used
            found.put(_Raised(error))

    thread = threading.Thread(target=fill, name="closecall-ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(got := found.get(), _End):
            if isinstance(got, _Raised):
                raise got.error
            yield got
    finally:
        stopped.set()
        # It may be waiting for room; once it has some it puts one item more at most.
        with suppress(Empty):
            while True:
                found.get_nowait()
        thread.join()
