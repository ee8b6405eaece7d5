"""What a server sent for one request, read and checked; nothing unsound comes out of here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from closecall.chat.base import ChatReply, ChatUsage, ToolCall
from closecall.embedders.metering import as_count
from closecall.records import is_whole_text

LENGTH = "length"
REFUSAL = "refusal"
"""``finish`` of a reply in which the model declined to follow the schema; its words are the
content."""

_FILTERED = "content_filter"
_WORD = 40


class BadReply(NamedTuple):
    """Why a reply is of no use; ``filtered``: a content filter took it, which is no fault.

    ``usage`` is what it took all the same, where that can be read.
    """

    reason: str
    filtered: bool = False
    usage: ChatUsage = ChatUsage()


def read_reply(body: bytes) -> ChatReply | BadReply:
    """Return what a server sent, or why it cannot be used; ``latency_ms`` is not set.

    A reply cut off at ``max_tokens`` is a reply, with ``finish`` ``length``; it may be empty, as
    when a reasoning model spent all of them before the first word.

    Parameters
    ----------
    body
        The reply's bytes.
    """
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        what = "nothing" if not body.strip() else "something that is not JSON, or cut off"
        return BadReply(f"it sent {what}")
    if not isinstance(found, Mapping):
        return BadReply("it sent JSON that is no reply to a chat")
    if found.get("error"):
        return BadReply("it reported an error in a reply that says success")
    usage = _usage(found)
    read = _chosen(found, usage)
    return read._replace(usage=usage) if isinstance(read, BadReply) else read


def _chosen(found: Mapping[str, Any], usage: ChatUsage) -> ChatReply | BadReply:
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices:
        return BadReply("its reply has no choice in it")
    choice = choices[0] if isinstance(choices[0], Mapping) else {}
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return BadReply("its reply has no message")
    return _read(found, message, _word(choice.get("finish_reason")) or "stop", usage)


def _usage(found: Mapping[str, Any]) -> ChatUsage:
    usage = found.get("usage")
    counted = usage if isinstance(usage, Mapping) else {}
    return ChatUsage(
        as_count(counted.get("prompt_tokens")), as_count(counted.get("completion_tokens"))
    )


def _read(
    found: Mapping[str, Any], message: Mapping[str, Any], finish: str, usage: ChatUsage
) -> ChatReply | BadReply:
    if finish == _FILTERED:
        return BadReply("the server's content filter stopped the reply", filtered=True)
    calls = _calls(message)
    if isinstance(calls, BadReply):
        return calls
    content = _text(message.get("content"))
    refusal = message.get("refusal")
    if content is None and isinstance(refusal, str) and refusal:
        content, finish = refusal, REFUSAL
    if content is None:
        if not calls and finish != LENGTH:
            return BadReply("its message has neither text nor a call of a tool")
        content = ""
    if not all(map(is_whole_text, (content, *(call.arguments for call in calls)))):
        return BadReply("its reply holds half of a surrogate pair, which is not a character")
    model = found.get("model")
    return ChatReply(
        content=content,
        tool_calls=calls,
        finish=finish,
        model=model.strip() if isinstance(model, str) else "",
        usage=usage,
    )


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...] | BadReply:
    given = message.get("tool_calls") or []
    bad = BadReply("its call of a tool has no name or no arguments")
    if not isinstance(given, list):
        return bad
    calls = []
    for one in given:
        function = one.get("function") if isinstance(one, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(name, str) or not name or not isinstance(function, Mapping):
            return bad
        arguments = function.get("arguments", "{}")
        # Some servers send the object instead of its text.
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if not isinstance(arguments, str):
            return bad
        identity = one.get("id")
        calls.append(
            ToolCall(
                name=name, arguments=arguments, id=identity if isinstance(identity, str) else ""
            )
        )
    return tuple(calls)


def _text(content: object) -> str | None:
    """Return the text of a message; of one in parts, the parts that are text and not thought."""
    if isinstance(content, list):
        parts = [
            one.get("text")
            for one in content
            if isinstance(one, Mapping) and one.get("type") in {"text", "output_text"}
        ]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None


def _word(value: object) -> str:
    return value.strip()[:_WORD] if isinstance(value, str) and value.isprintable() else ""
