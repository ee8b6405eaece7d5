"""The conversation of a case: turns, tool calls and tool definitions, as people write them.

They stand in fields of the case that closecall keeps as metadata, at the top or in an object
``metadata``, in any spelling of the name: ``messages``, ``conversation`` or a list ``turns``,
``tool_calls``, ``tool_definitions`` or ``tools``. A cell of a table holds them as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from closecall.chat.base import Message, Speaker, ToolCall
from closecall.datasets._fields import plain
from closecall.errors import ClosecallError
from closecall.records import JSON, Case

MESSAGES = ("messages", "conversation", "turns")
TOOL_CALLS = ("tool_calls",)
TOOLS = ("tool_definitions", "tools")

ROLES: dict[str, Speaker] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""Who speaks, by the words people use for it."""


class ConversationError(ClosecallError):
    """A case's conversation cannot be read; its message becomes the reason of an absence."""


class Tool(NamedTuple):
    """A tool that an assistant may call; ``text`` is its definition as JSON."""

    name: str
    text: str


class Talk(NamedTuple):
    """What was said and done, up to the answer that is judged.

    ``history`` ends with the user's last message, ``user`` is its text, empty where there is none.
    ``answer`` are the turns after it: calls, their results, and texts. ``response`` is the text
    that is judged, empty where there is none. ``calls`` are those of the answer.
    """

    history: tuple[Message, ...]
    user: str
    answer: tuple[Message, ...]
    response: str
    calls: tuple[ToolCall, ...]


def talk_of(case: Case) -> Talk:
    """Return the conversation of a case.

    Messages may be the whole conversation, with the response as their last turn, or what went
    before an input and a response. An input that is none of the user's turns comes after them.

    Raises
    ------
    ConversationError
        A field cannot be read, or says something else than another.
    """
    turns = _messages(case)
    asked, response = _text(case.input), _text(case.response)
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    known = [turns[at].content.strip() for at in users]
    # An earlier question of a whole conversation stands in its place already.
    open_to = known if _whole(turns, response) else known[-1:]
    if asked and asked.strip() not in open_to:
        turns = (*turns, Message(role="user", content=asked))
        users.append(len(turns) - 1)
    end = users[-1] + 1 if users else _leading(turns)
    history, answer = turns[:end], turns[end:]
    said = answer[-1].content if answer and answer[-1].role == "assistant" else ""
    if not response:
        response = said if said.strip() else ""
    elif said.strip() and said.strip() != response.strip():
        raise ConversationError(
            "the case's response is not the assistant's last turn in its messages; leave one out"
        )
    calls = _calls(case)
    if calls is None:
        calls = tuple(call for turn in answer for call in turn.tool_calls)
    user = turns[users[-1]].content if users else ""
    return Talk(history, user if user.strip() else "", answer, response, calls)


def tools_of(case: Case) -> tuple[Tool, ...]:
    """Return the definitions of tools that a case holds, empty where it holds none.

    Raises
    ------
    ConversationError
        One of them cannot be read.
    """
    found = _field(case, TOOLS)
    if found is None:
        return ()
    name, value = found
    if isinstance(value, Mapping):
        value = value.get("tools", [value]) if "name" not in value else [value]
    return tuple(
        _tool(item, f"{name}[{at}]") for at, item in enumerate(_list(value, name, "tools"))
    )


def uncovered(calls: Iterable[ToolCall], tools: Sequence[Tool]) -> str | None:
    """Return the name of the first call that no definition is of, None where there is none."""
    defined = {tool.name for tool in tools}
    return next((call.name for call in calls if call.name not in defined), None)


def _text(text: str | None) -> str:
    return text if text is not None and text.strip() else ""


def _whole(turns: Sequence[Message], response: str) -> bool:
    """Whether the last turn is the response, so that nothing comes after these messages."""
    if not turns or turns[-1].role != "assistant":
        return False
    said = turns[-1].content.strip()
    return said == response.strip() if response else bool(said or turns[-1].tool_calls)


def _leading(turns: Sequence[Message]) -> int:
    """Return how many turns there are before the assistant's first, where no user speaks."""
    return next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))


def _field(case: Case, names: Sequence[str]) -> tuple[str, Any] | None:
    """Return name and value of a case's field, JSON in a text read; None where it says nothing."""
    wanted = {plain(name) for name in names}
    found = [
        (name, value)
        for name, value in _fields(case.metadata)
        if plain(name) in wanted and value not in (None, "", [], {})
    ]
    found = [(n, v) for n, v in found if not (isinstance(v, str) and not v.strip())]
    # Many files count their turns under that name.
    found = [(n, v) for n, v in found if plain(n) != "turns" or isinstance(v, list | tuple)]
    if not found:
        return None
    if len(found) > 1:
        raise ConversationError(
            f"the case has both {found[0][0]} and {found[1][0]}, which mean the same; keep one"
        )
    name, value = found[0]
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ConversationError(f"the case's {name} is a text that is no JSON") from None
    return name, value


def _fields(metadata: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    for name, value in metadata.items():
        if name == "metadata" and isinstance(value, Mapping):
            yield from ((str(inner), kept) for inner, kept in value.items())
        else:
            yield name, value


def _list(value: Any, name: str, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ConversationError(f"the case's {name} must be a list of {what}, got {_kind(value)}")
    return value


def _messages(case: Case) -> tuple[Message, ...]:
    found = _field(case, MESSAGES)
    if found is None:
        return ()
    name, value = found
    if isinstance(value, Mapping):
        value = value.get("messages", value)
    return tuple(
        _message(item, f"{name}[{at}]") for at, item in enumerate(_list(value, name, "turns"))
    )


def _message(item: Any, where: str) -> Message:
    if not isinstance(item, Mapping):
        raise ConversationError(f"the case's {where} must be an object, got {_kind(item)}")
    role = item.get("role")
    speaker = ROLES.get(role.strip().casefold()) if isinstance(role, str) else None
    if speaker is None:
        raise ConversationError(f"the case's {where}.role must be one of {', '.join(ROLES)}")
    calls = item.get("tool_calls")
    listed = () if calls is None else _list(calls, f"{where}.tool_calls", "calls")
    call_id = item.get("tool_call_id")
    return Message(
        role=speaker,
        content=_content(item.get("content"), where),
        tool_calls=tuple(_call(one, f"{where}.tool_calls[{at}]") for at, one in enumerate(listed)),
        call_id=call_id if isinstance(call_id, str) else "",
    )


def _content(content: Any, where: str) -> str:
    """Return the text of a turn: a text, or parts of which all are texts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise ConversationError(
            f"the case's {where}.content must be a text or a list of parts, got {_kind(content)}"
        )
    texts = []
    for at, part in enumerate(content):
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            raise ConversationError(
                f"the case's {where}.content[{at}] is no text; only texts are judged"
            )
        texts.append(text)
    return "\n".join(texts)


def _calls(case: Case) -> tuple[ToolCall, ...] | None:
    found = _field(case, TOOL_CALLS)
    if found is None:
        return None
    name, value = found
    items = [value] if isinstance(value, Mapping) else _list(value, name, "calls")
    return tuple(_call(item, f"{name}[{at}]") for at, item in enumerate(items))


def _call(item: Any, where: str) -> ToolCall:
    """Return a call written as the OpenAI protocol does, or as an object of name and arguments."""
    if not isinstance(item, Mapping):
        raise ConversationError(f"the case's {where} must be an object, got {_kind(item)}")
    inner = item.get("function")
    body = inner if isinstance(inner, Mapping) else item
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ConversationError(f"the case's {where} has no name")
    given: Any = next((body[key] for key in ("arguments", "args", "input") if key in body), {})
    arguments = given if isinstance(given, str) else _dumped(given, f"{where}.arguments")
    call_id = item.get("id")
    return ToolCall(name=name, arguments=arguments, id=call_id if isinstance(call_id, str) else "")


def _tool(item: Any, where: str) -> Tool:
    if not isinstance(item, Mapping):
        raise ConversationError(
            f"the case's {where} must be an object with a name, as a tool's definition is, got "
            f"{_kind(item)}"
        )
    inner = item.get("function")
    body = cast("Mapping[str, Any]", inner if isinstance(inner, Mapping) else item)
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ConversationError(f"the case's {where} has no name")
    return Tool(name, _dumped(dict(body), where))


def _dumped(value: Any, where: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        raise ConversationError(f"the case's {where} is no JSON value") from None


def _kind(value: object) -> str:
    return "a text" if isinstance(value, str) else type(value).__name__
