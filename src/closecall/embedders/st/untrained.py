"""Refuses a model part of whose weights stand in no file and were therefore drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from closecall.embedders.st.layout import StLayout
from closecall.embedders.st.weights import tensor_names, weight_files
from closecall.errors import ModelError

_UNUSED = "pooler."
"""The transformer's own pooler is not part of what pooling uses; many files leave it out."""


def require_trained(transformer: Any, layout: StLayout, again: Callable[[], Any]) -> None:
    """Do nothing if every weight of a transformer is one of its files.

    The library draws what it does not find and only logs it. A weight whose name stands in no
    file is suspected; since libraries may rename weights, the model is then loaded once more,
    and what came out differently was drawn.

    Parameters
    ----------
    transformer
        The loaded first module.
    again
        Loads the whole model again.

    Raises
    ------
    ModelError
        If weights were drawn; the message names some of them.
    """
    files = [path for path in weight_files(layout) if path.parent == layout.transformer]
    stored = {name for path in files for name in tensor_names(path)}
    state = transformer.auto_model.state_dict()
    suspected = [name for name in state if not _is_stored(name, stored)]
    if not suspected:
        return
    other = next(iter(again().children())).auto_model.state_dict()
    drawn = [
        name
        for name in suspected
        if state[name].is_floating_point()
        and not bool((state[name].cpu() == other[name].cpu()).all())
    ]
    if drawn:
        shown = ", ".join(drawn[:3]) + (f" and {len(drawn) - 3} more" if len(drawn) > 3 else "")  # noqa: PLR2004
        raise ModelError(
            f"{layout.transformer}: its files hold no weights for {shown}; the library would draw "
            "them at random"
        )


def _is_stored(name: str, stored: set[str]) -> bool:
    """Return whether a weight's name stands in a file, with or without the parts before it."""
    if name in stored or name.startswith(_UNUSED):
        return True
    parts = name.split(".")
    if any(".".join(parts[at:]) in stored for at in range(1, len(parts) - 1)):
        return True
    return any(other.endswith(f".{name}") for other in stored)
