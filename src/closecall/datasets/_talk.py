"""Files whose rows are conversations: the last question and the last answer of each.

The whole conversation stays with the case as metadata, tool calls and definitions of tools
included; whoever can read it there does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from closecall.datasets._fields import INPUT, RESPONSE, plain
from closecall.datasets._strict import flaws_of, parse, too_much
from closecall.datasets._values import Problems, kind, shown

NAMES = ("messages", "conversation", "turns")
"""Columns that hold conversations, in any spelling of the name."""

_USER, _ASSISTANT = "user", "assistant"
_SPEAKERS = {
    "user": _USER,
    "human": _USER,
    "assistant": _ASSISTANT,
    "ai": _ASSISTANT,
    "system": "",
    "developer": "",
    "tool": "",
    "function": "",
}
_PLAIN = frozenset(map(plain, NAMES))
_WORDS = {INPUT: "the user's last turn", RESPONSE: "the assistant's turn after it"}


class Talk(NamedTuple):
    """The column of conversations, and the fields that are taken from it."""

    column: str
    fields: tuple[str, ...]

    def words(self, field: str) -> str:
        """Return where a field comes from, for the sentence about the file."""
        return f"{field} from {_WORDS[field]} in `{self.column}`"


class LastTurns(NamedTuple):
    """The last question and what was answered to it; None where there is no such text."""

    input: str | None = None
    response: str | None = None


def is_talk(column: str) -> bool:
    """Whether a column's name is one that conversations go by."""
    return plain(column) in _PLAIN


def holds_turns(value: Any) -> bool:
    """Whether a value looks like a conversation: a list of objects with a role, or that as JSON.

    Such a name may stand over other things as well, a number of turns or a text.
    """
    if isinstance(value, str):
        return value.lstrip().startswith(("[", "{")) and '"role"' in value
    if isinstance(value, Mapping):
        value = value.get("messages")
    first = value[0] if isinstance(value, (list, tuple)) and value else None
    return isinstance(first, Mapping) and "role" in first


def last_turns(value: Any, column: str, problems: Problems) -> LastTurns:
    """Return the last user's text and the assistant's last text after it.

    Where the user has the last word there is no response yet; where the assistant only calls
    tools there is none either. What cannot be read is added to ``problems``.
    """
    if isinstance(value, str):
        value = _parsed(value, column, problems)
    if isinstance(value, Mapping) and "messages" in value:
        column, value = f"{column}.messages", value["messages"]
    if value is None:
        return LastTurns()
    if not isinstance(value, (list, tuple)):
        problems.append((column, f"expected a list of turns, got {kind(value)}"))
        return LastTurns()
    found = LastTurns()
    for at, turn in enumerate(value):
        place = f"{column}[{at}]"
        speaker = _speaker(turn, place, problems)
        if speaker is None:
            return LastTurns()
        if not speaker:
            continue
        text = _content(turn.get("content"), f"{place}.content", problems)
        if speaker == _USER:
            found = LastTurns(text)
        elif text is not None and text.strip():
            found = found._replace(response=text)
    return found


def _parsed(cell: str, column: str, problems: Problems) -> Any:
    """Return the conversation that a cell holds as JSON, None where it is blank or was refused."""
    if not cell.strip():
        return None
    try:
        value = parse(cell)
    except json.JSONDecodeError:
        problems.append((column, f"expected a list of turns, got a text: {shown(cell)}"))
        return None
    except (RecursionError, ValueError) as error:
        problems.append((column, too_much(error)))
        return None
    flaws = flaws_of({column: value})
    problems.extend(flaws)
    return None if flaws else value


def _speaker(turn: Any, place: str, problems: Problems) -> str | None:
    """Return who speaks, empty for those of no matter here; None when a problem was added."""
    if not isinstance(turn, Mapping):
        problems.append((place, f"expected an object with a role and a content, got {kind(turn)}"))
        return None
    role = turn.get("role")
    speaker = _SPEAKERS.get(role.strip().casefold()) if isinstance(role, str) else None
    if speaker is None:
        problems.append(
            (f"{place}.role", f"expected one of {', '.join(_SPEAKERS)}; got {shown(role)}")
        )
    return speaker


def _content(content: Any, place: str, problems: Problems) -> str | None:
    """Return the text of a turn: a text, or parts that are all texts; None where there is none."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        problems.append((place, f"expected a text or a list of parts, got {kind(content)}"))
        return None
    texts = []
    for at, part in enumerate(content):
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            problems.append((f"{place}[{at}]", "is no text, and only texts can be compared"))
            return None
        texts.append(text)
    return "\n".join(texts)
