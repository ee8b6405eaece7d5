"""The special functions of scipy, in a twentieth of the time that ``scipy.special`` takes to load.

Nearly all of that time goes to modules of numpy (``f2py``, ``testing``, ``ma``) that the package
touches on its way to compiled functions; a command that needs two quantiles of the beta
distribution spends 0.15 s on them. The functions here are those very ones, so are their results.
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = "scipy.special"
_COMPILED = f"{_PACKAGE}._ufuncs"
_NEEDED = ("betainc", "betaincinv", "stdtrit")


@cache
def special() -> Any:
    """Return what has ``betainc``, ``betaincinv`` and ``stdtrit`` of scipy.

    That is the compiled module alone where it can be loaded alone, else ``scipy.special``.
    """
    alone = None if _PACKAGE in sys.modules else _compiled()
    return import_module(_PACKAGE) if alone is None else alone


def _compiled() -> ModuleType | None:
    """Return the compiled module, loaded without its package; None where that cannot be done."""
    # For a moment the package is an empty one, which no other thread may import meanwhile.
    if threading.active_count() > 1:
        return None
    scipy = import_module("scipy")
    empty = ModuleType(_PACKAGE)
    empty.__path__ = [str(Path(str(scipy.__file__)).parent / "special")]
    sys.modules[_PACKAGE] = empty
    try:
        found = import_module(_COMPILED)
    except (ImportError, AttributeError):  # another layout: the package knows its way about
        return None
    finally:
        del sys.modules[_PACKAGE]
        vars(scipy).pop("special", None)
    return found if all(hasattr(found, name) for name in _NEEDED) else None
