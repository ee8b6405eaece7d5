"""What a calibration promises and what stands behind it, for the section of the cutoff."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from closecall.calibration.artefact import Calibration
from closecall.calibration.evidence.slices import SliceReport
from closecall.calibration.figures import limit, percent, span
from closecall.calibration.records import Rate
from closecall.report import calibration as report
from closecall.report.calibration_labels import part_words
from closecall.report.calibration_terms import PROMISED
from closecall.report.words import shorten

SHOWN = 160
"""Characters of a response in the list of labels to look at again."""

STATUS = {
    "certified": "✓ yes",
    "not_backed": "✗ not shown",
    "unknown": "? too few labels",
    "counted": "not asked",
}


class Slice(NamedTuple):
    """One slice: what is in it, its errors, and whether the promise holds there by itself."""

    part: str
    n: str
    false_accepts: str
    false_accept_share: str
    false_rejects: str
    false_reject_share: str
    status: str
    kind: str
    needs: str


class Doubt(NamedTuple):
    """A label to look at again; ``link`` leads to its case in the page, if that has it."""

    id: str
    place: str
    response: str
    link: str


class Evidence(NamedTuple):
    """Everything the section says of a calibration."""

    head: tuple[str, ...]
    rest: tuple[str, ...]
    slices: tuple[Slice, ...]
    question: str
    doubts: tuple[Doubt, ...]
    audit: str


def evidence(made: Calibration, ids: Sequence[str]) -> Evidence:
    """Return the evidence of a calibration; ``ids`` are those of the run's cases, in order."""
    lines = report.lines(made)
    end = lines.index("")
    table = made.slices
    return Evidence(
        head=_joined(lines[:end]),
        rest=_joined(lines[end + 1 :]),
        slices=tuple(
            _slice(one) for one in sorted(table.reports, key=lambda one: (-one.n, one.name))
        ),
        question=""
        if table.limit is None
        else f"at most {limit(table.limit)} of {PROMISED[table.errors]} here?",
        doubts=_doubts(made, ids),
        audit=_audit(made),
    )


def _joined(lines: Sequence[str]) -> tuple[str, ...]:
    """Return statements; a line that begins with two spaces belongs to the one above."""
    found: list[str] = []
    for line in lines:
        if line.startswith("  ") and found:
            found[-1] = f"{found[-1]}\n{line.strip()}"
        else:
            found.append(line)
    return tuple(found)


def _slice(one: SliceReport) -> Slice:
    return Slice(
        part=part_words(one),
        n=f"{one.n:,}",
        false_accepts=f"{one.counts.false_accepts:,} of {one.rejects:,}",
        false_accept_share=_share(one.false_accept_rate),
        false_rejects=f"{one.counts.false_rejects:,} of {one.accepts:,}",
        false_reject_share=_share(one.false_reject_rate),
        status=STATUS[one.status],
        kind=one.status,
        needs="" if one.needs is None else f"{one.needs:,} more",
    )


def _share(rate: Rate | None) -> str:
    if rate is None:
        return "none labelled"
    return f"{percent(rate.value, rate.n)} ({span(rate.interval, rate.n)})"


def _doubts(made: Calibration, ids: Sequence[str]) -> tuple[Doubt, ...]:
    """Return the labels to look at again in an order that tells neither their score nor label."""
    sample = made.sample
    rows = {case_id: at for at, case_id in enumerate(sample.ids)}
    wanted = {entry.id for entry in made.audit.entries}
    there = wanted.intersection(ids)
    found = []
    for entry in made.audit.entries:
        at = rows.get(entry.id)
        texts = None if at is None or sample.texts is None else sample.texts[at]
        response = "" if texts is None else shorten(texts.response or "", SHOWN)
        found.append(Doubt(entry.id, entry.place, response, _link(entry.id, there)))
    found.sort(key=lambda doubt: _shuffled(f"{doubt.id}\n{doubt.place}"))
    return tuple(found)


def _link(case_id: str, there: set[str]) -> str:
    """Return the address of a case in the page; an id that no address can hold has none."""
    if case_id not in there:
        return ""
    try:
        return f"#cases?case={quote(case_id, safe='')}"
    except UnicodeEncodeError:
        return ""


def _shuffled(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).digest()


def _audit(made: Calibration) -> str:
    audit = made.audit
    parts = (
        (audit.high_rejects, "labelled reject that the cutoff accepts"),
        (audit.low_accepts, "labelled accept that the cutoff rejects"),
        (audit.conflicts, "labelled both ways"),
    )
    told = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return (
        f"In all {told}; the foremost of each kind are listed, mixed. Neither score nor label "
        "stands beside them: judge each afresh, or corrections only move labels towards the "
        "cutoff."
        if told
        else ""
    )
