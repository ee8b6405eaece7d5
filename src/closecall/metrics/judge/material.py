"""What of a case a judge reads, or what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from closecall.chat.base import Message, ToolCall
from closecall.metrics.facts.given import GivenError
from closecall.metrics.facts.refusal import expected_refusal
from closecall.metrics.judge.conversation import Talk, Tool
from closecall.metrics.judge.fences import Part
from closecall.metrics.sides import not_blank
from closecall.records import Case, State, Unmeasured, is_whole_text


def missing(field: str, *, given: bool, or_else: str = "") -> Unmeasured:
    """Return the absence of what a judge cannot do without; the same words for every case."""
    return Unmeasured(f"the case's {field} is {'blank' if given else 'missing'}{or_else}")


def response_part(case: Case, talk: Talk) -> Part | Unmeasured:
    """Return the response: the case's own, else the assistant's last turn."""
    if talk.response:
        return Part("response", talk.response)
    return missing("response", given=case.response is not None)


def user_part(case: Case, talk: Talk) -> Part | Unmeasured:
    """Return the user's last message."""
    if talk.user:
        return Part("user message", talk.user)
    return missing("input", given=case.input is not None)


def context_parts(case: Case) -> list[Part] | Unmeasured:
    """Return the passages of the context that are not blank."""
    _, passages = not_blank(case.context)
    return numbered("context", passages) or missing("context", given=bool(case.context))


def reference_parts(case: Case) -> list[Part] | Unmeasured:
    """Return the references that are not blank; one of them is enough to be right."""
    _, references = not_blank(case.references)
    return numbered("reference", references) or missing("reference", given=bool(case.references))


def numbered(name: str, texts: Sequence[str]) -> list[Part]:
    """Return texts as parts, with their number where there are several."""
    if len(texts) == 1:
        return [Part(name, texts[0])]
    return [Part(f"{name} {at} of {len(texts)}", text) for at, text in enumerate(texts, start=1)]


def history_parts(talk: Talk) -> list[Part]:
    """Return the conversation up to the answer, where there is more than the user's message."""
    if len(talk.history) <= 1:
        return []
    return [Part("conversation", turns_text(talk.history))]


def action_parts(talk: Talk) -> list[Part]:
    """Return what the assistant did before its response: calls, results and other turns."""
    steps = talk.answer
    if steps and steps[-1].role == "assistant" and not steps[-1].tool_calls:
        steps = steps[:-1]
    parts = [Part("actions of the assistant", turns_text(steps))] if steps else []
    inside = [call for turn in steps for call in turn.tool_calls]
    if talk.calls and list(talk.calls) != inside:
        parts.append(Part("tool calls", "\n".join(map(call_text, talk.calls))))
    return parts


def tool_parts(tools: Sequence[Tool]) -> list[Part]:
    """Return the definitions of tools, one a line."""
    return [Part("tool definitions", "\n".join(tool.text for tool in tools))] if tools else []


def turns_text(turns: Iterable[Message]) -> str:
    """Return turns as a person reads them."""
    return "\n".join(
        line
        for turn in turns
        for line in (
            *([f"[{turn.role}] {turn.content}"] if turn.content.strip() else []),
            *(f"[{turn.role} calls] {call_text(call)}" for call in turn.tool_calls),
        )
    )


def call_text(call: ToolCall) -> str:
    """Return a call as one line of name and arguments."""
    return f"{call.name}({call.arguments})"


def optional(part: Part | Unmeasured) -> list[Part]:
    """Return a part that may be missing as a list of one or none."""
    return [] if isinstance(part, Unmeasured) else [part]


def sendable(parts: Sequence[Part]) -> list[Part] | Unmeasured:
    """Return the parts, or which of them no request can hold."""
    broken = next((part for part in parts if not is_whole_text(part.text)), None)
    if broken is not None:
        return Unmeasured(
            f"the case's {broken.name} holds half a character (a lone surrogate), which cannot "
            "be sent to a judge"
        )
    return list(parts)


def refusal_expected(case: Case) -> Unmeasured | None:
    """Return the absence of judges that a refusal is no matter for, None where none is expected.

    A refusal shares nothing with the context and answers nothing: a low number would say that
    what was right is wrong.
    """
    try:
        expected = expected_refusal(case)
    except GivenError as error:
        return Unmeasured(str(error))
    if expected is None or not expected.refuse:
        return None
    return Unmeasured("a refusal is expected here; refusal checks it", State.NOT_APPLICABLE)
