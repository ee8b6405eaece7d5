"""Requests to a chat model and what came of each: one call for all, one more for repairs.

Nothing a chat model does ends a run or costs another case its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from closecall.chat.base import ChatFailure, ChatModel, ChatReply, ChatRequest, Message
from closecall.errors import ClosecallError, ConfigurationError
from closecall.metrics.judge.reading import MAX_QUOTE, Reading, Unreadable, clip, quoted
from closecall.records import State, Unmeasured

CUT = "length"
FILTERED = "content_filter"
DECLINED = "refusal"

REPAIR = (
    "Your reply could not be read: {why}. Reply again to the same task with the JSON object "
    "alone: no other text, no code fence, every key of the form, nothing out of range."
)

Reader: TypeAlias = Callable[[str], Reading | Unreadable]


class Answer(NamedTuple):
    """What a judge said of one case. Tokens are those of all its calls; None where unknown."""

    reading: Reading
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    repaired: bool = False


class _Bad(NamedTuple):
    """A reply that came and cannot be read."""

    reply: ChatReply
    why: str


def ask(
    chat: ChatModel, requests: Sequence[ChatRequest], read: Reader, *, hint: str
) -> list[Answer | Unmeasured]:
    """Return one answer or absence a request, in order.

    ``hint`` is what to type where a reply was cut off. Two calls of ``complete`` at most; the
    second repeats what could not be read, with the reply that could not.
    """
    first = [_outcome(reply, read, hint) for reply in _complete(chat, requests)]
    bad = {at: one for at, one in enumerate(first) if isinstance(one, _Bad)}
    again = _complete(chat, [_repair(requests[at], one) for at, one in bad.items()])
    repaired = {
        at: _second(one, _outcome(reply, read, hint))
        for (at, one), reply in zip(bad.items(), again, strict=True)
    }
    return [repaired[at] if isinstance(one, _Bad) else one for at, one in enumerate(first)]


def _complete(
    chat: ChatModel, requests: Sequence[ChatRequest]
) -> Sequence[ChatReply | ChatFailure | Unmeasured]:
    """Return a reply, failure or absence for each request, whatever the model does."""
    if not requests:
        return []
    try:
        replies = list(chat.complete(requests))
    except ConfigurationError:
        raise  # a key that is refused, or no such model: it would be so for every case
    except ClosecallError as error:
        return [Unmeasured(f"the judge cannot be used: {error}")] * len(requests)
    except Exception as error:  # noqa: BLE001 - anybody's code: it must not end the run
        reason = f"the judge failed: {type(error).__name__}: {error}"
        return [Unmeasured(reason, State.ERROR)] * len(requests)
    if len(replies) != len(requests):
        reason = f"the judge gave {len(replies)} replies to {len(requests)} requests"
        return [Unmeasured(reason, State.ERROR)] * len(requests)
    return replies


def _outcome(  # noqa: PLR0911 - one line a way to fail
    reply: object, read: Reader, hint: str
) -> Answer | Unmeasured | _Bad:
    if isinstance(reply, Unmeasured):
        return reply
    if isinstance(reply, ChatFailure):
        return Unmeasured(f"the judge gave no reply: {reply.reason}")
    if not isinstance(reply, ChatReply):
        name = type(reply).__name__
        return Unmeasured(f"the judge gave a {name} instead of a reply", State.ERROR)
    if reply.finish == CUT:
        return Unmeasured(f"the judge's reply was cut off: {hint}")
    if reply.finish == FILTERED:
        return Unmeasured("the provider's content filter stopped the judge's reply")
    if not reply.content.strip():
        return Unmeasured("the judge's reply is empty")
    if reply.finish == DECLINED:
        return Unmeasured(f"the judge declined to judge: {quoted(reply.content)}")
    found = read(reply.content)
    if isinstance(found, Unreadable):
        return _Bad(reply, found.why)
    return Answer(found, clip(reply.model, MAX_QUOTE), *reply.usage)


def _repair(request: ChatRequest, bad: _Bad) -> ChatRequest:
    said = bad.reply.content.encode("utf-8", "replace").decode("utf-8")
    return msgspec.structs.replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", content=said),
            Message(role="user", content=REPAIR.format(why=bad.why)),
        ),
    )


def _second(bad: _Bad, outcome: Answer | Unmeasured | _Bad) -> Answer | Unmeasured:
    """Return what a repair made of a reply; both calls were paid for."""
    if isinstance(outcome, Answer):
        tokens = [
            None if one is None or two is None else one + two
            for one, two in zip(bad.reply.usage, outcome[2:4], strict=True)
        ]
        return outcome._replace(
            prompt_tokens=tokens[0], completion_tokens=tokens[1], repaired=True
        )
    if isinstance(outcome, _Bad):
        return Unmeasured(
            f"the judge's reply cannot be read, and neither can its repair ({outcome.why}): "
            f"{quoted(outcome.reply.content)}"
        )
    return Unmeasured(
        f"the judge's reply cannot be read ({bad.why}), and on being asked again: "
        f"{outcome.reason}; it was: {quoted(bad.reply.content)}",
        outcome.state,
    )
