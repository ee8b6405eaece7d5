"""The process that runs people's regular expressions, and ends itself when one takes too long.

Run as a script, never imported: it loads nothing of closecall. One request a line on standard
input, as JSON: ``{"text", "patterns", "ignore_case", "seconds"}``. One line of JSON a pattern on
standard output: ``[start, end]``, ``null``, or a text that says what is wrong with the pattern.
"""

import faulthandler
import json
import os
import re
import sys
import warnings

MOST_MEMORY = 2 << 30
"""Bytes of address space: backtracking must not take the machine's memory."""

BROKEN = 3
"""Exit code of an error of this program's own; out of time is 1."""


def main() -> None:
    """Answer requests until standard input ends."""
    warnings.simplefilter("ignore")
    _limit_memory()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - starts faster
        for line in sys.stdin:
            request = json.loads(line)
            # A thread outside the interpreter: a match that never returns cannot hold it up.
            faulthandler.dump_traceback_later(request["seconds"], exit=True, file=nowhere)
            flags = re.IGNORECASE if request["ignore_case"] else re.NOFLAG
            for pattern in request["patterns"]:
                answer = _answer(pattern, flags, request["text"])
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
            faulthandler.cancel_dump_traceback_later()


def _answer(pattern: str, flags: int, text: str) -> object:
    try:
        found = re.compile(pattern, flags).search(text)
    except re.error as error:
        return str(error)
    except (OverflowError, RecursionError):
        return "it is too large or nested too deeply"
    except MemoryError:
        return "it needs too much memory on this text"
    return None if found is None else found.span()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(MOST_MEMORY, hard)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # noqa: BLE001 - the caller reads the exit code
        sys.exit(BROKEN)
