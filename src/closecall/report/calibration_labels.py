"""What a calibration says of its labels: slices, noise, cautions, and mistakes to check."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.calibration.artefact import Calibration
from closecall.calibration.evidence.slices import SliceReport, SliceTable
from closecall.calibration.evidence.slicing import (
    LENGTH,
    MIXED,
    NEGATION,
    NO_LETTERS,
    NUMBERS,
    REFERENCES,
    SCRIPT,
    SYSTEM,
    TAG_KEY,
    TAGS,
)
from closecall.calibration.figures import at_most, limit, percent, plain
from closecall.calibration.labels.audit import AuditEntry
from closecall.calibration.records import Rate
from closecall.report.calibration_terms import PROMISED, noisy, unit, units
from closecall.report.words import plural, shorten

SLICES = 8
NEEDED = 3
AUDITED = 5
FEW = 20
"""So many high-scoring rejects, or fewer, are likely mistakes; more are the score's failure."""

SHOWN = 60
"""Characters of a response beside its place."""

_PARTS = {
    (NEGATION, "cue"): "answers with a negation word",
    (NEGATION, "none"): "answers without a negation word",
    (NUMBERS, "in both"): "answers with a number where the reference has one",
    (NUMBERS, "not in both"): "answers where answer or reference has no number",
    (LENGTH, "shortest quarter"): "the shortest quarter of answers",
    (LENGTH, "second quarter"): "the second-shortest quarter of answers",
    (LENGTH, "third quarter"): "the second-longest quarter of answers",
    (LENGTH, "longest quarter"): "the longest quarter of answers",
    (SCRIPT, MIXED): "answers in mixed scripts",
    (SCRIPT, NO_LETTERS): "answers without letters",
}


def lines(calibration: Calibration) -> Iterator[str]:
    """Yield a statement a line; lines that begin with two spaces belong above."""
    yield from _slices(calibration)
    yield from _noise(calibration)
    yield from _unmeasured(calibration)
    yield from _cautions(calibration)
    yield from _audit(calibration)


def part_words(report: SliceReport) -> str:
    """Return what a slice holds, in words that need no explaining."""
    name, value = report.name, report.value
    if (name, value) in _PARTS:
        return _PARTS[name, value]
    if name == REFERENCES:
        return f"cases with {value} reference{'' if value == '1' else 's'}"
    if name == SCRIPT:
        return f"answers in {value} script"
    if name == SYSTEM:
        return f"answers of {value}"
    if name == TAGS or name.startswith(TAG_KEY):
        return f"cases tagged {value}"
    return f"{name} = {value}"


def worst_part(table: SliceTable) -> str | None:
    """Return the slice in which most errors are seen beyond the limit, with its counts."""

    def rate(report: SliceReport) -> Rate | None:
        accepted = table.errors == "false_accepts"
        return report.false_accept_rate if accepted else report.false_reject_rate

    found = [
        (each.count - table.limit * each.n, report, each)
        for report in table.reports
        if table.limit is not None
        and report.status == "not_backed"
        and (each := rate(report)) is not None
        and each.value > table.limit
    ]
    if not found:
        return None
    _, report, each = max(found, key=lambda one: one[0])
    return f"{part_words(report)}: {each.count:,} of {each.n:,} {PROMISED[table.errors]}"


def _slices(made: Calibration) -> Iterator[str]:
    table = made.slices
    if not table.reports:
        return
    if table.limit is None:
        yield f"Slices, {table.examined} looked at; errors are counted, nothing is promised:"
        counted = sorted(table.reports, key=lambda report: -report.n)
        yield from (f"  {part_words(report)}: {_errors(report)}" for report in counted[:SLICES])
        if len(counted) > SLICES:
            yield f"  and {len(counted) - SLICES} more; --format json lists them"
        return
    yield (
        f"Slices: are at most {limit(table.limit)} of {PROMISED[table.errors]} in each by itself?"
    )
    certified, failing, unknown = (
        [report for report in table.reports if report.status == status]
        for status in ("certified", "not_backed", "unknown")
    )
    if certified:
        yield from _backed(made, table, certified)
    failing.sort(key=lambda report: -report.at_risk)
    yield from (f"  not shown for {part_words(report)}: {_errors(report)}" for report in failing)
    if failing and table.common is not None and table.common_counts is not None:
        counts = table.common_counts
        yield (
            f"  At cutoff {plain(table.common)} it is yes in every slice with labels enough; that "
            f"accepts {counts.false_accepts:,} of {counts.rejects:,} wrong answers and rejects "
            f"{counts.false_rejects:,} of {counts.accepts:,} good ones."
        )
    if unknown:
        yield _unknown(made, table, unknown)


def _backed(made: Calibration, table: SliceTable, reports: list[SliceReport]) -> Iterator[str]:
    """Say where the promise holds: always one of the exact kind, whatever the whole was given."""
    yield from (f"  yes for {part_words(report)}: {_errors(report)}" for report in reports)
    broken = at_most((table.delta_each or 0.0) * table.candidates)
    said = f"  Yes holds for all of these at once but for at most {broken} of calibrations"
    if made.approximate:
        said += ": approximate, like the promise above"
    elif made.goal.guarantee != "exact":
        said += ": the exact kind of promise, unlike the one above"
    if table.per == "group":
        said += f"; it is a share of {unit(made)}s"
    yield f"{said}."


def _unknown(made: Calibration, table: SliceTable, reports: list[SliceReport]) -> str:
    # Where most answers are, more labels settle most.
    foremost = sorted(reports, key=lambda report: (-report.n, report.needs or 0))[:NEEDED]
    named = "; ".join(f"{part_words(report)}, {report.needs or 0:,}" for report in foremost)
    return (
        f"  too few labels to say anything of {len(reports)} of {table.examined} parts looked at "
        f"(W8; most needed, in {units(made, table.errors)}: {named})"
    )


def _errors(report: SliceReport) -> str:
    counts = report.counts
    return (
        f"{counts.false_accepts:,} of {report.rejects:,} wrong answers accepted, "
        f"{counts.false_rejects:,} of {report.accepts:,} good ones rejected"
    )


def _noise(made: Calibration) -> Iterator[str]:
    data = made.data
    if data.joined:
        yield f"Groups that share an item count as one: {data.joined:,} of them."
    agreed, floor = data.agreement, data.noise_floor
    if agreed is None:
        copies = (
            f" ({plural(data.merged, 'row')} with the same label twice by one id or person: no "
            "second opinion)"
            if data.merged
            else ""
        )
        yield f"Label noise: not measured{copies}; label a tenth of the rows twice to know it."
        return
    against = agreed.pairs - agreed.agreed
    if data.attributed:
        kappa = (
            ""
            if agreed.kappa is None
            else f", kappa {agreed.kappa:.2f} (1 is full agreement, 0 no more than chance)"
        )
        yield f"Label noise: {agreed.agreed:,} of {agreed.pairs:,} double labels agree{kappa}."
        if data.attributed < agreed.pairs:
            left = agreed.pairs - data.attributed
            yield f"  {left:,} of them name no annotators: copies, or a second opinion?"
    else:
        repeat = "row repeats" if agreed.agreed == 1 else "rows repeat"
        yield (
            f"Label noise: {agreed.agreed:,} {repeat} another with the same label (copies, or a "
            f"second opinion? only the latter measures noise), {against:,} with the other one."
        )
        yield "  Say who labelled in a column annotator, and it is known."
    if floor and not noisy(made):
        yield (
            f"  False-accept rates below about {percent(floor, agreed.pairs)} cannot be "
            "measured with labels like these."
        )


def _unmeasured(made: Calibration) -> Iterator[str]:
    data = made.data
    for reason, count in sorted(data.unmeasured.items(), key=lambda item: -item[1])[:3]:
        yield f"Without a score, {count:,}: {reason}"


def _cautions(made: Calibration) -> Iterator[str]:
    for caution in made.cautions:
        if caution.code != "W8":  # it stands with the slices
            do = caution.meaning.do
            yield f"Caution {caution}. {do[0].upper()}{do[1:]}."


def _audit(made: Calibration) -> Iterator[str]:
    audit = made.audit
    again = "Check these labels again, without looking at the score: "
    for kind, count, head in (
        (
            "conflicting duplicate",
            audit.conflicts,
            "Labelled both ways and set aside; settle which is right",
        ),
        (
            "high-scoring reject",
            audit.high_rejects,
            f"{again}labelled reject, and the cutoff accepts them"
            + ("; the likeliest labelling mistakes" if audit.high_rejects <= FEW else ""),
        ),
        (
            "low-scoring accept",
            audit.low_accepts,
            (
                "And as many of these, so that corrections go both ways: "
                if audit.high_rejects
                else again
            )
            + "labelled accept, and the cutoff rejects them",
        ),
    ):
        most = AUDITED
        if kind == "low-scoring accept" and audit.high_rejects:
            most = min(AUDITED, audit.high_rejects)
        entries = [entry for entry in audit.entries if entry.kind == kind][:most]
        if entries:
            yield f"{head} ({count:,} in all):"
            yield from (f"  {line}" for line in _entries(made, entries))


def _entries(made: Calibration, entries: list[AuditEntry]) -> Iterator[str]:
    sample = made.sample
    number = {case_id: at for at, case_id in enumerate(sample.ids)}
    for entry in entries:
        if entry.kind == "conflicting duplicate":
            yield f"{entry.place or entry.id}: {entry.note}"
            continue
        at = number.get(entry.id)
        texts = None if at is None or sample.texts is None else sample.texts[at]
        shown = "" if texts is None or not texts.response else shorten(texts.response, SHOWN)
        yield f"{entry.place or entry.id}{': ' if shown else ''}{shown}"
