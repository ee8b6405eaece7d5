"""What a metric gives back, checked: metrics are anybody's code.

A number of numpy's becomes a float; anything else that a run folder or a report could not hold is
a ``TypeError`` or ``ValueError`` here, where it still costs one result and not the run.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from closecall.embedders.base import TextKey
from closecall.errors import UsageError
from closecall.records import Measured, Measurement, Unmeasured
from closecall.runs.wire import MAX_INTEGER, dump_line

MAX_DETAILS = 64 * 1024
"""Characters of a measurement's details, as JSON."""

MAX_PLAIN = 1024
"""Characters of a text in details that needs no closer look."""

_MOST_PLAIN = 50
"""Members of details that need no closer look: together they stay below ``MAX_DETAILS``."""

_LONGEST_NAME = 200
_PLAIN = frozenset({bool, type(None)})
_NUMBERS = ("similarity", "value", "score")


def checked_texts(texts: object) -> tuple[TextKey, ...] | Unmeasured:
    """Return the texts a metric asks for, or raise naming what came instead."""
    if isinstance(texts, Unmeasured):
        return texts
    if not isinstance(texts, tuple | list):
        raise TypeError(f"texts() must return TextKeys or Unmeasured, got {_kind(texts)}")
    for key in texts:
        if not isinstance(key, TextKey) or not isinstance(key.text, str):
            raise TypeError(f"texts() must return TextKeys that hold a str, got {key!r:.80}")
    return tuple(texts)


def checked_measurement(measurement: object) -> Measurement:
    """Return a measurement as a run can keep it, or raise naming what is wrong with it."""
    if isinstance(measurement, Unmeasured):
        return measurement
    if not isinstance(measurement, Measured):
        raise TypeError(f"measure() must return Measured or Unmeasured, got {_kind(measurement)}")
    changed: dict[str, Any] = {}
    for name in _NUMBERS:
        number = getattr(measurement, name)
        if type(number) is not float and number is not None:
            changed[name] = float(number)
    score = changed.get("score", measurement.score)
    if score is not None and not 0 <= round(score / 100, 6) <= 1:
        raise ValueError(f"score must be from 0 to 100, got {score}")
    details = measurement.details
    if len(details) > _MOST_PLAIN or not (
        all(map(_is_plain, details.values())) and all(map(_is_name, details))
    ):
        changed["details"] = _as_json(details)
    return msgspec.structs.replace(measurement, **changed) if changed else measurement


def _is_plain(value: object) -> bool:
    """Whether this is a short JSON value without parts; most details are."""
    kind = type(value)
    if kind is str:
        return len(value) <= MAX_PLAIN  # type: ignore[arg-type]  # a str, by the line above
    if kind is int:
        return -MAX_INTEGER <= value <= MAX_INTEGER  # type: ignore[operator]
    return kind in _PLAIN or (kind is float and math.isfinite(value))  # type: ignore[arg-type]


def _is_name(name: object) -> bool:
    return type(name) is str and len(name) <= _LONGEST_NAME


def _as_json(details: dict[str, Any]) -> dict[str, Any]:
    odd = next((name for name in details if not isinstance(name, str)), None)
    if odd is not None:
        raise TypeError(f"details: a member's name must be text, got {odd!r:.80}")
    text = json.dumps(details, allow_nan=False, default=_from_numpy)
    if len(text) > MAX_DETAILS:
        raise ValueError(f"details of {len(text):,} characters; at most {MAX_DETAILS:,} are kept")
    plain: dict[str, Any] = json.loads(text)
    try:
        dump_line(plain)
    except UsageError as error:
        raise ValueError(f"details: {error}") from error
    return plain


def _from_numpy(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"details hold a {_kind(value)}, which JSON has no form for")


def _kind(value: object) -> str:
    return type(value).__name__
