"""Prices from a project's own files: ``closecall.toml`` and ``pyproject.toml``."""

from __future__ import annotations

import os
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from closecall.errors import ConfigurationError
from closecall.runs.prices import Prices, read_prices

OWN, SHARED = "closecall.toml", "pyproject.toml"
MAX_BYTES = 1024 * 1024


def find_prices(start: str | os.PathLike[str] = ".") -> Prices:
    """Return the prices of the nearest file that has any, from ``start`` upward.

    The search ends at the folder that holds ``.git``, or at the root. No file or no prices in it:
    none.

    Raises
    ------
    ConfigurationError
        A file cannot be read, both files of one folder have prices, or a price is wrong; the
        message begins with the file.
    """
    folder = Path(start).absolute()
    for place in (folder, *folder.parents):
        own = _prices_in(place / OWN, ())
        shared = _prices_in(place / SHARED, ("tool", "closecall"))
        if own is not None and shared is not None:
            raise ConfigurationError(
                f"{place / OWN} and {place / SHARED} both have prices; keep them in one of the two"
            )
        if own is not None:
            return read_prices(own, str(place / OWN))
        if shared is not None:
            return read_prices(shared, str(place / SHARED))
        if (place / ".git").exists():
            break
    return Prices()


def _prices_in(path: Path, section: tuple[str, ...]) -> Any:
    """Return what stands under ``prices``, None where there is no such thing."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigurationError(f"{path}: is larger than {MAX_BYTES:,} bytes")
        held: Any = tomllib.loads(data.decode("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8: {error.reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is no TOML: {error}") from error
    except RecursionError as error:
        raise ConfigurationError(f"{path}: is nested too deep") from error
    for name in section:
        held = held.get(name)
        if not isinstance(held, dict):
            return None
    return held.get("prices")
