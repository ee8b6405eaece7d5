"""What a report of a calibration calls things: the error promised, the label at risk, the unit."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.calibration.artefact import Calibration
from closecall.calibration.labels.items import BY_QUESTION
from closecall.calibration.records import Certificate, Cutoff, Errors

CLASS: dict[Errors, str] = {"false_accepts": "wrong answers", "false_rejects": "good answers"}
ONE: dict[Errors, str] = {"false_accepts": "wrong answer", "false_rejects": "good answer"}
PROMISED: dict[Errors, str] = {
    "false_accepts": "wrong answers accepted",
    "false_rejects": "good answers rejected",
}
OPTION: dict[Errors, str] = {"false_accepts": "--max-far", "false_rejects": "--max-frr"}


def unit(made: Calibration) -> str:
    """Return what rows belong together in: a question only where nothing else made the groups."""
    return "question" if made.data.grouped_by == BY_QUESTION else "group"


def units(made: Calibration, errors: Errors) -> str:
    """Return what the labels of a promise are counted in."""
    grouped = made.data.groups is not None and made.goal.guarantee != "approximate"
    return f"{unit(made)}s with {CLASS[errors]}" if grouped else CLASS[errors]


def backing(made: Calibration) -> Iterator[Certificate]:
    """Yield the certificate of each promise; none where nothing is promised."""
    rule = made.rule
    for cutoff in (rule,) if isinstance(rule, Cutoff) else (rule.accept, rule.reject):
        if isinstance(cutoff.evidence, Certificate):
            yield cutoff.evidence


def noisy(made: Calibration) -> bool:
    """Whether the labels contradict each other too often for the false-accept rate promised."""
    floor, promised = made.data.noise_floor, made.goal.max_far
    return floor is not None and promised is not None and floor > promised
