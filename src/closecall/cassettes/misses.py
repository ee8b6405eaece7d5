"""What a replay was asked for and does not have, put into words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from closecall.cassettes.entries import Entry
from closecall.cassettes.naming import files_of
from closecall.cassettes.nearest import Asked, nearest
from closecall.cassettes.tape import Tape
from closecall.errors import ReplayMissError, UsageError
from closecall.there import is_file

SHOWN = 3
"""Misses that are described in full."""


def described(tape: Tape, asked: Asked, key: str, expired: Entry | None, ttl: float | None) -> str:
    """Return one line: what was asked, the nearest recording and the first field that differs."""
    head = f"{asked.kind} of {asked.name}"
    if expired is not None:
        return (
            f"{head}: the recording at {tape.place(key)} is of {expired.recorded}, older than "
            f"the {ttl:g} seconds allowed"
        )
    elsewhere = _other_file(tape.path, key)
    if elsewhere:
        return f"{head}: recorded under another scenario, at {elsewhere}"
    found = nearest(tape, asked)
    if not found:
        return f"{head}: {tape.path} holds no recording of this kind"
    near = found[0]
    return f"{head}: nearest is {near.place}: {near.difference}"


def miss_error(path: Path, said: Sequence[str], count: int) -> ReplayMissError:
    """Return the error for ``count`` misses, the first of them described."""
    noun = "request has" if count == 1 else "requests have"
    lines = [f"{count} {noun} no recording in {path}", *(f"  {line}" for line in said)]
    if count > len(said) > 0:
        lines.append(f"  ... and {count - len(said)} more")
    lines.append(f"Ask for what is missing and keep it: --record-missing {path.parent}")
    return ReplayMissError("\n".join(lines), count)


def _other_file(path: Path, key: str) -> str:
    """Return where another scenario holds this key; empty if none does."""
    start = f'{{"key":"{key}",'.encode()
    try:
        others = [other for other in files_of(path.parent) if other.name != path.name]
        for other in others:
            if not is_file(other):
                continue
            with other.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.startswith(start):
                        return f"{other}:{number}"
    except (OSError, UsageError):
        return ""
    return ""
