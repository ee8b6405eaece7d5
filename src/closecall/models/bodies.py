"""The body of a reply: as it is, or unpacked where a server packed it unasked."""

from __future__ import annotations

import http.client

from closecall.errors import ModelError
from closecall.gunzip import NAMES, Gunzip, TooLargeError
from closecall.models.web import Passing

_DIGITS = 20
_SPARE = 1 << 16
"""Bytes that something packed may have beside what it unpacks to."""


def announced_bytes(reply: http.client.HTTPResponse) -> int | None:
    """Return how many bytes the head of a reply says that its body has, None where it does not."""
    given = reply.headers.get("Content-Length", "").strip()
    return int(given) if given.isascii() and given.isdigit() and len(given) < _DIGITS else None


class Body:
    """Reads a reply part by part.

    Parameters
    ----------
    reply
        Of which nothing was read yet.
    name
        What it is of, for errors.
    most
        Bytes that it may unpack to where it is packed.

    Raises
    ------
    ModelError
        It is in an encoding other than gzip.
    """

    def __init__(self, reply: http.client.HTTPResponse, name: str, most: int) -> None:
        encoding = reply.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in {"", "identity", *NAMES}:
            raise ModelError(f"{name}: came as {encoding[:20]}, which was not asked for")
        self._reply = reply
        self._name = name
        self._most = most
        self._unpacker = Gunzip(most) if encoding in NAMES else None
        self.came = 0
        """Bytes that came so far, packed or not."""

    @property
    def packed(self) -> bool:
        """Whether it is unpacked here, so that its length says nothing."""
        return self._unpacker is not None

    def read(self, size: int) -> bytes | None:
        """Return what comes next, None at the end.

        Of what is not packed, at most ``size`` bytes; of what is, whatever they unpack to, which
        may be nothing.

        Raises
        ------
        ModelError
            It unpacks to more than it may, or is damaged.
        Passing
            It is packed and breaks off.
        OSError, http.client.HTTPException
            The connection fails.
        """
        data = self._reply.read1(size)
        self.came += len(data)
        if self._unpacker is None:
            return data or None
        if self.came > 2 * self._most + _SPARE:
            raise ModelError(f"{self._name}: came as gzip and does not end")
        if data:
            return self._unpacked(self._unpacker, data)
        try:
            self._unpacker.end()
        except ValueError as error:
            raise Passing(f"{self._name}: broke off: {error}") from None
        return None

    def _unpacked(self, unpacker: Gunzip, data: bytes) -> bytes:
        try:
            return unpacker.feed(data)
        except TooLargeError:
            raise ModelError(
                f"{self._name}: came as gzip and unpacks to more than the {self._most:,} bytes it "
                "may have"
            ) from None
        except ValueError as error:
            raise ModelError(f"{self._name}: came as gzip and {error}") from None
