"""How far the judges of a panel, or several samples of one, agree over a run, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closecall.metrics.judge.agreement import PanelAgreement
from closecall.report.words import plural, rate
from closecall.runs.summary import MetricSummary


def agreement_lines(metrics: Sequence[MetricSummary]) -> Iterator[str]:
    """Yield one line for each metric that several votes a case stand behind."""
    for one in metrics:
        if one.agreement is not None:
            yield f"{one.metric}: {agreement_words(one.agreement)}"


def agreement_words(found: PanelAgreement) -> str:
    """Return who voted, how many pairs of votes are equal, and kappa or why there is none."""
    names = tuple(dict.fromkeys(found.raters))
    votes = len(found.raters)
    if len(names) == 1:
        who = f"{votes} samples of {names[0]}"
    elif len(names) == votes:
        who = f"{votes} judges ({', '.join(names)})"
    else:
        who = f"{votes // len(names)} samples of each of {', '.join(names)}"
    kappa = (
        f"no kappa: {found.undefined}"
        if found.kappa is None
        else f"{found.method} {found.kappa:.2f} (1 is full agreement, 0 no more than chance)"
    )
    return (
        f"{who} gave the same mark in {rate(found.agreed, found.pairs)} pairs of votes over "
        f"{plural(found.items, 'case')}; {kappa}"
    )
