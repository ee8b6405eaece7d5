"""Tokenizers out of files from anywhere: whatever the library does with one is a typed error.

The library is written in Rust. What it did not expect of a file ends in a panic, which Python
sees as an exception that is no ``Exception``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from closecall.errors import ClosecallError, ConfigurationError, ModelError

MOST_GROWTH = 256
"""Characters that may become of one before a text is cut into tokens."""

_PANIC = "PanicException"
_DEEPEST = 32
_SHOWN = 300


def read_tokenizer(path: Path, data: bytes) -> Any:
    """Return a tokenizer that neither cuts nor pads: lengths are for others to decide.

    Raises
    ------
    ModelError
        If the bytes, read from ``path``, are no tokenizer.
    ConfigurationError
        If the tokenizers library cannot be imported.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise ConfigurationError(
            f"tokenizers cannot be imported: {error}. "
            "Install it again: pip install --force-reinstall tokenizers"
        ) from error
    growth = _growth(path, data)
    if growth > MOST_GROWTH:
        raise ModelError(
            f"{path}: normalizer: makes {growth:,} characters of one, more than {MOST_GROWTH}"
        )
    with tokenizing(f"{path}: not a tokenizer", ModelError):
        tokenizer = tokenizers.Tokenizer.from_buffer(data)
        tokenizer.no_truncation()
        tokenizer.no_padding()
    return tokenizer


@contextmanager
def tokenizing(what: str, kind: type[ClosecallError]) -> Iterator[None]:
    """Turn whatever the library raises within the block into ``kind``, ``what`` before it."""
    try:
        yield
    except ClosecallError:
        raise
    except Exception as error:  # the library raises bare Exception
        raise kind(f"{what}: {str(error)[:_SHOWN]}") from error
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise kind(f"{what}: the tokenizers library gave up: {str(error)[:_SHOWN]}") from error


class _File(msgspec.Struct):
    normalizer: Any = None


def _growth(path: Path, data: bytes) -> int:
    """Return how many characters the replacements of a normalizer make of one, at the most.

    One after the other they multiply: seven that make ten of one need a gigabyte for a sentence.
    """
    try:
        return _grown(msgspec.json.decode(data, type=_File).normalizer, 0)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(f"{path}: not a tokenizer: {str(error)[:_SHOWN]}") from error


def _grown(normalizer: Any, depth: int) -> int:
    if not isinstance(normalizer, dict) or depth > _DEEPEST:
        return 1 if depth <= _DEEPEST else MOST_GROWTH + 1
    total = 1
    inner = normalizer.get("normalizers")
    for one in inner if isinstance(inner, list) else ():
        # No further than it takes to tell: the number could have a million digits.
        total = min(total * _grown(one, depth + 1), MOST_GROWTH + 1)
    content = normalizer.get("content")
    if isinstance(content, str):
        pattern = normalizer.get("pattern")
        plain = pattern.get("String") if isinstance(pattern, dict) else None
        # What matches nothing is put in between as well.
        total *= max(1, len(content)) if plain else 1 + len(content)
    return total
