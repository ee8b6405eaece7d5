"""What to keep in mind with a cutoff: each caution has a code that stays, and words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import msgspec

from closecall.calibration.curve import ErrorCurve
from closecall.calibration.evidence.held_out import HeldOut
from closecall.calibration.evidence.slices import SliceTable
from closecall.calibration.figures import percent, plain
from closecall.calibration.labels.agreement import Agreement
from closecall.calibration.records import Clusters, Cutoff, Errors, Optimum, TwoCutoffs
from closecall.calibration.separation import Separation

FEW = 100
"""Fewer labels of a class than this leave wide intervals."""

WIDE = 0.05
"""A gap, or a spread of cutoffs, wider than this share of the scale is worth a word."""

WEAK = 0.7
"""A lower bound of the separation below this: the score barely tells the two apart."""

TIED = 0.05
POOR_KAPPA = 0.6

_CLASS = {"false_accepts": "rejects", "false_rejects": "accepts"}


class Meaning(NamedTuple):
    """What a caution says, and what to do about it: one short sentence each, without a stop."""

    what: str
    do: str


CAUTIONS: dict[str, Meaning] = {
    "W1": Meaning("there are few labels, so the true error rates may lie far off", "label more"),
    "W2": Meaning(
        "the cutoff lies at the edge of the scores that were labelled",
        "label answers that score there, or ask for another limit",
    ),
    "W3": Meaning(
        "the cutoff could as well stand elsewhere",
        "label more; until then look at answers that score in between yourself",
    ),
    "W4": Meaning(
        "the score barely tells good answers from wrong ones",
        "try another metric or model, or let people decide",
    ),
    "W5": Meaning(
        "wrong answers score higher than good ones: there is no cutoff",
        "check that labels are not swapped; turn a distance into a closeness",
    ),
    "W6": Meaning(
        "many answers share one score next to the cutoff, and all fall on one side",
        "look at a few of them; a metric with finer scores tells them apart",
    ),
    "W7": Meaning(
        "many labels belong to few questions or groups, so they say less than their number",
        "label answers to more questions rather than more answers to each",
    ),
    "W8": Meaning(
        "for some parts of the answers there are too few labels to say anything",
        "label more of the parts that matter to you",
    ),
    "W9": Meaning(
        "the labels contradict each other",
        "agree on what counts as good, and label the disputed answers again",
    ),
    "W10": Meaning(
        "answers are longer or shorter than the labelled ones were",
        "label the cases named beside it",
    ),
    "W11": Meaning(
        "a system answers that has no labels", "label some of its answers and calibrate again"
    ),
    "W12": Meaning(
        "labels were picked by score or made by closecall stress, so they are no random sample",
        "label some picked at random; --leave-out-active leaves out those picked by score",
    ),
    "W13": Meaning(
        "some texts were longer than the model reads",
        "read them in pieces: --window chunk; a pair model never does, so look at those yourself",
    ),
    "W14": Meaning(
        "cases have more or fewer references than the labelled ones had",
        "label the cases named beside it",
    ),
    "W15": Meaning("the calibration is old and much used", "label recent cases picked at random"),
    "W16": Meaning(
        "several calibrations were tried on the same labels, and the best of them flatters",
        "say beforehand with --looks how many you will try, or label new answers",
    ),
}
"""Every caution by its code: W5 comes as a refusal; W10, W11, W14 and W15 with a run."""

WORST_FIRST = ("W12", "W4", "W9", "W16", "W2", "W13", "W6", "W3", "W1", "W7", "W8")
"""Which caution of a calibration to name where there is room for one."""


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to keep in mind; ``code`` is ``W1`` to ``W16`` and keeps its meaning."""

    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"

    @property
    def meaning(self) -> Meaning:
        """What it says of any calibration, and what to do."""
        return CAUTIONS[self.code]


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What the cautions of a calibration are drawn from, besides the rule and its curve.

    ``active`` says what is to be said of labels that are no random sample, ``scale`` how wide the
    metric's scale is. ``looks`` is None where nothing is promised that could be divided among
    looks. ``clusters`` are those of the class that ``errors`` are about.
    """

    separation: Separation
    held_out: HeldOut | None
    slices: SliceTable
    agreement: Agreement | None
    conflicts: int
    active: str | None
    truncated: int
    tried: int
    looks: int | None
    scale: float
    errors: Errors
    clusters: Clusters | None


def cautions(
    curve: ErrorCurve, rule: Cutoff | TwoCutoffs, facts: Circumstances
) -> tuple[Caution, ...]:
    """Return the cautions of a calibration, by code."""
    found: dict[str, list[str]] = {}
    parts = (
        _of_labels(curve, facts),
        _of_slices(facts),
        _of_history(facts),
        _of_spread(facts),
        *(_of_place(curve, cutoff, name, facts) for cutoff, name in _cutoffs(rule)),
    )
    for code, text in chain.from_iterable(parts):
        found.setdefault(code, []).append(text)
    return tuple(
        Caution(code=code, text="; ".join(found[code])) for code in sorted(found, key=_number)
    )


def _number(code: str) -> int:
    return int(code[1:])


def _of_labels(curve: ErrorCurve, facts: Circumstances) -> Iterator[tuple[str, str]]:
    few = [
        f"{n} {name}"
        for n, name in ((curve.rejects, "rejects"), (curve.accepts, "accepts"))
        if n < FEW
    ]
    if few:
        yield "W1", f"only {' and '.join(few)}: the intervals are wide"
    ranked = facts.separation
    if ranked.interval.low < WEAK:
        n = curve.accepts + curve.rejects
        text = (
            "the score barely tells accepts from rejects: an accept outscores a reject in "
            f"{percent(ranked.auc, n)} of pairs ({curve.accepts} accepts, {curve.rejects} "
            f"rejects), and perhaps in {percent(ranked.interval.low, n)} only"
        )
        yield "W4", text
    together = facts.clusters
    if together is not None and together.groups < together.n:
        text = (
            f"{together.n} {_CLASS[facts.errors]} come from {together.groups} groups, and rows of "
            "one group are not independent"
        )
        yield "W7", text
    if facts.conflicts:
        items = "1 item carries" if facts.conflicts == 1 else f"{facts.conflicts} items carry"
        yield "W9", f"{items} both labels, set aside"
    agreed = facts.agreement
    if agreed is not None and agreed.kappa is not None and agreed.kappa < POOR_KAPPA:
        text = (
            f"two labels of one item agree in {agreed.agreed} of {agreed.pairs} cases (kappa "
            f"{agreed.kappa:.2f}; 1 is full agreement, 0 no more than chance)"
        )
        yield "W9", text


def _of_slices(facts: Circumstances) -> Iterator[tuple[str, str]]:
    unknown = sum(report.status == "unknown" for report in facts.slices.reports)
    if unknown:
        yield "W8", f"too few labels to say anything of {unknown} of {facts.slices.examined} parts"


def _of_history(facts: Circumstances) -> Iterator[tuple[str, str]]:
    if facts.active is not None:
        yield "W12", facts.active
    if facts.truncated:
        rows = (
            "1 labelled row has"
            if facts.truncated == 1
            else f"{facts.truncated} labelled rows have"
        )
        yield "W13", f"{rows} a text that was read only in part"
    if facts.tried > (facts.looks or 1):
        text = (
            f"calibration number {facts.tried} on these labels: the best of several tries looks "
            "better than it is"
        )
        if facts.looks is not None:
            text += (
                f", and the promise is divided among {facts.looks} "
                f"{'look' if facts.looks == 1 else 'looks'}; say with --looks how many you make"
            )
        yield "W16", text


def _of_spread(facts: Circumstances) -> Iterator[tuple[str, str]]:
    apart = facts.held_out
    if apart is None or apart.cutoff_low is None or apart.cutoff_high is None:
        return
    if apart.cutoff_high - apart.cutoff_low > 2 * WIDE * facts.scale:
        text = (
            f"chosen on {apart.folds - 1} of {apart.folds} parts of the labels, the cutoff moves "
            f"between {plain(apart.cutoff_low)} and {plain(apart.cutoff_high)}"
        )
        yield "W3", text


def _cutoffs(rule: Cutoff | TwoCutoffs) -> tuple[tuple[Cutoff, str], ...]:
    if isinstance(rule, Cutoff):
        return ((rule, "the cutoff"),)
    if not rule.abstains:
        return ((rule.accept, "the cutoff"),)
    return (rule.accept, "the cutoff to accept from"), (rule.reject, "the cutoff to reject below")


def _of_place(
    curve: ErrorCurve, cutoff: Cutoff, name: str, facts: Circumstances
) -> Iterator[tuple[str, str]]:
    total = curve.accepts + curve.rejects
    row = curve.row(cutoff.value)
    edge = f"{name} lies at the edge of what was seen"
    if cutoff.gap.low is None:
        yield "W2", f"{edge}: every labelled answer scores as high"
    elif row == 1:
        yield "W2", f"{edge}: only the highest labelled score reaches it"
    evidence = cutoff.evidence
    gap = (evidence.plateau if isinstance(evidence, Optimum) else None) or cutoff.gap
    if gap.low is not None and gap.high - gap.low > WIDE * facts.scale:
        text = (
            f"{name} could stand anywhere above {plain(gap.low)} and up to {plain(gap.high)}: the "
            "labels cannot tell these places apart"
        )
        yield "W3", text
    tied = max(_at(curve, row), _at(curve, row + 1))
    if tied > TIED * total:
        yield "W6", f"{tied} of {total} labelled answers share one score next to {name}"


def _at(curve: ErrorCurve, row: int) -> int:
    """Return how many rows have the score that row ``row`` adds."""
    if not 1 <= row < len(curve.true_accepts):
        return 0
    kept = curve.true_accepts[row] - curve.true_accepts[row - 1]
    wrong = curve.false_accepts[row] - curve.false_accepts[row - 1]
    return int(kept + wrong)
