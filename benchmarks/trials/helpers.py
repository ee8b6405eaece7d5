"""The tests' own small models and makers of rows, for trials to begin from."""

from __future__ import annotations

import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[2] / "tests"


def use(*folders: str) -> None:
    """Let the helper modules of these folders of the tests be imported."""
    for folder in folders:
        path = str(_TESTS / folder)
        if path not in sys.path:
            sys.path.append(path)


def require(found: bool) -> None:
    """Refuse what no reader may come to: it counts as a crash."""
    if not found:
        raise AssertionError("what was accepted does not hold together")
