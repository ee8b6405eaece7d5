"""Embedders and metrics that other installed packages bring, found by entry point.

A package names them in its ``pyproject.toml``::

    [project.entry-points."closecall.embedders"]
    mine = "my_package:MyEmbedder"

    [project.entry-points."closecall.metrics"]
    my_metric = "my_package:MyMetric"

A metric may be a class, or a function ``(case) -> bool | float | Measurement``.

They are looked up only where a name is none of closecall's own, so nothing of them is imported,
or even searched for, by anybody who does not ask for them.
"""

from __future__ import annotations

from typing import Any

from closecall.errors import ConfigurationError

EMBEDDERS = "closecall.embedders"
METRICS = "closecall.metrics"


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names that installed packages bring in a group, sorted."""
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for point in entry_points(group=group)}))


def plugin(group: str, name: str) -> Any | None:
    """Return what stands behind a name, imported; None where no package brings it.

    Raises
    ------
    ConfigurationError
        Two packages bring the name, or it cannot be imported.
    """
    from importlib.metadata import entry_points

    found = list(entry_points(group=group, name=name))
    if not found:
        return None
    # An editable install and its build may both be on the path, and name the same thing.
    if len({point.value for point in found}) > 1:
        told = ", ".join(sorted(f"{point.value} ({_package(point)})" for point in found))
        raise ConfigurationError(f"more than one package brings {name!r} for {group}: {told}")
    point = found[0]
    try:
        return point.load()
    except Exception as error:
        raise ConfigurationError(
            f"{name} of the package {_package(point)} ({point.value}) cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error


def _package(point: Any) -> str:
    return "unknown" if point.dist is None else str(point.dist.name)
