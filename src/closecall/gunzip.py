"""Unpacking gzip as it comes, to no more than so many bytes: few may unpack to any number."""

from __future__ import annotations

import zlib

NAMES = frozenset({"gzip", "x-gzip"})
"""What ``Content-Encoding`` calls it."""


class TooLargeError(ValueError):
    """It unpacks to more bytes than it may."""


class Gunzip:
    """Unpacks one gzip file that comes in parts, of at most ``most`` bytes unpacked."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._fed = False
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def feed(self, data: bytes) -> bytes:
        """Return what the next part unpacks to.

        Raises
        ------
        TooLargeError
            All parts together unpack to too much; no more than that is unpacked.
        ValueError
            It is damaged, or something follows its end.
        """
        self._fed = self._fed or bool(data)
        try:
            came = self._unpacker.decompress(data, self._left + 1)
        except zlib.error:
            raise ValueError("is no gzip, or damaged") from None
        self._left -= len(came)
        if self._left < 0:
            raise TooLargeError("unpacks to more than it may")
        if self._unpacker.unused_data:
            raise ValueError("goes on after its end")
        return came

    def end(self) -> None:
        """Note that nothing follows.

        Raises
        ------
        ValueError
            It is cut short; nothing at all is not.
        """
        if self._fed and not self._unpacker.eof:
            raise ValueError("is cut short")
