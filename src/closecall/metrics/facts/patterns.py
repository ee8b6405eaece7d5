r"""People's regular expressions, run with a time limit.

A pattern such as ``(a+)+$`` can take longer than the age of the universe on forty characters,
and Python's ``re`` cannot be stopped. So patterns run in a small process of their own, which ends
itself after ``LIMIT_SECONDS``; the caller gets an error that names the pattern. The process is
started with the first pattern (some 25 ms), kept, and asked again (some 0.1 ms); it ends with the
program. A pattern that was stopped ``GIVE_UP_AFTER`` times is not tried again, so one bad pattern
costs a run of any length a few seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from closecall.errors import ClosecallError

LIMIT_SECONDS = 1.0
"""What all patterns of one text may take together, on a text of ordinary length."""

SECONDS_PER_MEGACHARACTER = 0.1
"""Added for each pattern and million characters: an honest pattern reads that in 0.02 s."""

GIVE_UP_AFTER = 3
MOST_PATTERNS = 200
MOST_CHARS = 10_000

_MILLION = 1_000_000
_SHOWN = 100
_OUT_OF_TIME = 1
_ADVICE = (
    "it tries too many ways to match. Avoid a repeat inside a repeat, such as (a+)+, and two in "
    "a row that match the same"
)


class PatternError(ClosecallError):
    """A pattern cannot be used; its message becomes the reason of an absence."""


class SlowPatternError(PatternError):
    """A pattern took too long on a text."""


class Span(NamedTuple):
    """Where a pattern matched first: ``text[start:end]``."""

    start: int
    end: int


def problem_with(pattern: str) -> str | None:
    """Return what is wrong with a pattern, None for nothing; it is compiled, not run.

    >>> problem_with("(30|thirty days")
    'missing ), unterminated subpattern at position 0'
    """
    problem = _unfit(pattern)
    if problem is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(pattern)
        except re.error as error:
            return str(error)
        except (OverflowError, RecursionError, MemoryError):
            return "it is too large or nested too deeply"
    return problem


def search(patterns: Sequence[str], text: str, *, ignore_case: bool = False) -> list[Span | None]:
    """Return where each pattern matches first, None where it does not.

    Safe to call from any thread; calls wait for one another.

    Raises
    ------
    PatternError
        A pattern is wrong, there are more than ``MOST_PATTERNS``, or no process can be started.
    SlowPatternError
        A pattern took too long on this text, or on ``GIVE_UP_AFTER`` texts before.
    """
    if len(patterns) > MOST_PATTERNS:
        raise PatternError(f"{len(patterns)} patterns, and at most {MOST_PATTERNS} are allowed")
    for pattern in patterns:
        problem = _unfit(pattern)
        if problem is not None:
            raise PatternError(f"the pattern {shown(pattern)} is wrong: {problem}")
    return _worker.search(patterns, text, ignore_case=ignore_case) if patterns else []


def shown(pattern: str) -> str:
    """Return a pattern as messages quote it."""
    return f"'{pattern if len(pattern) <= _SHOWN else pattern[:_SHOWN] + '...'}'"


def _unfit(pattern: str) -> str | None:
    if not pattern.strip():
        return "it is blank"
    if len(pattern) > MOST_CHARS:
        return f"it has {len(pattern):,} characters, and at most {MOST_CHARS:,} are allowed"
    return None


class _Worker:
    """The process, started when first needed and again after it ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopped: Counter[str] = Counter()

    def search(
        self, patterns: Sequence[str], text: str, *, ignore_case: bool
    ) -> list[Span | None]:
        with self._lock:
            for pattern in patterns:
                if self._stopped[pattern] >= GIVE_UP_AFTER:
                    raise SlowPatternError(
                        f"the pattern {shown(pattern)} took too long on {GIVE_UP_AFTER} texts "
                        f"and was not tried on this one: {_ADVICE}"
                    )
            try:
                answers = self._ask(patterns, text, ignore_case=ignore_case)
            except BaseException:  # an answer not read would be taken for the next one's
                self.close()
                raise
        return [_span(*pair) for pair in zip(patterns, answers, strict=True)]

    def _ask(self, patterns: Sequence[str], text: str, *, ignore_case: bool) -> list[str]:
        seconds = LIMIT_SECONDS
        seconds += SECONDS_PER_MEGACHARACTER * len(patterns) * len(text) / _MILLION
        request = {
            "text": text,
            "patterns": list(patterns),
            "ignore_case": ignore_case,
            "seconds": seconds,
        }
        process = self._running()
        _write(process, json.dumps(request) + "\n")
        return [self._read(process, pattern, seconds, len(text)) for pattern in patterns]

    def _read(
        self, process: subprocess.Popen[str], pattern: str, seconds: float, length: int
    ) -> str:
        line = process.stdout.readline() if process.stdout else ""
        if line.endswith("\n"):
            return line
        if process.wait() != _OUT_OF_TIME:
            raise PatternError(
                f"the process that ran the pattern {shown(pattern)} ended with code "
                f"{process.returncode}"
            )
        self._stopped[pattern] += 1
        raise SlowPatternError(
            f"the pattern {shown(pattern)} took longer than {seconds:.1f} s on a text of "
            f"{length:,} characters: {_ADVICE}"
        )

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = _started()
        return self._process

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError), process:  # what was not sent need not be
                pass


def _write(process: subprocess.Popen[str], line: str) -> None:
    if process.stdin is not None:
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except OSError as error:
            raise PatternError(f"the process that runs patterns ended: {error}") from error


def _started() -> subprocess.Popen[str]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise PatternError("patterns need a Python interpreter to run in, and there is none here")
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("matcher.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
    except OSError as error:
        raise PatternError(f"the process that runs patterns cannot be started: {error}") from error


def _span(pattern: str, line: str) -> Span | None:
    answer = json.loads(line)
    if isinstance(answer, str):
        raise PatternError(f"the pattern {shown(pattern)} is wrong: {answer}")
    return None if answer is None else Span(*answer)


_worker = _Worker()
_of_parents: list[_Worker] = []


def _after_fork() -> None:
    """Leave the process to the parent: two must not read from one pipe."""
    global _worker  # noqa: PLW0603 - the one place that replaces it
    _of_parents.append(_worker)
    _worker = _Worker()


def _close() -> None:
    _worker.close()


atexit.register(_close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
