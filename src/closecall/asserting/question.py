"""What is asked of answers: metrics, how they decide, and what embeds and judges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.errors import UsageError

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.calibrations import Calibrations

ANSWER = frozenset({"references", "response", "input"})
CONTEXT = frozenset({"context", "response", "input"})


class Question(NamedTuple):
    """What is asked.

    ``metrics`` are names and objects, none: those of the calibrations, else ``otherwise``.
    ``cutoffs`` is by name; ``cutoff`` is that of the only metric. ``sides`` are the fields there
    are, None for any: of the session's calibrations only those of such metrics count.
    """

    metrics: tuple[Any, ...] = ()
    cutoff: float | None = None
    cutoffs: tuple[tuple[str, float], ...] = ()
    calibration: tuple[Any, ...] = ()
    embedder: Embedder | str | None = None
    guards: str | GuardPolicy | None = None
    judge: Any = None
    sides: frozenset[str] | None = None
    otherwise: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """By which the same question is known again; what is no text counts as itself."""
        return tuple(_key(part) for part in self)


def question(
    *,
    metrics: Any = None,
    cutoff: float | None = None,
    cutoffs: Mapping[str, float] | None = None,
    calibration: Calibrations | None = None,
    embedder: Embedder | str | None = None,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    judge: Any = None,
    sides: frozenset[str] | None = None,
    otherwise: str = "",
) -> Question:
    """Return the question that arguments ask, as people give them.

    Raises
    ------
    UsageError
        ``cutoff`` and something else that decides.
    """
    names = _listed(metrics)
    if not isinstance(cutoffs, Mapping | None):
        raise UsageError(
            f'cutoffs must be a mapping such as {{"NAME": VALUE}}, got {type(cutoffs).__name__}'
        )
    if cutoff is not None and calibration is not None:
        raise UsageError("cutoff and calibration exclude each other: either of them decides")
    if cutoff is not None and (cutoffs or len(names) > 1):
        raise UsageError(
            'cutoff is for a single metric; for several: cutoffs={"NAME": VALUE, ...}'
        )
    if isinstance(guards, Mapping):
        guards = ",".join(f"{name}={action}" for name, action in guards.items())
    return Question(
        metrics=names,
        cutoff=cutoff,
        cutoffs=tuple((cutoffs or {}).items()),
        calibration=_calibrations(calibration),
        embedder=embedder,
        guards=guards,
        judge=judge,
        sides=sides,
        otherwise=otherwise,
    )


def _listed(metrics: Any) -> tuple[Any, ...]:
    if metrics is None:
        return ()
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    names: list[Any] = []
    for one in metrics:
        parts = [part.strip() for part in one.split(",")] if isinstance(one, str) else [one]
        names += [part for part in parts if part != ""]
    return tuple(names)


def _calibrations(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    one = isinstance(given, str | os.PathLike) or not isinstance(given, Iterable)
    return tuple(_calibration(each) for each in ((given,) if one else given))


def _calibration(given: Any) -> Any:
    # A text is a path too: as one it is known again only where it leads to the same file.
    if isinstance(given, str | os.PathLike):
        return Path(given)
    from closecall.calibration import Calibration

    if not isinstance(given, Calibration):
        raise UsageError(f"calibration: expected a file or a calibration, got {given!r:.60}")
    return given


def _key(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(_key(inner) for inner in part)
    if part is None or isinstance(part, str | float | int | frozenset):
        return part
    if isinstance(part, os.PathLike):
        return os.path.abspath(part)  # noqa: PTH100 - as it is spelt; links are not followed
    return (type(part).__name__, id(part))
