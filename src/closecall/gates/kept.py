"""Gates as the header of a run keeps them, which anyone may have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closecall.errors import RunFolderError, UsageError
from closecall.gates.parsing import parse_gate
from closecall.runs.gate_rule import Filter, Gate

GATES = "gates"
"""Under which ``asked`` of a header keeps them."""
HEADER = "the run's header"


def keeping(gates: Sequence[Gate]) -> list[dict[str, Any]]:
    """Return gates as a run's header keeps them, each with where it was written."""
    return [{"rule": one.rule, "name": one.name, "place": one.place} for one in gates]


def kept_gates(asked: Mapping[str, Any]) -> list[Gate] | None:
    """Return the gates that a run was begun with; None where its header keeps none.

    Each says where it was written: ``--gate`` or a file's line, where the header knows it.

    Raises
    ------
    RunFolderError
        Something else stands there.
    """
    if GATES not in asked:
        return None
    found = asked[GATES]
    if not isinstance(found, list):
        raise RunFolderError(f"{HEADER}: asked.{GATES} must be a list, got {found!r:.60}")
    return [_gate(one, f"{HEADER}: asked.{GATES}[{at}]") for at, one in enumerate(found)]


def _gate(kept: Any, place: str) -> Gate:
    if not isinstance(kept, dict):
        raise RunFolderError(f"{place} must be an object with rule and name, got {kept!r:.60}")
    for name in ("rule", "name"):
        if not isinstance(kept.get(name), str):
            raise RunFolderError(f"{place}.{name} must be a text, got {kept.get(name)!r:.60}")
    written = kept.get("place")
    try:
        return parse_gate(
            kept["rule"],
            name=kept["name"],
            place=written if isinstance(written, str) and written else HEADER,
        )
    except UsageError as error:
        raise RunFolderError(f"{place}.rule: {error}") from error


def filters_of(gates: Sequence[Gate]) -> list[tuple[Filter, ...]] | None:
    """Return what is noted of each case for gates, filter by filter; None where nothing is."""
    return [one.where for one in gates] if any(one.where for one in gates) else None
