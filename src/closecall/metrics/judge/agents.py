"""Judges of what an agent understood, did and called."""

from __future__ import annotations

from closecall.metrics.judge.conversation import Talk, Tool, talk_of, tools_of, uncovered
from closecall.metrics.judge.fences import Part
from closecall.metrics.judge.material import (
    action_parts,
    history_parts,
    missing,
    optional,
    response_part,
    tool_parts,
    user_part,
)
from closecall.metrics.judge.metric import JudgeMetric
from closecall.metrics.judge.scale import TRUTH
from closecall.records import Case, Unmeasured


def _defined(case: Case, talk: Talk) -> tuple[Tool, ...] | Unmeasured:
    """Return the definitions of tools, of every tool that is called."""
    tools = tools_of(case)
    if talk.calls and not tools:
        return missing("tool_definitions", given=False, or_else=", and the response calls tools")
    name = uncovered(talk.calls, tools)
    if name is not None:
        return Unmeasured(f"the case's tool_definitions have no {name!r}, which is called")
    return tools


class _Agent(JudgeMetric):
    """A judge of a whole turn of an agent: what was asked, done and said."""

    NEEDS = ("input", "response")

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        talk = talk_of(case)
        user, response = user_part(case, talk), response_part(case, talk)
        if isinstance(user, Unmeasured):
            return user
        if isinstance(response, Unmeasured):
            return response
        tools = _defined(case, talk)
        if isinstance(tools, Unmeasured):
            return tools
        return [
            *tool_parts(tools),
            *history_parts(talk),
            user,
            *action_parts(talk),
            response,
        ]


class LlmIntentResolution(_Agent):
    """``llm_intent_resolution``: was the user's intent understood and met?

    Needs the conversation (or an input) and a response; definitions of tools where the response
    calls any. 1 to 5, 4 and above pass.
    """

    NAME = "llm_intent_resolution"
    QUANTITY = "intent resolution"
    DESCRIPTION = "Was the user's intent understood and met, 1 to 5, in a chat model's opinion."


class LlmTaskAdherence(_Agent):
    """``llm_task_adherence``: did the assistant keep to its task and its instructions?

    Needs the conversation (or an input) and a response; definitions of tools where the response
    calls any. 1 to 5, 4 and above pass.
    """

    NAME = "llm_task_adherence"
    QUANTITY = "task adherence"
    DESCRIPTION = "Did the assistant keep to its task, 1 to 5, in a chat model's opinion."


class LlmToolCallAccuracy(JudgeMetric):
    """``llm_tool_call_accuracy``: 1 where the right tools are called in the right way, else 0.

    Needs the conversation (or an input), at least one call, and a definition of every tool
    called. A case without a call is not measured. Where several judges are evenly split the
    value is 0.5, which fails.
    """

    NAME = "llm_tool_call_accuracy"
    NEEDS = ("input",)
    QUANTITY = "tool call accuracy"
    DESCRIPTION = "1 where the right tools are called rightly, in a chat model's opinion, else 0."
    SCALE = TRUTH

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        talk = talk_of(case)
        user = user_part(case, talk)
        if isinstance(user, Unmeasured):
            return user
        if not talk.calls:
            return missing(
                "tool_calls", given=False, or_else=", and its messages end without a call"
            )
        tools = _defined(case, talk)
        if isinstance(tools, Unmeasured):
            return tools
        return [
            *tool_parts(tools),
            *history_parts(talk),
            user,
            *action_parts(talk),
            *optional(response_part(case, talk)),
        ]
