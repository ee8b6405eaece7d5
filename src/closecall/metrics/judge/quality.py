"""Judges of an answer's quality: 1 (worst) to 5 (best), 4 and above pass."""

from __future__ import annotations

from closecall.metrics.judge.conversation import talk_of
from closecall.metrics.judge.fences import Part
from closecall.metrics.judge.material import (
    context_parts,
    history_parts,
    optional,
    reference_parts,
    response_part,
    user_part,
)
from closecall.metrics.judge.metric import JudgeMetric, options
from closecall.records import Case, Unmeasured


def _answered(case: Case) -> list[Part] | Unmeasured:
    """Return the conversation, the user's last message and the response to it."""
    talk = talk_of(case)
    user, response = user_part(case, talk), response_part(case, talk)
    if isinstance(user, Unmeasured):
        return user
    if isinstance(response, Unmeasured):
        return response
    return [*history_parts(talk), user, response]


class LlmRelevance(JudgeMetric):
    """``llm_relevance``: does the response answer what the user asked? Needs input, response."""

    NAME = "llm_relevance"
    NEEDS = ("input", "response")
    QUANTITY = "relevance"
    DESCRIPTION = "Does the response answer the user, 1 to 5, in a chat model's opinion."
    REFUSALS_APART = True

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        return _answered(case)


class LlmCoherence(JudgeMetric):
    """``llm_coherence``: do its ideas follow from one another? Needs the response."""

    NAME = "llm_coherence"
    NEEDS = ("response",)
    QUANTITY = "coherence"
    DESCRIPTION = "Do the response's ideas hang together, 1 to 5, in a chat model's opinion."

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        talk = talk_of(case)
        response = response_part(case, talk)
        if isinstance(response, Unmeasured):
            return response
        return [*optional(user_part(case, talk)), response]


class LlmFluency(JudgeMetric):
    """``llm_fluency``: is it well written? Needs the response, and reads nothing else."""

    NAME = "llm_fluency"
    NEEDS = ("response",)
    QUANTITY = "fluency"
    DESCRIPTION = "Is the response well written, 1 to 5, in a chat model's opinion."

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        response = response_part(case, talk_of(case))
        return response if isinstance(response, Unmeasured) else [response]


class LlmGroundedness(JudgeMetric):
    """``llm_groundedness``: does the context bear out every claim? Needs context, response."""

    NAME = "llm_groundedness"
    NEEDS = ("context", "response")
    QUANTITY = "groundedness"
    DESCRIPTION = "Does the context bear out the response, 1 to 5, in a chat model's opinion."
    REFUSALS_APART = True

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        talk = talk_of(case)
        context, response = context_parts(case), response_part(case, talk)
        if isinstance(context, Unmeasured):
            return context
        if isinstance(response, Unmeasured):
            return response
        return [*context, *optional(user_part(case, talk)), response]


class _AgainstReference(JudgeMetric):
    """A judge that holds the response against the references, with the user's message."""

    NEEDS = ("references", "response")

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        talk = talk_of(case)
        references, response = reference_parts(case), response_part(case, talk)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        return [*optional(user_part(case, talk)), *references, response]


class LlmCompleteness(_AgainstReference):
    """``llm_completeness``: does it hold all of the reference? Needs references, response."""

    NAME = "llm_completeness"
    QUANTITY = "completeness"
    DESCRIPTION = "Does the response hold all of a reference, 1 to 5, in a chat model's opinion."
    REFUSALS_APART = True


class LlmEquivalence(_AgainstReference):
    """``llm_equivalence``: does it say the same as a reference? Needs references, response."""

    NAME = "llm_equivalence"
    QUANTITY = "equivalence"
    DESCRIPTION = (
        "Does the response mean the same as a reference, 1 to 5, in a chat model's opinion."
    )
    DEFAULTS = options(None)


class LlmRetrieval(JudgeMetric):
    """``llm_retrieval``: are the passages what the question needs? Needs input, context.

    The response is not looked at. The order of the passages counts.
    """

    NAME = "llm_retrieval"
    NEEDS = ("input", "context")
    READS_RESPONSE = False
    QUANTITY = "retrieval quality"
    DESCRIPTION = "Do the passages fit the question, 1 to 5, in a chat model's opinion."
    DEFAULTS = options(1600)

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        user, context = user_part(case, talk_of(case)), context_parts(case)
        if isinstance(user, Unmeasured):
            return user
        return context if isinstance(context, Unmeasured) else [user, *context]


class LlmRelevanceTruthCompleteness(JudgeMetric):
    """``llm_relevance_truth_completeness``: three scores of one reply; the lowest is the value.

    An answer that is relevant and complete is still wrong if it is not true, which a mean would
    hide. The details hold ``relevance``, ``truth`` and ``completeness``. Truth is what the judge
    itself believes: nothing is looked up. Needs input, response.
    """

    NAME = "llm_relevance_truth_completeness"
    NEEDS = ("input", "response")
    QUANTITY = "least of relevance, truth and completeness"
    DESCRIPTION = (
        "The lowest of relevance, truth and completeness, 1 to 5, in a chat model's opinion."
    )
    SCORES = ("relevance", "truth", "completeness")
    DEFAULTS = options(None)
    REFUSALS_APART = True

    def _parts(self, case: Case) -> list[Part] | Unmeasured:
        return _answered(case)
