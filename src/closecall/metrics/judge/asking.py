"""Requests to a chat model and what came of each: one call for all, one more for repairs.

Nothing a chat model does ends a run or costs another case its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from closecall.chat.base import ChatFailure, ChatModel, ChatReply, ChatRequest, Message
from closecall.errors import ClosecallError, ConfigurationError
from closecall.metrics.judge.advice import advice, told
from closecall.metrics.judge.reading import MAX_QUOTE, Reading, Unreadable, clip, quoted
from closecall.records import State, Unmeasured

CUT = "length"
FILTERED = "content_filter"
DECLINED = "refusal"

_CAPABLE = "a judge that follows instructions better, or whose server can hold it to JSON, may do"

REPAIR = (
    "Your reply could not be read: {why}. Reply again to the same task with the JSON object "
    "alone: no other text, no code fence, every key of the form, nothing out of range."
)

Reader: TypeAlias = Callable[[str], Reading | Unreadable]


class Answer(NamedTuple):
    """What a judge said of one case. Tokens are those of all its calls; None where unknown.

    ``replayed`` of the calls came from a recording and were not made anew.
    """

    reading: Reading
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    repaired: bool = False
    replayed: int = 0


class _Bad(NamedTuple):
    """A reply that came and cannot be read."""

    reply: ChatReply
    why: str


class Asking(NamedTuple):
    """How replies are read, and of which metric they are.

    ``bound`` is what to do where a reply is longer than it may be.
    """

    read: Reader
    metric: str
    bound: str


def ask(
    chat: ChatModel, requests: Sequence[ChatRequest], how: Asking
) -> list[Answer | Unmeasured]:
    """Return one answer or absence a request, in order.

    Two calls of ``complete`` at most; the second repeats what could not be read, with the reply
    that could not. A reason has one line for the cause, the same for every case of it; a second
    one quotes the reply.
    """
    first = [_outcome(reply, how) for reply in _complete(chat, requests)]
    bad = {at: one for at, one in enumerate(first) if isinstance(one, _Bad)}
    again = _complete(chat, [_repair(requests[at], one) for at, one in bad.items()])
    repaired = {
        at: _second(one, _outcome(reply, how))
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
    reply: object, how: Asking
) -> Answer | Unmeasured | _Bad:
    if isinstance(reply, Unmeasured):
        return reply
    if isinstance(reply, ChatFailure):
        next_step = advice(reply, how.metric, how.bound)
        return Unmeasured(told(f"the judge gave no reply: {reply.reason}", next_step))
    if not isinstance(reply, ChatReply):
        name = type(reply).__name__
        return Unmeasured(f"the judge gave a {name} instead of a reply", State.ERROR)
    if reply.finish == CUT:
        return Unmeasured(f"the judge's reply was cut off: {how.bound}")
    if reply.finish == FILTERED:
        return Unmeasured("the provider's content filter stopped the judge's reply")
    if not reply.content.strip():
        thinking = f"if it thinks before it answers, {how.bound}"
        return Unmeasured(told("the judge's reply is empty", thinking))
    if reply.finish == DECLINED:
        return Unmeasured(f"the judge declined to judge\nit said: {quoted(reply.content)}")
    found = how.read(reply.content)
    if isinstance(found, Unreadable):
        return _Bad(reply, found.why)
    return Answer(
        found, clip(reply.model, MAX_QUOTE), *reply.usage, replayed=int(reply.latency_ms == 0.0)
    )


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
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            repaired=True,
            replayed=outcome.replayed + int(bad.reply.latency_ms == 0.0),
        )
    if isinstance(outcome, _Bad):
        return Unmeasured(
            f"the judge's reply cannot be read, and neither can its repair ({outcome.why}); "
            f"{_CAPABLE}\nit said: {quoted(outcome.reply.content)}"
        )
    return Unmeasured(
        f"the judge's reply cannot be read ({bad.why}), and on being asked again: "
        f"{outcome.reason}\nfirst it said: {quoted(bad.reply.content)}",
        outcome.state,
    )
