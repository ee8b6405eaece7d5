"""A retrieval evaluation in sentences: what was searched, who is better, what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.report.words import number, plural
from closecall.retrieval.estimates import PERCENTILE, PERCENTILE_GROUPS, Estimate
from closecall.retrieval.results import Contrast, RetrievalResult, SystemResult, WorstQuery

DIGITS = 3
LEAST_P = 1e-4
"""Smaller ones are not told apart."""
REASONS = 3
RESAMPLED = (PERCENTILE, PERCENTILE_GROUPS)

SAID = {
    "recall": "recall",
    "precision": "precision",
    "hit": "hit",
    "mrr": "MRR",
    "ndcg": "nDCG",
    "map": "MAP",
    "rprec": "R-precision",
}
UNGRADED = (
    "A document that nobody graded counts as not relevant. Where few were graded, a search that "
    "finds other right ones looks worse than it is."
)


def measure(name: str) -> str:
    """Return the name of a measure as people write it.

    >>> measure("ndcg@10"), measure("rprec")
    ('nDCG@10', 'R-precision')
    """
    kind, sep, k = name.partition("@")
    return f"{SAID[kind]}{sep}{k}"


def cell(estimate: Estimate | None) -> str:
    """Return a mean with its interval, ``0.889 (0.848-0.924)``; a dash for none."""
    if estimate is None:
        return "-"
    span = estimate.interval
    if span is None:
        return f"{number(estimate.value, DIGITS)} (no interval)"
    return (
        f"{number(estimate.value, DIGITS)} "
        f"({number(span.low, DIGITS)}-{number(span.high, DIGITS)})"
    )


def title(found: RetrievalResult) -> str:
    """Return what was searched, for the first line."""
    return (
        f"{found.name}: {plural(found.queries_asked, 'question')} to "
        f"{plural(found.documents, 'document')}, tested: {found.systems[0].name}"
    )


def reading(found: RetrievalResult) -> Iterator[str]:
    """Yield how the collection was read, and what of it could not be used."""
    yield (
        f"{found.graded:,} grades in {found.qrels}; relevant from grade {found.relevant_from} on; "
        f"up to {found.depth:,} documents ranked for each question."
    )
    without = found.queries_total - found.queries_asked
    if without:
        yield (
            f"{without:,} of {plural(found.queries_total, 'question')} have no relevant document "
            "and are in no figure."
        )
    if found.strange_queries:
        yield (
            f"{plural(found.strange_queries, 'graded question')} not among the questions: "
            "left out."
        )
    if found.strange_documents:
        yield (
            f"{plural(found.strange_documents, 'graded document')} not in the corpus: they count "
            "as relevant and cannot be found."
        )
    for line in found.reading:
        yield f"{line[:1].upper()}{line[1:]}."


def drawn(found: RetrievalResult) -> str:
    """Return how the intervals were made, and why there is none where there is none."""
    how = found.drawing
    grouped = found.groups < found.queries_asked
    unit = (
        f"{plural(found.groups, 'group')} of questions"
        if grouped
        else plural(found.groups, "question")
    )
    method = PERCENTILE_GROUPS if grouped else PERCENTILE
    said = (
        f"In brackets: {100 * how.level:g}% intervals, {method} ({unit}, {how.resamples:,} "
        f"resamples, seed {how.seed})."
    )
    shown = [one for system in found.systems for one in system.measures.values()]
    if any(one.interval and one.interval.method not in RESAMPLED for one in shown):
        said += (
            " Where all questions have the same value: how far others, not seen among these, may "
            "take it (Clopper-Pearson)."
        )
    for why in dict.fromkeys(one.why for one in shown if one.interval is None and one.why):
        said += f" No interval: {why}."
    return said


def contrast(one: Contrast) -> str:
    """Return two searches on one measure: the counts, the difference, the verdict."""
    name = measure(one.measure)
    said = (
        f"{name}: {one.tested} {number(one.value_tested, DIGITS)}, {one.other} "
        f"{number(one.value_other, DIGITS)}; difference {one.difference:+.{DIGITS}f}"
    )
    if one.interval is not None:
        said += (
            f" ({100 * one.interval.level:g}% interval {one.interval.low:+.{DIGITS}f} to "
            f"{one.interval.high:+.{DIGITS}f})"
        )
    why = one.why if one.verdict != "cannot tell" else f"C{one.why[1:]}"
    return f"{said}. {why}."


def helps(found: RetrievalResult) -> str | None:
    """Return whether embeddings help at all, where BM25 stands beside them."""
    tested = found.systems[0]
    against = next(
        (
            one
            for one in found.contrasts
            if any(s.name == one.other and s.kind == "bm25" for s in found.systems)
        ),
        None,
    )
    if tested.kind != "dense" or against is None:
        return None
    return {
        "better": f"Embeddings help here: {tested.name} beats searching by words.",
        "worse": f"Embeddings do not help here: searching by words beats {tested.name}.",
        "cannot tell": "Whether embeddings beat searching by words, these questions cannot tell.",
    }[against.verdict]


def tests(found: RetrievalResult) -> str:
    """Return how differences were tested."""
    draws = next((one.draws for one in found.contrasts if one.draws is not None), None)
    many = f"{draws:,} ways drawn, seed {found.drawing.seed}" if draws else "all ways counted"
    holm = ", corrected for their number (Holm)" if len(found.contrasts) > 1 else ""
    return f"Tested by swapping results question by question or group by group ({many}){holm}."


def missing(found: RetrievalResult) -> Iterator[str]:
    """Yield the questions that a search has no ranking of, and why."""
    for system in found.systems:
        if system.kind == "fusion":
            continue
        lost = sum(system.not_measured.values())
        if lost:
            yield (
                f"{system.name}: {lost:,} of {plural(found.queries_asked, 'question')} not "
                "measured"
            )
        for reason, count in list(system.not_measured.items())[:REASONS]:
            yield f"  {count:,}: {reason}"
    if len({system.n for system in found.systems}) > 1:
        yield (
            "Columns of another n are about other questions. What is compared below, is compared "
            "on those that both measured."
        )


def notes(system: SystemResult) -> Iterator[str]:
    """Yield what is worth knowing of a search."""
    facts = system.facts
    if system.kind == "bm25":
        yield (
            f"{system.name}: {facts['library']}, k1 {facts['k1']:g}, b {facts['b']:g}; "
            f"{facts['words']}."
        )
    if system.kind == "fusion":
        yield (
            f"{system.name}: reciprocal rank fusion (k {facts['k']}) of the first "
            f"{facts['depth']:,} documents of each."
        )
    yield from (f"{system.name}: {note}." for note in system.notes)


def worst_lines(one: WorstQuery) -> Iterator[tuple[str, str]]:
    """Yield (heading, text) for a question and its documents; texts are as they came."""
    yield f"{number(one.value, DIGITS)}  {one.id}", one.text
    for found in one.found:
        grade = "not graded" if found.grade is None else f"grade {found.grade}"
        yield f"found {found.rank} ({found.score:.3f}, {grade}) {found.id}", found.text
    for right in one.relevant:
        where = (
            f"rank {right.rank:,}"
            if right.rank is not None
            else "not found"
            if right.in_corpus
            else "not in the corpus"
        )
        yield f"relevant ({where}) {right.id}", right.text
    if one.relevant_count > len(one.relevant):
        yield f"and {one.relevant_count - len(one.relevant):,} more relevant", ""
