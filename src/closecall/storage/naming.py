"""Errors about a copy on this machine, told as about the URL it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import ClosecallError


@contextmanager
def told_as(copy: Path, url: str) -> Iterator[None]:
    """Put the URL in place of the copy's path in the message of any error that passes."""
    try:
        yield
    except ClosecallError as error:
        error.args = tuple(
            one.replace(str(copy), url) if isinstance(one, str) else one for one in error.args
        )
        raise
