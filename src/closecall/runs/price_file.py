"""Prices from a project's own files: ``closecall.toml`` and ``pyproject.toml``."""

from __future__ import annotations

import os
from decimal import Decimal

from closecall.runs.prices import Prices, read_prices
from closecall.runs.project_file import find_member, member_of


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
    found = find_member("prices", start)
    if found is None:
        return Prices()
    path, section = found
    return read_prices(member_of(path, section, "prices", parse_float=Decimal), str(path))
