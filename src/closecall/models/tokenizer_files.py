"""Tokenizers out of files from anywhere: whatever the library does with one is a typed error.

The library is written in Rust. What it did not expect of a file ends in a panic, which Python
sees as an exception that is no ``Exception``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from closecall.errors import ClosecallError, ConfigurationError, ModelError

MOST_GROWTH = 256
"""Characters that may become of one before a text is cut into tokens."""

_PANIC = "PanicException"
_SEQUENCES = ("normalizers", "pretokenizers")
_BYTES = 4
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
            f"{path}: normalizer, pre_tokenizer: make {growth:,} characters of one, more than "
            f"{MOST_GROWTH}"
        )
    with tokenizing(f"{path}: not a tokenizer", ModelError):
        tokenizer = tokenizers.Tokenizer.from_buffer(data)
        tokenizer.no_truncation()
        tokenizer.no_padding()
    return tokenizer


class _Unigram(msgspec.Struct):
    unk_id: int | None = None


class _TokenizerFile(msgspec.Struct):
    model: _Unigram


def unknown_token(path: Path, tokenizer: Any, data: bytes) -> int:
    """Return the number of the token that stands for what a model does not know, -1 for none.

    Raises
    ------
    ModelError
        If the bytes, read from ``path``, are no tokenizer.
    """
    if type(tokenizer.model).__name__ == "Unigram":  # it has a number, which only the file says
        try:
            found = msgspec.json.decode(data, type=_TokenizerFile).model.unk_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ModelError(f"{path}: not a tokenizer: {error}") from error
        return -1 if found is None else found
    name = getattr(tokenizer.model, "unk_token", None)
    found = tokenizer.token_to_id(name) if name else None
    return -1 if found is None else int(found)


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
    pre_tokenizer: Any = None


def _growth(path: Path, data: bytes) -> int:
    """Return how many characters the rules of a tokenizer make of one, at the most.

    One after the other they multiply: seven that make ten of one need a gigabyte for a sentence.
    """
    try:
        found = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(f"{path}: not a tokenizer: {str(error)[:_SHOWN]}") from error
    return _grown(found.normalizer, 0) * _grown(found.pre_tokenizer, 0)


def _grown(step: Any, depth: int) -> int:
    if not isinstance(step, dict) or depth > _DEEPEST:
        return 1 if depth <= _DEEPEST else MOST_GROWTH + 1
    total = 1
    inner = [one for name in _SEQUENCES if isinstance(step.get(name), list) for one in step[name]]
    for one in inner:
        # No further than it takes to tell: the number could have a million digits.
        total = min(total * _grown(one, depth + 1), MOST_GROWTH + 1)
    if step.get("type") == "ByteLevel":  # a character for each byte of one
        total *= _BYTES
    put_before, charsmap = step.get("prepend"), step.get("precompiled_charsmap")
    if isinstance(put_before, str):
        total *= 1 + len(put_before)
    if isinstance(charsmap, str):
        total *= _longest(charsmap)
    content = step.get("content")
    if isinstance(content, str):
        pattern = step.get("pattern")
        plain = pattern.get("String") if isinstance(pattern, dict) else None
        # What matches nothing is put in between as well.
        total *= max(1, len(content)) if plain else 1 + len(content)
    return total


def _longest(charsmap: str) -> int:
    """Return the characters of the longest text that a table of replacements holds.

    In base64: four bytes with the length of an index, the index, and the texts, each ended by 0.
    """
    try:
        data = base64.b64decode(charsmap)
    except ValueError:  # the library refuses it with its own words
        return 1
    texts = data[4 + int.from_bytes(data[:4], "little") :].decode("utf-8", errors="replace")
    return max(1, *map(len, texts.split("\0")))
