"""Refuses every connection and name lookup of a process, and notes each try in a file.

Python imports this by itself in the processes that tests start, because this folder is on their
PYTHONPATH; ``conftest.py`` uses it for the process of the tests. A note outlasts code that
swallows the refusal.
"""

import os
import sys

NOTES = "CLOSECALL_TEST_GUARD"
"""The variable that names the file; without it nothing is refused."""

LOOPBACK_ALLOWED = "CLOSECALL_TEST_GUARD_LOOPBACK"

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TARGET = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
    "socket.getnameinfo": 0,
}
"""What Python tells of each use of the network, and which argument says where to."""

watched = {"notes": os.environ.get(NOTES), "loopback": LOOPBACK_ALLOWED in os.environ}


def _refuse(event, arguments):
    if event not in _TARGET or watched["notes"] is None:
        return
    target = arguments[_TARGET[event]]
    host = target[0] if isinstance(target, tuple) else target
    if host is None or (watched["loopback"] and host in _LOOPBACK):
        return
    with open(watched["notes"], "a", encoding="utf-8") as notes:  # noqa: PTH123 - starts every process
        notes.write(f"{event} {target!r}\n")
    raise AssertionError(f"a test tried to reach {target!r} ({event})")


sys.addaudithook(_refuse)
