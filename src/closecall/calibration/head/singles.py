"""The metrics a judge has to beat: each could be calibrated instead, and needs no fitting."""

from __future__ import annotations

from closecall.metrics.fitted.features import Sides

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
"""By what a response is judged by."""
