"""Replies packed with gzip, which some servers send whatever was asked for.

The client would unpack a part at once, however much it holds: so it is done here, within the
limit of the exchange, and the client is given a reply that is not packed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from closecall.embedders.remote.bounding import Bounds, PastBoundsError
from closecall.gunzip import NAMES, Gunzip, TooLargeError


def unpacked(bounds: Bounds) -> Callable[[Any], None]:
    """Return what has a reply unpacked, before any of its body is read.

    It refuses a reply in an encoding other than gzip.

    Parameters
    ----------
    bounds
        Of the exchange: what is unpacked may be as long as what is not packed.
    """

    def prepare(response: Any) -> None:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding in {"", "identity"}:
            return
        if encoding not in NAMES:
            raise PastBoundsError(
                f"its reply came as {encoding[:20]}, which was not asked for", late=False
            )
        # Which package the client is made of depends on its version.
        package = import_module(type(response).__module__.partition(".")[0])
        kind: Any = type("_UnpackedStream", (_Unpacked, package.SyncByteStream), {})
        response.stream = kind(response.stream, bounds.limit)
        del response.headers["content-encoding"]

    return prepare


class _Unpacked:
    """The body of a reply, unpacked as it comes."""

    def __init__(self, behind: Any, limit: int) -> None:
        self._behind = behind
        self._limit = limit

    def __iter__(self) -> Iterator[bytes]:
        unpacker = Gunzip(self._limit)
        try:
            for part in self._behind:
                yield unpacker.feed(part)
            unpacker.end()
        except TooLargeError:
            raise PastBoundsError(f"its reply passes {self._limit} bytes", late=False) from None
        except ValueError as error:
            raise PastBoundsError(f"its reply came as gzip and {error}", late=False) from None

    def close(self) -> None:
        self._behind.close()
