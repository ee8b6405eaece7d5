"""Every reader of closecall, as a target: data, settings, models, what it keeps and serves."""

from __future__ import annotations

from importlib import import_module

from ..inputs import Target

MODULES = ("data", "settings", "models", "hub", "kept", "served")


def all_targets() -> list[Target]:
    """Return the targets of every module of this folder."""
    return [target for name in MODULES for target in import_module(f"{__name__}.{name}").TARGETS]
