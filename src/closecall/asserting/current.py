"""Which session the assertions belong to: that of the test runner, else one of the process.

Kept apart and light, so that a test runner can name its session long before anybody asserts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from closecall.asserting.session import Session

Opener = Callable[[], "Session"]

_openers: list[Opener] = []
_own: list[Session] = []
_lock = threading.Lock()


def enter(opener: Opener) -> None:
    """Let assertions belong to what ``opener`` returns, until ``leave``."""
    _openers.append(opener)


def leave(opener: Opener) -> None:
    """End that; what was current before is so again. A second call does nothing."""
    if opener in _openers:
        _openers.remove(opener)


def current() -> Session:
    """Return the session in use; without a test runner's, one with the default embedder."""
    if _openers:
        return _openers[-1]()
    with _lock:
        if not _own:
            from closecall.asserting.session import Session

            _own.append(Session())
        return _own[0]
