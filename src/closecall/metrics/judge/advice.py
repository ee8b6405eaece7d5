"""What to type next where a judge gave no reply; the same words for every case of one cause."""

from __future__ import annotations

import re

from closecall.chat.base import ChatFailure

AGAIN = "with --record-missing DIR, another run asks only for what failed in this one"

_TOO_LONG = re.compile(
    r"context[_ ](?:length|window)|maximum context|too (?:long|many tokens)", re.IGNORECASE
)
_TIMES = {
    "rate_limited": f"wait, or ask a judge with a higher limit; {AGAIN}",
    "timeout": f"ask a faster judge; {AGAIN}",
    "unreachable": f"see that the judge's server is up; {AGAIN}",
}


def advice(failure: ChatFailure, metric: str, bound: str) -> str:
    """Return what helps against a failure, empty where nothing is known to.

    Parameters
    ----------
    failure
        Why a request has no reply.
    metric
        Name of the judge's metric.
    bound
        What to do about the most tokens of a reply.
    """
    if failure.kind != "refused":
        return _TIMES.get(failure.kind, "")
    said = failure.reason
    if _TOO_LONG.search(said):
        return "the texts do not fit into the judge's window; ask a judge with a longer one"
    if "max_tokens" in said or "max_completion_tokens" in said:
        return f"{bound}, or send none, {metric}:max_tokens=none"
    if "temperature" in said:
        return f"send another, {metric}:temperature=1"
    return ""


def told(reason: str, *more: str) -> str:
    """Return a reason and what to do about it, as one sentence."""
    return "; ".join([reason.rstrip(" ."), *filter(None, more)]) if any(more) else reason
