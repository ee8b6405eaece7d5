"""Which of the recorded embedders or models a name stands for."""

from __future__ import annotations

from closecall.cassettes.entries import Identified, Kind
from closecall.cassettes.tape import Tape
from closecall.errors import UsageError

SHORTEST = 6
"""Digits of a digest that name one."""


def choose(tape: Tape, of: Kind, spec: str | None, window: str | None = None) -> Identified | None:
    """Return who was recorded under a name; None if nobody was.

    ``spec`` is the name it was asked for by when it was recorded; else its own name,
    ``kind:model`` or ``provider:model``, ``kind`` or ``provider`` alone, or the beginning of its
    digest. None: the only one there is.

    Raises
    ------
    UsageError
        Several go by it.
    """
    every = [one for one in tape.identities.values() if one.of == of]
    if window is not None:
        every = [one for one in every if one.identity.get("window", window) == window]
    found = every if spec is None else _named(every, spec)
    if len(found) > 1:
        listed = "".join(f"\n  {one.digest[:12]}  {one.name}" for one in found)
        raise UsageError(
            f"{tape.path}: {len(found)} recorded {_MANY[of]} go by "
            f"{'no name' if spec is None else repr(spec)}; name one by its digest:{listed}\n"
            f"or drop the one that is no longer wanted: "
            f"closecall cassette prune {tape.path.parent} --model {found[0].digest[:12]}"
        )
    return found[0] if found else None


_MANY: dict[Kind, str] = {
    "embedding": "embedders",
    "chat": "chat models",
    "subject": "subjects",
}


def _named(every: list[Identified], spec: str) -> list[Identified]:
    asked = [one for one in every if spec in one.names]
    return asked or [one for one in every if goes_by(one, spec)]


def goes_by(one: Identified, name: str) -> bool:
    """Return whether this is one of the names of a recorded embedder, model or subject."""
    kinds = [one.identity.get("kind"), one.identity.get("provider")]
    model = one.identity.get("model")
    return (
        name in one.names
        # An identity may hold any JSON here, lists as well.
        or any(name == other for other in (one.name, model, *kinds))
        or name in {f"{kind}:{model}" for kind in kinds}
        or (len(name) >= SHORTEST and one.digest.startswith(name))
    )
