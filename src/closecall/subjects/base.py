"""The contract of a subject: the assistant whose answers are evaluated, whatever it is made of."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, runtime_checkable

import msgspec

from closecall.chat.base import ChatUsage, ToolCall, require_counts
from closecall.errors import UsageError
from closecall.instrument import canonical_json
from closecall.records import JSON, Case, State, Unmeasured


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a subject answered to one case.

    ``finish`` is why it ended: ``length`` is an answer that was cut off at the most tokens
    allowed. ``latency_ms`` is None where nobody measured it, else finite and from 0; 0 says that
    the answer came from a recording.

    Raises
    ------
    UsageError
        A member is not what a run could keep.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: ChatUsage = ChatUsage()
    latency_ms: float | None = None
    finish: str = "stop"

    def __post_init__(self) -> None:
        for name in ("text", "finish"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"Answer.{name} must be a str, got {_kind(getattr(self, name))}")
        require_counts("Answer", self.usage)
        took = self.latency_ms
        if took is not None and not (_is_number(took) and 0 <= took < math.inf):
            raise UsageError(
                f"Answer.latency_ms must be None or a finite number from 0, not a {_kind(took)} "
                "that is neither"
            )


def _kind(value: object) -> str:
    return type(value).__name__


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class SubjectIdentity(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a run records of its subject: nothing in it is secret.

    ``kind`` is ``chat``, ``command`` or ``callable``; ``name`` is what to call it; ``facts`` is
    everything else that can change an answer and is known here.
    """

    kind: str
    name: str
    facts: dict[str, JSON] = {}

    @cached_property
    def digest(self) -> str:
        """Sha256 (hex, 64 characters) over the identity in one fixed spelling."""
        return hashlib.sha256(canonical_json(msgspec.to_builtins(self))).hexdigest()


@runtime_checkable
class Subject(Protocol):
    """Answers cases."""

    @property
    def identity(self) -> SubjectIdentity:
        """What this subject is; never changes during its life."""
        ...

    def answer(self, cases: Sequence[Case]) -> Sequence[Answer | Unmeasured]:
        """Return one answer a case, or why there is none, in the order asked.

        Raises
        ------
        ConfigurationError
            The subject cannot be used at all, whatever the case.
        """
        ...


def no_answer(reason: str) -> Unmeasured:
    """Return the absence of an answer that the subject owes: an error, not a wrong answer."""
    return Unmeasured(f"the subject gave no answer: {reason}", State.ERROR)


NO_INPUT = Unmeasured("the case has no input, so there is nothing to ask the subject")
"""What becomes of a case with neither a response nor something to ask."""
