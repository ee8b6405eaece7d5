"""From a case to the messages a chat model is asked with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast, get_args

from closecall.chat.base import Message, Speaker, ToolCall
from closecall.records import Case, Unmeasured
from closecall.subjects.base import NO_INPUT

FIELDS = ("messages", "conversation")
"""Fields of a case's metadata that hold a whole conversation instead of one question."""

_SPEAKERS = get_args(Speaker)
# Newer spellings of the same two roles.
_OTHER_SPELLINGS = {"developer": "system", "human": "user"}


def messages_of(
    case: Case, system_prompt: str | None = None, *, context: bool = False
) -> tuple[Message, ...] | Unmeasured:
    """Return what to ask of a case, or why it cannot be asked.

    Parameters
    ----------
    case
        Its ``messages`` or ``conversation``, where its metadata has one, is sent as it stands:
        a list of turns with ``role`` and ``content``. Otherwise its input is one user's message.
    system_prompt
        Said first, unless the case's conversation has a system's turn of its own.
    context
        Put the case's context before the question. Of a conversation nothing is changed.
    """
    field = next((name for name in FIELDS if case.metadata.get(name)), None)
    if field is not None:
        turns = _turns(case.metadata[field], field)
        if isinstance(turns, Unmeasured):
            return turns
    elif case.input is None or not case.input.strip():
        return NO_INPUT
    else:
        turns = (
            Message(role="user", content=_question(case.input, case.context if context else ())),
        )
    if system_prompt is None or any(turn.role == "system" for turn in turns):
        return turns
    return (Message(role="system", content=system_prompt), *turns)


def _question(question: str, context: tuple[str, ...]) -> str:
    if not context:
        return question
    passages = "\n\n".join(context)
    return f"Context:\n{passages}\n\nQuestion:\n{question}"


def _turns(value: object, field: str) -> tuple[Message, ...] | Unmeasured:
    if not isinstance(value, list):
        return Unmeasured(f"{field} must be a list of turns with a role and a content")
    turns = []
    for at, one in enumerate(value):
        turn = _turn(one)
        if isinstance(turn, str):
            return Unmeasured(f"{field}[{at}] {turn}")
        turns.append(turn)
    if turns[-1].role not in {"user", "tool"}:
        return Unmeasured(
            f"{field} ends with a turn of the {turns[-1].role}, so nothing is left to answer"
        )
    return tuple(turns)


def _turn(value: object) -> Message | str:
    """Return one turn, or what is wrong with it."""
    if not isinstance(value, Mapping):
        return "must be an object with a role and a content"
    given = value.get("role")
    role = _OTHER_SPELLINGS.get(given, given) if isinstance(given, str) else given
    if role not in _SPEAKERS:
        return f"must have a role of {', '.join(_SPEAKERS)}"
    content = value.get("content")
    calls = _calls(value.get("tool_calls"))
    if isinstance(calls, str):
        return calls
    if content is None and calls:
        content = ""
    if not isinstance(content, str):
        return "must have a content that is a text"
    call_id = value.get("tool_call_id", "")
    return Message(
        role=cast("Speaker", role),
        content=content,
        tool_calls=calls,
        call_id=call_id if isinstance(call_id, str) else "",
    )


def _calls(value: Any) -> tuple[ToolCall, ...] | str:
    bad = "must have tool_calls with a function's name and arguments"
    if value is None:
        return ()
    if not isinstance(value, list):
        return bad
    calls = []
    for one in value:
        function = one.get("function", one) if isinstance(one, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str) or not isinstance(function, Mapping):
            return bad
        arguments = function.get("arguments", "{}")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        identity = one.get("id")
        calls.append(
            ToolCall(name=name, arguments=text, id=identity if isinstance(identity, str) else "")
        )
    return tuple(calls)
