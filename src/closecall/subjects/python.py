"""A Python function as the subject."""

from __future__ import annotations

import hashlib
import inspect
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from closecall.chat.side_by_side import side_by_side
from closecall.errors import ConfigurationError, UsageError
from closecall.records import Case, Unmeasured, is_whole_text
from closecall.subjects.base import NO_INPUT, Answer, SubjectIdentity, no_answer
from closecall.subjects.conversation import FIELDS


class CallableSubject:
    """Calls a function with each case; what it returns is the answer.

    Parameters
    ----------
    function
        Given a ``Case``, returns a str or an ``Answer``. What it raises becomes the reason why
        that case has no answer; a ``ConfigurationError`` ends the run.
    name
        What to call it; None: its module and name.
    version
        Whatever tells one version of it from another; its source's hash where it can be read.
    in_flight
        Calls at a time, in threads; more than one needs a function that is safe for that.

    Raises
    ------
    UsageError
        It cannot be called, or only awaited.
    """

    def __init__(
        self,
        function: Callable[[Case], str | Answer],
        *,
        name: str | None = None,
        version: str | None = None,
        in_flight: int = 1,
    ) -> None:
        if not callable(function):
            raise UsageError(
                f"a subject must be a function of a case, got {type(function).__name__}"
            )
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - a question about it, not whether
        ):
            raise UsageError(
                "a subject must be a plain function; wrap an asynchronous one in "
                "lambda case: asyncio.run(function(case))"
            )
        if in_flight < 1:
            raise UsageError(f"in_flight must be at least 1, got {in_flight}")
        self._function = function
        self._in_flight = in_flight
        self._identity = SubjectIdentity(
            kind="callable",
            name=name or _name(function),
            facts={"version": version or "", "source_sha256": _source(function)},
        )

    @property
    def identity(self) -> SubjectIdentity:
        """The function's name and version."""
        return self._identity

    def answer(self, cases: Sequence[Case]) -> list[Answer | Unmeasured]:
        """Return what the function makes of each case, or why there is nothing.

        Raises
        ------
        ConfigurationError
            The function says that no case can be answered.
        """
        return side_by_side(
            lambda at: self._one(cases[at]), len(cases), self._in_flight, threading.Event()
        )

    def _one(self, case: Case) -> Answer | Unmeasured:
        if not asks_something(case):
            return NO_INPUT
        started = time.perf_counter()
        try:
            said = self._function(case)
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - one case's error must not end the run
            return no_answer(f"{type(error).__name__}: {error}")
        # 0 would say that it came from a recording.
        took = max(round((time.perf_counter() - started) * 1000, 3), 0.001)
        if isinstance(said, str):
            said = Answer(text=said)
        if not isinstance(said, Answer):
            return no_answer(f"it returned {type(said).__name__} instead of a str or an Answer")
        if not is_whole_text(said.text):
            return no_answer("it holds half of a surrogate pair, which is not a character")
        return (
            said if said.latency_ms is not None else msgspec.structs.replace(said, latency_ms=took)
        )


def asks_something(case: Case) -> bool:
    """Return whether a case has an input, or a conversation in its metadata."""
    return bool((case.input or "").strip()) or any(case.metadata.get(name) for name in FIELDS)


def _name(function: Callable[..., object]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', type(function).__module__)}.{name}"


def _source(function: Callable[..., object]) -> str:
    """Return the sha256 of a function's source; empty where there is none to read."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
