"""The file of a fitted transform: written once, frozen by its digest.

One JSON object with the transform, the identity of the vectors it was fitted on, and what is
known of the texts, of which it holds none. Read with suspicion: an edited file is refused, and so
is one whose numbers no fit gives.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from closecall.atomic import whole_file
from closecall.datasets._strict import decode_row
from closecall.embedders.isotropy.fit import Fitted
from closecall.embedders.isotropy.methods import parse_method
from closecall.embedders.isotropy.transform import Transform, packed, unpacked
from closecall.embedders.registry import ISOTROPIC
from closecall.errors import ModelError, UsageError
from closecall.instrument import Instrument, canonical_json
from closecall.plain import read_plain
from closecall.records import is_whole_text

SCHEMA = "closecall-isotropy/1"

MAX_BYTES = 1 << 27
"""Largest file that is read: ``whiten:D`` for vectors of 4,096 numbers takes 90 MB."""

MAX_DIMS = 1 << 14

SHOWN = 80
"""Characters of a file's content that a message shows."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_AGAIN = "make it again with: closecall models isotropy TEXTS -o FILE"


class TextFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The texts that were fitted on; see ``Fitted``. ``fields`` are those of the case file."""

    count: int
    distinct: int
    drawn: int | None
    unmeasured: dict[str, int]
    digest: str
    fields: tuple[str, ...]
    mean_cosine: float
    kept: float


class IsotropyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file holds.

    ``embedder`` is the name by which the embedder behind is found, and ``instrument`` what it has
    to be. ``mean`` and ``matrix`` are base64 of little-endian float32; see ``Transform``.
    ``digest`` is the sha256 (hex) of everything else.
    """

    schema: Literal["closecall-isotropy/1"]
    digest: str
    created: str
    producer: str
    method: str
    dims: int
    embedder: str
    window: str
    instrument: Instrument
    instrument_digest: str
    texts: TextFacts
    mean: str
    matrix: str

    def __post_init__(self) -> None:
        if not 1 <= self.dims <= MAX_DIMS:
            raise ValueError(f"dims: expected 1 to {MAX_DIMS}, got {self.dims}")
        if self.instrument.digest != self.instrument_digest:
            raise ValueError("instrument_digest: not that of the instrument beside it")
        if (self.instrument.dims, self.instrument.window) != (self.dims, self.window):
            raise ValueError("dims, window: not those of the instrument beside them")
        if self.embedder.strip().partition(":")[0] == ISOTROPIC:
            raise ValueError("embedder: its vectors are spread already")
        if not _DIGEST.fullmatch(self.texts.digest):
            raise ValueError("texts.digest: expected 64 hexadecimal digits")

    def transform(self) -> Transform:
        """Return the transform.

        Raises
        ------
        ValueError
            Its numbers are none that a fit gives.
        """
        method = parse_method(self.method)
        if flaw := method.flaw(self.dims):
            raise ValueError(f"method: {flaw}")
        return Transform(
            method,
            _numbers("mean", self.mean, (self.dims,)),
            _numbers("matrix", self.matrix, (self.dims, method.size)),
        )


def save_isotropy(
    path: str | os.PathLike[str],
    fitted: Fitted,
    instrument: Instrument,
    *,
    embedder: str,
    created: str,
    producer: str,
    fields: tuple[str, ...] = (),
) -> IsotropyFile:
    """Write the file and return what it holds; the same arguments give the same bytes.

    Parameters
    ----------
    path
        Where to.
    fitted
        The transform.
    instrument
        Of the vectors it was fitted on.
    embedder
        The name by which ``load_embedder`` finds them again, from every working folder.
    created, producer
        When and by what; UTC, as in ``2026-01-31T12:00:00Z``.
    fields
        The fields of the cases that were read.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    if not is_whole_text(embedder):
        raise UsageError(f"the name {embedder!r} cannot be written as UTF-8; rename that folder")
    transform = fitted.transform
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "digest": "",
        "created": created,
        "producer": producer,
        "method": str(transform.method),
        "dims": transform.dims,
        "embedder": embedder,
        "window": instrument.window,
        "instrument": msgspec.to_builtins(instrument),
        "instrument_digest": instrument.digest,
        "texts": {
            "count": fitted.texts,
            "distinct": fitted.distinct,
            "drawn": fitted.drawn,
            "unmeasured": dict(sorted(fitted.unmeasured.items())),
            "digest": fitted.texts_digest,
            "fields": list(fields),
            "mean_cosine": fitted.mean_cosine,
            "kept": fitted.kept,
        },
        "mean": base64.b64encode(packed(transform.mean)).decode("ascii"),
        "matrix": base64.b64encode(packed(transform.matrix)).decode("ascii"),
    }
    document["digest"] = _digest(document)
    with whole_file(path) as file:
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
    return msgspec.convert(document, IsotropyFile)


def load_isotropy(path: str | os.PathLike[str]) -> tuple[IsotropyFile, Transform]:
    """Read the file.

    Raises
    ------
    ModelError
        There is none, it is no such file or of another version of the format, was edited, or
        holds numbers that no fit gives; the message names the file and the member.
    """
    place = Path(path)
    try:
        data = read_plain(place, MAX_BYTES)
    except (OSError, ValueError) as error:  # the latter of a NUL in the name
        raise ModelError(f"{place}: {getattr(error, 'strerror', None) or error}") from error
    document, flaws = decode_row(data)
    if document is None:
        field, message = flaws[0]
        raise ModelError(f"{place}: {_short(field) + ': ' if field else ''}{message}")
    schema = document.get("schema")
    if schema != SCHEMA:
        raise ModelError(
            f"{place}: schema: expected {SCHEMA!r}, got {_short(repr(schema))}; {_AGAIN}"
        )
    if document.get("digest") != _digest(document):
        raise ModelError(
            f"{place}: edited after it was written: its digest does not fit what it holds; "
            f"{_AGAIN}"
        )
    try:
        found = msgspec.convert(document, IsotropyFile)
        return found, found.transform()
    except (msgspec.ValidationError, UsageError, ValueError, ArithmeticError) as error:
        said = str(error)[: 4 * SHOWN]
        raise ModelError(f"{place}: not a fitted transform: {said}; {_AGAIN}") from error


def _numbers(name: str, text: str, shape: tuple[int, ...]) -> Any:
    try:
        return unpacked(base64.b64decode(text, validate=True), shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _digest(document: dict[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(canonical_json(rest)).hexdigest()


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
