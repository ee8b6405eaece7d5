"""Objects by name in one place: a folder on this machine, or a prefix on object storage.

It knows no cases and no runs. fsspec and the packages of each service load when a URL is opened.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closecall.storage.fetching import fetched
    from closecall.storage.opening import open_store
    from closecall.storage.places import is_url
    from closecall.storage.store import Store

_HOMES = {"Store": "store", "fetched": "fetching", "is_url": "places", "open_store": "opening"}

__all__ = ["Store", "fetched", "is_url", "open_store"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
