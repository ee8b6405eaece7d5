"""The metrics a judge has to beat: each could be calibrated instead, and needs no fitting."""

from __future__ import annotations

from closecall.metrics.fitted.features import Sides
from closecall.metrics.fitted.support import support_id

SINGLES: dict[Sides, tuple[str, ...]] = {
    "references": (
        "answer_alignment",
        "answer_alignment:lexical=false",
        "alignment_min",
        "token_recall",
        "token_f1",
        "embed_answer_similarity",
    ),
    "context": ("context_alignment", "context_alignment:weakest=true", "embed_response_context"),
}
"""By what a response is judged by; none of them needs a pair model."""


def singles_of(sides: Sides, *, support: bool = False) -> tuple[str, ...]:
    """Return them all; where a judge weighs what the pair model says, that metric is one too."""
    return (*SINGLES[sides], support_id(sides)) if support else SINGLES[sides]
