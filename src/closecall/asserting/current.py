"""Which session the assertions belong to: that of the test runner, else one of the process.

Kept apart and light, so that a test runner can name its session long before anybody asserts.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from closecall.asserting.session import Session

Opener = Callable[[], "Session"]

_pytest = sys.modules.get("_closecall_pytest")
openers: list[Opener] = [] if _pytest is None else _pytest.openers
"""What gives the session in use, the innermost last.

One list with the plugin for pytest, which loads long before this; see there.
"""

_own: list[Session] = []
_lock = threading.Lock()


def enter(opener: Opener) -> None:
    """Let assertions belong to what ``opener`` returns, until ``leave``."""
    openers.append(opener)


def leave(opener: Opener) -> None:
    """End that; what was current before is so again. A second call does nothing."""
    if opener in openers:
        openers.remove(opener)


def current() -> Session:
    """Return the session in use; without a test runner's, one with the default embedder."""
    if openers:
        return openers[-1]()
    with _lock:
        if not _own:
            from closecall.asserting.session import Session

            _own.append(Session())
        return _own[0]
