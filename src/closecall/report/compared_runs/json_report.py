"""The comparison as JSON: the record as it is, integers beside every rate."""

from __future__ import annotations

import json
from typing import IO

import msgspec

from closecall.report.words import narrow, visible_json
from closecall.runs.comparing.records import RunComparison

SCHEMA = "closecall.run-comparison/1"


def write(found: RunComparison, out: IO[str]) -> None:
    """Write the record; control characters stand there as JSON's own escapes."""
    document = {"schema": SCHEMA, **msgspec.to_builtins(found)}
    text = json.dumps(document, indent=2, ensure_ascii=narrow(out), allow_nan=False)
    out.write(f"{visible_json(text)}\n")
