"""A request as the OpenAI protocol has it, and what servers refuse of it.

Not every model takes every parameter: reasoning models want ``max_completion_tokens`` and no
temperature, other servers know no seed or no JSON schema. Which, no list could say for long, so a
server's refusal is what tells: it names the parameter, and the request is sent again without.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from closecall.chat.base import ChatRequest, Message
from closecall.embedders.remote.problems import Problem
from closecall.records import is_whole_text

MAX_TOKENS, COMPLETION = "max_tokens", "max_completion_tokens"
FORMAT = "response_format"
NOT_SENT = "not sent"

_SCHEMA, _OBJECT = "json_schema", "json_object"
_STEPS = {
    MAX_TOKENS: (MAX_TOKENS, COMPLETION, NOT_SENT),
    FORMAT: (_SCHEMA, _OBJECT, NOT_SENT),
    "temperature": ("temperature", NOT_SENT),
    "seed": ("seed", NOT_SENT),
}
"""How each parameter is sent, the first way that a server takes."""

_REFUSALS = {400, 422}
_UNSUPPORTED = re.compile(
    r"unsupported|not (?:\w+ )?supported|n[o']t support|only the default|unrecogni[sz]ed"
    r"|not (?:allowed|permitted|implemented)|unknown|unexpected|deprecated"
    r"|extra (?:inputs|fields)",
    re.IGNORECASE,
)
_FORMAT_WORDS = re.compile(
    r"response[_ ]format|json_schema|json_object|structured output", re.IGNORECASE
)


class Adjustments:
    """What a model's server was found not to take; safe to use from several threads.

    Parameters
    ----------
    on_notice
        Called once for each thing found, from the thread that found it.
    name
        Of the model, for the notice.
    """

    def __init__(self, name: str, on_notice: Callable[[str], None] | None = None) -> None:
        self._name = name
        self._on_notice = on_notice
        self._lock = threading.Lock()
        self._steps = dict.fromkeys(_STEPS, 0)

    def found(self) -> dict[str, str]:
        """Return how parameters are sent otherwise than asked, by name; empty: as asked."""
        with self._lock:
            return {name: _STEPS[name][step] for name, step in self._steps.items() if step}

    def ways(self) -> dict[str, str]:
        """Return how each parameter is sent at present."""
        with self._lock:
            return {name: _STEPS[name][step] for name, step in self._steps.items()}

    def learn(self, problem: Problem, sent: Mapping[str, str]) -> bool:
        """Return whether a refused request is worth sending in another form.

        Parameters
        ----------
        problem
            What the server said of the request.
        sent
            The ways its parameters were sent in, of those it had.
        """
        name = _refused_parameter(problem, sent)
        if name is None:
            return False
        with self._lock:
            at = _STEPS[name].index(sent[name])
            if self._steps[name] > at:
                return True  # found meanwhile, by another request
            self._steps[name] = at + 1
            now = _STEPS[name][at + 1]
        if self._on_notice is not None:
            what = "it is not sent" if now == NOT_SENT else f"{now} is sent instead"
            self._on_notice(
                f"{self._name} does not take {sent[name]}, so {what} in this run "
                f"({problem.reason})"
            )
        return True


def _refused_parameter(problem: Problem, sent: Mapping[str, str]) -> str | None:
    """Return the parameter, of those sent, that a server does not take; None: none of them."""
    if problem.status not in _REFUSALS or not sent:
        return None
    said = problem.reason
    field = re.split(r"[.\[]", problem.param)[0]
    if FORMAT in sent and (field == FORMAT or _FORMAT_WORDS.search(said)):
        return FORMAT
    if not _UNSUPPORTED.search(said) and not problem.code.startswith(("unsupported_", "unknown_")):
        return None
    for name, way in sent.items():
        if field == way or (not field and re.search(rf"(?<!\w){way}(?!\w)", said)):
            return name
    # A field that is no parameter of a request: what the words name counts.
    known = {*sent.values(), FORMAT, "messages", "model", "tools"}
    if field and field not in known:
        return next(
            (n for n, way in sent.items() if re.search(rf"(?<!\w){way}(?!\w)", said)), None
        )
    return None


def body_of(
    request: ChatRequest, ways: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what is sent for a request besides the model, and the ways of what it holds.

    Parameters
    ----------
    request
        What is asked.
    ways
        How each parameter is to be sent; see ``Adjustments.ways``.
    """
    wanted: dict[str, Any] = {
        "temperature": request.temperature,
        "seed": request.seed,
        MAX_TOKENS: request.max_tokens,
        FORMAT: None if request.schema is None else _format(request.schema, ways[FORMAT]),
    }
    sent = {
        name: ways[name]
        for name, value in wanted.items()
        if value is not None and ways[name] != NOT_SENT
    }
    body: dict[str, Any] = {"messages": [_message(one) for one in request.messages]}
    body |= {FORMAT if name == FORMAT else way: wanted[name] for name, way in sent.items()}
    if request.tools:
        body["tools"] = list(request.tools)
    return body, sent


def unfit(request: ChatRequest) -> str:
    """Return why a request cannot be sent at all, empty where it can."""
    if not request.messages:
        return "there is no message to reply to"
    texts = [one.content for one in request.messages]
    texts += [call.arguments for one in request.messages for call in one.tool_calls]
    if not all(map(is_whole_text, texts)):
        return (
            "a message holds half of a surrogate pair, which is not a character; the text was "
            "damaged before it came here"
        )
    return ""


def _format(schema: Mapping[str, Any], way: str) -> dict[str, Any]:
    if way != _SCHEMA:
        return {"type": way}
    return {"type": way, way: {"name": "reply", "schema": dict(schema), "strict": True}}


def _message(message: Message) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shown["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
        shown["content"] = message.content or None
    if message.role == "tool":
        shown["tool_call_id"] = message.call_id
    return shown
