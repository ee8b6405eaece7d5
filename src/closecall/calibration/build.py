"""From labelled rows to a calibration: the cutoff, then everything that must be said beside it.

The cutoff and its certificate come from rows that nothing else was tuned on. Where there are
enough, a third of the groups is set aside before any score is looked at and only tests the result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from closecall._version import __version__
from closecall.calibration.artefact import (
    SCHEMA,
    Calibration,
    DataFacts,
    MetricFacts,
    SeparationFacts,
)
from closecall.calibration.cautions import Circumstances, cautions
from closecall.calibration.curve import curve_of
from closecall.calibration.drift.canary_record import CanaryRecord, score_noise
from closecall.calibration.evidence.close_calls import close_calls
from closecall.calibration.evidence.held_out import held_out
from closecall.calibration.evidence.locked import LockedTest, lock, measure_locked
from closecall.calibration.evidence.other_limits import other_limits
from closecall.calibration.evidence.probability import fit_probability
from closecall.calibration.evidence.slices import slice_table
from closecall.calibration.evidence.slicing import Slicer
from closecall.calibration.goals import Goal, Rule
from closecall.calibration.groups import clusters
from closecall.calibration.head.judge import Judged
from closecall.calibration.head.promise import approximate
from closecall.calibration.inputs import Bools, Labelled
from closecall.calibration.labels.agreement import Agreement, noise_floor
from closecall.calibration.labels.audit import label_audit
from closecall.calibration.labels.label_facts import (
    LabelFacts,
    refuse_active,
    refuse_made_up,
    warn_active,
    warn_made_up,
)
from closecall.calibration.labels.rows import LabelledRows
from closecall.calibration.records import (
    Certificate,
    Clusters,
    Cutoff,
    Errors,
    Infeasible,
    Reason,
)
from closecall.calibration.sample import (
    part,
    sample_of,
    slicer_without_texts,
    units,
    without_texts,
)
from closecall.calibration.separation import separation
from closecall.calibration.store import sealed
from closecall.errors import DataError
from closecall.instrument import Instrument, canonical_json
from closecall.metrics.base import MetricSpec

PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Material:
    """Labelled rows, with what they were measured by.

    ``slices`` has one mapping a row. ``judged`` is there where the metric was fitted to these
    rows, whose scores are then its own; ``aside`` marks those it was not allowed to see.
    """

    rows: LabelledRows
    facts: LabelFacts
    slicer: Slicer
    slices: Sequence[Mapping[str, str]]
    name: str
    digest: str
    metric: MetricSpec
    embedder: str
    window: str
    instrument: Instrument
    canaries: CanaryRecord
    judged: Judged | None = None
    aside: Bools | None = None

    def rule(self, data: Labelled, goal: Goal) -> Rule | Infeasible:
        """Return what the goal makes of some of the rows, and what that is worth."""
        found = goal.fit(data)
        if self.judged is None or not self.judged.judge.approximate:
            return found
        return found if isinstance(found, Infeasible) else approximate(found)


@dataclass(frozen=True, slots=True)
class History:
    """What is known of earlier calibrations on the same labels.

    ``lock`` says whether to set rows aside, where there are enough. ``tested`` names groups that
    tested a cutoff before, ``uses`` how often; ``chose`` those that had a part in choosing one.
    """

    tried: int = 1
    lock: bool = True
    tested: frozenset[str] = frozenset()
    uses: int = 0
    chose: frozenset[str] = frozenset()


def build(
    material: Material,
    goal: Goal,
    *,
    created: str,
    history: History | None = None,
    keep_texts: bool = True,
) -> Calibration | Infeasible:
    """Return the calibration, or why there is none; O(n log n) for each of some 30 fits.

    Raises
    ------
    DataError
        A promise is asked of labels that were picked by score or made by ``closecall stress``, or
        there are no labels.
    """
    history = history or History()
    if not material.rows.rows:
        raise DataError(
            f"{material.name}: no row has a label and a score; label rows with accept or reject"
        )
    if goal.promises:
        refuse_active(material.facts)
        refuse_made_up(material.facts)
        _refuse_own_rows(material)
    if not keep_texts:
        cases = material.rows.cases
        material = replace(
            material,
            slices=without_texts(material.slices, cases),
            slicer=slicer_without_texts(material.slicer, cases),
        )
    everything = material.rows.labelled(goal.decimals)
    aside, rule = _fitted(material, everything, goal, history)
    if isinstance(rule, Infeasible):
        return rule
    parts = _Parts(material, goal, rule, everything, aside, history)
    return sealed(_whole(parts, created, keep_texts=keep_texts))


def _refuse_own_rows(material: Material) -> None:
    """Refuse a promise from the rows a metric was fitted on: it knows their labels already."""
    if material.digest in material.metric.fitted_on:
        raise DataError(
            f"{material.name}: {material.metric.id} was fitted on these very cases, so a promise "
            "from them would be broken far more often than stated; calibrate on other labels"
        )


def _fitted(
    material: Material, data: Labelled, goal: Goal, history: History
) -> tuple[Bools, Rule | Infeasible]:
    """Return which rows are set aside to test the cutoff, and the rule of the others.

    None are where only all labels together are enough for the promise. That is settled by how
    many there are, so a promise is still looked for once: on scores that did not keep it, no
    second try is made with more rows.
    """
    nothing = np.zeros(len(data.scores), dtype=np.bool_)
    if material.judged is not None:
        # What the judge has not seen was settled before it was fitted.
        unseen = nothing if material.aside is None else material.aside
        return unseen, material.rule(part(data, ~unseen & ~material.judged.trained), goal)
    names = [row.group for row in material.rows.rows]
    aside = lock(names, data.accept, seed=goal.seed) if history.lock else None
    if aside is None:
        return nothing, goal.fit(data)
    rule = goal.fit(part(data, ~aside))
    if not isinstance(rule, Infeasible):
        return aside, rule
    # An approximate guarantee weighs labels by their scores: it lacks more than their number.
    if rule.reason is Reason.PROMISE_OUT_OF_REACH and goal.guarantee != "approximate":
        return nothing, goal.fit(data)
    count = int(np.count_nonzero(aside))
    message = f"{rule.message} ({count:,} labels more were set aside to test the cutoff)"
    return aside, msgspec.structs.replace(rule, message=message)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a calibration is put together from; ``aside`` marks the rows that only test it."""

    material: Material
    goal: Goal
    rule: Rule
    everything: Labelled
    aside: Bools
    history: History


def _whole(parts: _Parts, created: str, *, keep_texts: bool) -> Calibration:
    material, goal, rule = parts.material, parts.goal, parts.rule
    everything, aside, history = parts.everything, parts.aside, parts.history
    judged = material.judged
    chose = ~aside if judged is None else ~aside & ~judged.trained
    data, rows = part(everything, chose), material.rows.rows
    used = np.flatnonzero(chose).tolist()
    curve = curve_of(data)
    ranked = separation(
        curve,
        accepts=units(data, data.accept),
        rejects=units(data, ~data.accept),
    )
    first = rule if isinstance(rule, Cutoff) else rule.accept
    evidence = first.evidence
    certificate = evidence if isinstance(evidence, Certificate) else None
    errors: Errors = certificate.errors if certificate else "false_accepts"
    limit = goal.max_frr if goal.max_far is None else goal.max_far
    table = slice_table(
        data,
        [material.slices[i] for i in used],
        rule,
        limit=limit,
        # Of two promises each has half of what may be spent.
        delta=None if limit is None else goal.delta / goal.looks / (2 if goal.two else 1),
        errors=errors,
        seed=goal.seed,
    )
    apart = held_out(data, goal.fit, seed=goal.seed)
    agreed = material.rows.agreement
    scale = _scale(material.metric, data)
    percent = PERCENT if material.metric.high == PERCENT else 1.0
    return Calibration(
        schema=SCHEMA,
        digest="",
        created=created,
        producer=__version__,
        metric=MetricFacts.of(material.metric),
        embedder=material.embedder,
        window=material.window,
        instrument=material.instrument,
        instrument_digest=material.instrument.digest,
        goal=goal,
        rule=rule,
        separation=SeparationFacts(auc=ranked.auc, interval=ranked.interval),
        promises=other_limits(goal, data),
        held_out=apart,
        locked=_tested(parts),
        slices=table,
        close_calls=close_calls(data, rule, score_noise(material.canaries, percent)),
        probability=fit_probability(data),
        audit=label_audit(
            [rows[i].case.id for i in used],
            [rows[i].case.place for i in used],
            data,
            rule,
            material.rows.conflicts,
        ),
        data=_facts(parts, chose, agreed, first),
        cautions=cautions(
            curve,
            rule,
            Circumstances(
                separation=ranked,
                held_out=apart,
                slices=table,
                agreement=agreed,
                conflicts=len(material.rows.conflicts),
                active=_not_drawn(material.facts),
                truncated=sum(row.truncated for row in material.rows.rows),
                tried=history.tried,
                looks=goal.looks if goal.promises and goal.guarantee != "average" else None,
                scale=scale,
                errors=errors,
                clusters=_clusters(data, first, errors),
            ),
        ),
        tried=history.tried,
        slicer=material.slicer,
        canaries=material.canaries,
        sample=sample_of(
            material.rows,
            everything,
            material.slices,
            aside,
            texts=keep_texts,
            trained=None if judged is None else judged.trained,
        ),
        judge=None if judged is None else judged.judge,
    )


def _clusters(data: Labelled, cutoff: Cutoff, errors: Errors) -> Clusters | None:
    """Return how the rows at risk of one group move together at this cutoff."""
    if data.groups is None:
        return None
    taken = data.scores >= cutoff.value
    wrong, at_risk = (~taken, data.accept) if errors == "false_rejects" else (taken, ~data.accept)
    return clusters(wrong[at_risk], data.groups[at_risk])


def _not_drawn(facts: LabelFacts) -> str | None:
    """Return what is to be said of labels that are no random sample, None of others."""
    told = [said for said in (warn_active(facts), warn_made_up(facts)) if said is not None]
    return "; ".join(told) or None


def _scale(metric: MetricSpec, data: Labelled) -> float:
    if metric.low is not None and metric.high is not None:
        return metric.high - metric.low
    return float(data.scores.max() - data.scores.min())


def _tested(parts: _Parts) -> LockedTest | None:
    aside = parts.aside
    if not aside.any():
        return None
    rows = parts.material.rows.rows
    names = [[rows[i].case.id, rows[i].accept] for i in np.flatnonzero(aside)]
    digest = hashlib.sha256(canonical_json(names)).hexdigest()
    groups = {rows[i].group for i in np.flatnonzero(aside)}
    history = parts.history
    before = history.uses if groups & history.tested else 0
    # Rows that helped to choose an earlier cutoff were looked at then.
    before = max(before, 1) if groups & history.chose else before
    return measure_locked(
        parts.rule, part(parts.everything, aside), digest=digest, uses=before + 1
    )


def _facts(parts: _Parts, used: Bools, agreed: Agreement | None, cutoff: Cutoff) -> DataFacts:
    material, data, rows = parts.material, parts.everything, parts.material.rows
    kept = cutoff.counts
    floor = None
    if agreed is not None:
        floor = noise_floor(agreed, true_accepts=kept.true_accepts, accepts=kept.accepts)
    return DataFacts(
        name=material.name,
        digest=material.digest,
        rows=rows.seen,
        unlabelled=rows.unlabelled,
        used=int(np.count_nonzero(used)),
        accepts=int(np.count_nonzero(data.accept & used)),
        rejects=int(np.count_nonzero(~data.accept & used)),
        groups=None if data.groups is None else units(data, used),
        grouped_by=rows.grouped_by,
        locked=int(np.count_nonzero(parts.aside)),
        merged=rows.merged,
        conflicts=rows.conflicts,
        unmeasured=dict(rows.unmeasured),
        truncated=sum(row.truncated for row in material.rows.rows),
        active=material.facts.active,
        made_up=material.facts.made_up,
        agreement=agreed,
        noise_floor=floor,
        attributed=rows.attributed,
        joined=rows.joined,
    )
