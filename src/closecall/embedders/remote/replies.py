"""What a server sent, read and checked; nothing unsound comes out of here.

A reply is JSON with one entry a text in ``data``, each with ``index`` and ``embedding``: numbers,
or the same as base64 of little-endian float32.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from closecall.embedders.base import Vector
from closecall.embedders.metering import as_count
from closecall.embedders.remote.providers import BASE64, FLOAT


class Reply(NamedTuple):
    """One reply, in the order of the texts asked.

    ``rows`` holds a vector (float32, (d,), finite, not zero) or what is wrong with it. ``model``
    is what the server calls its model, empty where it does not say; ``prompt_tokens`` None where
    it says nothing of use. ``encoding`` is the form the vectors came in.
    """

    rows: list[Vector | str]
    model: str
    prompt_tokens: int | None
    encoding: str


class BadReply(NamedTuple):
    """Why a whole reply is of no use; ``split``: a request of one text would be."""

    reason: str
    split: bool = False


class _Entry(msgspec.Struct):
    embedding: list[float] | str
    index: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int


class _Whole(msgspec.Struct):
    """The usual reply, which decodes at once; any other is looked at piece by piece."""

    data: list[_Entry]
    model: str = ""
    usage: _Usage | None = None


def read_reply(body: bytes, count: int, dims: int | None) -> Reply | BadReply:
    """Return what a server sent, in order, or why it cannot be used.

    Parameters
    ----------
    body
        The reply's bytes.
    count
        How many texts were sent, from 1.
    dims
        How wide a vector must be; None: any width, the same for all.
    """
    found = _decoded(body)
    if isinstance(found, BadReply):
        return found
    entries, model, prompt_tokens = found
    if len(entries) != count:
        return BadReply(f"{len(entries)} vectors came for {count} texts")
    order = _order([index for index, _ in entries])
    if isinstance(order, BadReply):
        return order
    values = [entries[at][1] for at in order]
    rows = [_row(value) for value in values]
    width = dims or next((len(row) for row in rows if not isinstance(row, str)), 0)
    rows = [
        row
        if isinstance(row, str) or len(row) == width
        else f"it returned a vector of {len(row)} numbers instead of {width}"
        for row in rows
    ]
    encoding = BASE64 if all(isinstance(value, str) for value in values) else FLOAT
    # Nothing was embedded for nothing: a zero stands for a count that was not made.
    return Reply(rows, model, prompt_tokens or None, encoding)


def _decoded(body: bytes) -> tuple[list[tuple[object, object]], str, int | None] | BadReply:
    """Return (index, embedding) of each entry, the model's name and the tokens."""
    try:
        whole = msgspec.json.decode(body, type=_Whole)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decoded_by_piece(body)
    used = whole.usage.prompt_tokens if whole.usage is not None else None
    entries: list[tuple[object, object]] = [(one.index, one.embedding) for one in whole.data]
    return entries, whole.model.strip(), as_count(used)


def _decoded_by_piece(
    body: bytes,
) -> tuple[list[tuple[object, object]], str, int | None] | BadReply:
    try:
        # This reader also takes NaN, which is not JSON: one bad row is not to spoil a batch.
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        what = "nothing" if not body.strip() else "something that is not JSON, or cut off"
        return BadReply(f"it sent {what} ({len(body)} bytes)")
    if not isinstance(found, dict):
        return BadReply("it sent JSON that is no reply to a request for embeddings")
    if found.get("error"):
        return BadReply("it reported an error in a reply that says success")
    data = found.get("data")
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        return BadReply("its reply has no list 'data' of vectors")
    model = found.get("model")
    usage = found.get("usage")
    used = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return (
        [(one.get("index"), one.get("embedding")) for one in data],
        model.strip() if isinstance(model, str) else "",
        as_count(used),
    )


def _order(indices: Sequence[object]) -> list[int] | BadReply:
    """Return the place of each text's entry in the reply."""
    count = len(indices)
    if all(index is None for index in indices):
        if count == 1:
            return [0]
        return BadReply("its vectors have no index, so whose they are is not known", split=True)
    if sorted(i for i in indices if type(i) is int) != list(range(count)):
        return BadReply(f"the indices of its {count} vectors are not 0 to {count - 1}, each once")
    order = [0] * count
    for place, index in enumerate(indices):
        order[index] = place  # type: ignore[call-overload] # an int, as seen above
    return order


def _row(value: object) -> Vector | str:
    """Return an embedding as a vector, or what is wrong with it."""
    if isinstance(value, str):
        vector = _from_base64(value)
    elif isinstance(value, list):
        vector = _from_numbers(value)
    else:
        return "it returned no vector"
    if isinstance(vector, str):
        return vector
    if not vector.size:
        return "it returned an empty vector"
    if not np.isfinite(vector).all():
        return _NOT_FINITE
    return vector if vector.any() else "it returned a zero vector"


_NOT_FINITE = "it returned a vector with NaN or infinity"


def _from_base64(text: str) -> Vector | str:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "it returned base64 that cannot be read"
    if len(raw) % 4:
        return f"it returned {len(raw)} bytes, which are not whole numbers of 4 bytes each"
    return np.frombuffer(raw, dtype="<f4").astype(np.float32)


def _from_numbers(values: list[object]) -> Vector | str:
    if not all(type(one) in {int, float} for one in values):
        what = "null" if None in values else "something that is not a number"
        return f"it returned a vector with {what} in it"
    try:
        with np.errstate(over="ignore"):
            return np.array(values, dtype=np.float64).astype(np.float32)
    except OverflowError:
        return _NOT_FINITE
