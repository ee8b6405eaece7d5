"""A program as the subject: one process a case, the case as JSON in, the answer out."""

from __future__ import annotations

import json
import shlex
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from closecall.chat.side_by_side import side_by_side
from closecall.embedders.remote.redaction import Secret, redact
from closecall.errors import ConfigurationError, UsageError
from closecall.records import Case, Unmeasured, is_whole_text
from closecall.subjects.base import NO_INPUT, Answer, SubjectIdentity, no_answer
from closecall.subjects.process import Processes, Said
from closecall.subjects.python import asks_something

TIMEOUT_S = 120.0
IN_FLIGHT = 4

_TAIL = 200
_KEPT_BACK = {"references", "label", "response", "place"}
_NO_KEY = Secret("")


class CommandSubject:
    """Starts a program for each case and takes what it prints as the answer.

    The case comes on standard input as one JSON object in UTF-8, without what the answer is held
    to: its references and its label. Everything on standard output, in UTF-8 and without the last
    line end, is the answer; nothing printed is an empty answer. No shell is involved.

    Parameters
    ----------
    command
        The program and its arguments; a str is split as a POSIX shell would.
    timeout_s
        Seconds one case may take; then its process is killed, with the processes it started.
    in_flight
        Processes at a time.

    Raises
    ------
    UsageError
        The command is empty or cannot be split, or a number is out of range.
    ConfigurationError
        There is no such program.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        timeout_s: float = TIMEOUT_S,
        in_flight: int = IN_FLIGHT,
    ) -> None:
        self._argv = _split(command)
        if not timeout_s > 0:
            raise UsageError(f"timeout_s must be above 0, got {timeout_s!r}")
        if in_flight < 1:
            raise UsageError(f"in_flight must be at least 1, got {in_flight}")
        if shutil.which(self._argv[0]) is None:
            raise ConfigurationError(
                f"there is no program {self._argv[0]!r:.80} to start for each case; give its "
                "path, or the name of one that PATH leads to"
            )
        self._timeout_s = timeout_s
        self._in_flight = in_flight
        # A key among the arguments is not to be recorded.
        shown = redact(shlex.join(self._argv), _NO_KEY)
        self._identity = SubjectIdentity(
            kind="command", name=Path(self._argv[0]).name, facts={"command": shown}
        )

    @property
    def identity(self) -> SubjectIdentity:
        """The program and its arguments."""
        return self._identity

    def answer(self, cases: Sequence[Case]) -> list[Answer | Unmeasured]:
        """Return what the program prints for each case, or why there is nothing.

        Ctrl-C kills what is running.

        Raises
        ------
        ConfigurationError
            The program cannot be started.
        """
        stopped = threading.Event()
        with Processes(self._argv, self._timeout_s) as processes:
            return side_by_side(
                lambda at: self._one(cases[at], processes), len(cases), self._in_flight, stopped
            )

    def _one(self, case: Case, processes: Processes) -> Answer | Unmeasured:
        if not asks_something(case):
            return NO_INPUT
        text = case_json(case)
        if not is_whole_text(text):
            return no_answer(
                "the case holds half of a surrogate pair, which is not a character; the text was "
                "damaged before it came here"
            )
        started = time.perf_counter()
        said = processes.run(text.encode())
        took = round((time.perf_counter() - started) * 1000, 3)
        why = said.problem or _ended(said)
        if why:
            return no_answer(why)
        try:
            answer = said.out.decode("utf-8")
        except UnicodeDecodeError as error:
            return no_answer(f"the command printed what is not UTF-8 (byte {error.start})")
        return Answer(text=answer.removesuffix("\n").removesuffix("\r"), latency_ms=took)


def case_json(case: Case) -> str:
    """Return a case as a program gets it: one line of JSON, without references and label."""
    kept = {
        name: value
        for name, value in msgspec.to_builtins(case).items()
        if value and name not in _KEPT_BACK
    }
    return json.dumps(kept, ensure_ascii=False) + "\n"


def _split(command: str | Sequence[str]) -> list[str]:
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"the subject's command cannot be split: {error}") from error
    argv = list(command)
    if not argv or not argv[0].strip():
        raise UsageError("the subject's command is empty; give a program and its arguments")
    return argv


def _ended(said: Said) -> str:
    """Return why an exit code speaks of no answer, with the end of what the program said."""
    if said.code == 0:
        return ""
    lines = redact(said.err.decode("utf-8", "replace"), _NO_KEY).split()
    tail = "".join(c if c.isprintable() else "?" for c in " ".join(lines))
    tail = tail if len(tail) <= _TAIL else f"…{tail[-_TAIL:]}"
    how = f"exit code {said.code}" if said.code > 0 else f"signal {-said.code}"
    return f"the command ended with {how}{f': {tail}' if tail else ', and said nothing'}"
