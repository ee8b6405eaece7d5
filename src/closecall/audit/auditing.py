"""``audit``: what is wrong with a file of cases. The command line calls nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from closecall.audit.contradictions import (
    candidates,
    contradictions,
    read_texts,
    texts_wanted,
)
from closecall.audit.duplicates import duplicates, field_facts, near_duplicates
from closecall.audit.gaps import blank_texts, cut_off, model_texts, no_reference
from closecall.audit.languages import language_detector
from closecall.audit.leaks import leaks
from closecall.audit.limits import NAMES
from closecall.audit.looking import Looking
from closecall.audit.mix import languages
from closecall.audit.one_label import one_label
from closecall.audit.questions import questions_of, split_questions
from closecall.audit.records import Audit, Check, FileFacts, Finding
from closecall.audit.rows import FIELDS, Rows, Texts
from closecall.audit.stock import labels
from closecall.audit.vectors import TextVectors, embed_texts
from closecall.datasets import OnBadRow
from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.records import Case
from closecall.runs.asked import PathLike, chosen_embedder, open_run_cache, read_cases
from closecall.runs.header import DatasetFacts
from closecall.runs.runner import Progress

SIMILARITY = 0.95
"""Cosine from which on two texts are near, unless another is asked for."""

TEXTS_ONLY = "no text was embedded, as asked"

_Cases = PathLike | Iterable[Case | Mapping[str, Any]]


def audit(
    cases: _Cases,
    other: _Cases | None = None,
    embedder: Embedder | str | None = None,
    *,
    similarity: float = SIMILARITY,
    texts_only: bool = False,
    fields: Sequence[str] = FIELDS,
    group: str | None = None,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    content: bool = True,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Audit:
    """Look for what is wrong with the cases of a file, or of two that are to be kept apart.

    Duplicates, leaks, labels that contradict each other, texts that are missing or too long,
    languages, clusters of one label, and what the labels can back.

    Parameters
    ----------
    cases, other
        Case files or cases, as ``evaluate`` takes them; ``other`` is the test set of a
        calibration on ``cases``, say.
    embedder
        An embedder or a name; None: the bundled model.
    similarity
        Cosine, above 0 and at most 1, from which on two texts are near.
    texts_only
        Embed nothing; what takes vectors is then not measured.
    fields
        Whose texts to embed, some of ``input``, ``response``, ``references`` and ``context``.
    group
        What makes a group; as in ``calibrate``.
    window, threads, mapping, on_bad_row, cache, on_notice
        As in ``evaluate``.
    content
        False keeps the texts out of the findings.
    progress
        Called with (done, total), in cases embedded and texts searched for.

    Returns
    -------
    Audit
        O(n) time for what is found by text, O(n**2 d) for neighbours; memory is about 1 KiB a
        case and text, and 4 d bytes a distinct text that is compared.

    Raises
    ------
    DatasetError
        Rows cannot be read.
    UsageError, ConfigurationError
        An argument is wrong, or the embedder cannot be used.
    """
    if isinstance(similarity, bool) or not 0 < similarity <= 1:
        raise UsageError(f"similarity must be above 0 and at most 1, got {similarity!r}")
    wanted = _fields(fields)
    given = [cases] if other is None else [cases, other]
    read = [read_cases(one, mapping, on_bad_row, _NEEDED) for one in given]
    names = _names([facts for _, facts in read])
    rows = Rows(names, Texts(language_detector()))
    # Prepared before any pass over the texts, so that a wrong name ends it at once.
    used = None if texts_only else chosen_embedder(embedder, window, threads)
    sources = [source for source, _ in read]
    for source in sources:
        for _ in rows.add(source, group):
            pass
    steps = _Steps(progress, rows, searching=not texts_only)
    vectors = None
    if used is not None:
        store = open_run_cache(used[1], cache, on_notice)
        with closing(store) if store is not None else nullcontext():
            cached = CachedEmbedder(used[1], store)
            cached.prepare()
            vectors = embed_texts(rows, sources, cached, wanted, steps.add)
    look = Looking(rows, vectors, TEXTS_ONLY, similarity, steps.add)
    checks, findings = _look(look, sources, group)
    steps.done()
    return Audit(
        files=tuple(_facts(look, at, facts, group) for at, (_, facts) in enumerate(read)),
        embedder=None if used is None else used[0],
        model=None if used is None else used[1].instrument.model,
        instrument=None if used is None else used[1].instrument.digest,
        similarity=similarity,
        checks=tuple(sorted(checks, key=lambda check: NAMES.index(check.name))),
        findings=tuple(
            finding if content else _without_texts(finding)
            for finding in sorted(findings, key=lambda finding: NAMES.index(finding.check))
        ),
    )


_NEEDED = frozenset({*FIELDS, "label", "group"})


def _look(
    look: Looking, sources: Sequence[Iterable[Case]], group: str | None
) -> tuple[list[Check], list[Finding]]:
    checks: list[Check] = []
    findings: list[Finding] = []

    def add(found: tuple[Check | list[Check], list[Finding]]) -> None:
        checks.extend(found[0] if isinstance(found[0], list) else [found[0]])
        findings.extend(found[1])

    for file, source in enumerate(sources):
        add(duplicates(look, file))
        questions = questions_of(look, file)
        add(near_duplicates(look, file, questions))
        add(split_questions(look, file, questions))
        add(one_label(look, file, questions))
        for check in (blank_texts, no_reference, model_texts, cut_off, languages):
            add(check(look, file))
        add(labels(look, file, source, group))
    if len(sources) > 1:
        add(leaks(look))
    pairs = candidates(look)
    add(contradictions(look, pairs, read_texts(look, sources, texts_wanted(look, pairs))))
    return checks, findings


class _Steps:
    """Progress over everything: each case embedded and each text searched for is a step.

    The number of steps is known about only, so the end is where it ends.
    """

    def __init__(self, progress: Progress | None, rows: Rows, *, searching: bool) -> None:
        self._progress = progress or (lambda _done, _total: None)
        # Embedded, searched for by its question, and compared with answers to the same.
        self._total = len(rows.rows) * (3 if searching else 1)
        self._done = 0

    def add(self, steps: int) -> None:
        self._done = min(self._done + steps, self._total)
        self._progress(self._done, self._total)

    def done(self) -> None:
        self._progress(self._total, self._total)


def _fields(fields: Sequence[str]) -> tuple[str, ...]:
    wrong = [name for name in fields if name not in FIELDS]
    if isinstance(fields, str) or wrong or not fields:
        raise UsageError(f"fields takes some of {', '.join(FIELDS)}, got {fields!r:.80}")
    return tuple(name for name in FIELDS if name in fields)


def _names(facts: Sequence[DatasetFacts]) -> tuple[str, ...]:
    """Return a short name of each file, whole paths where two have one name."""
    paths = [one.path for one in facts]
    if len(paths) > 1 and paths[0] is not None and paths[0] == paths[1]:
        raise UsageError(f"both files are {paths[0]}; name one, or two that differ")
    short = [f"cases {at + 1}" if p is None else Path(p).name for at, p in enumerate(paths)]
    if len(set(short)) < len(short):
        short = [name if path is None else path for name, path in zip(short, paths, strict=True)]
    return tuple(short)


def _facts(look: Looking, file: int, facts: DatasetFacts, group: str | None) -> FileFacts:
    own = [look.rows.rows[number] for number in look.rows.of(file)]
    sizes: dict[str, int] = {}
    for row in own:
        sizes[row.group] = sizes.get(row.group, 0) + 1
    return FileFacts(
        name=look.rows.names[file],
        path=facts.path,
        digest=facts.digest,
        cases=len(own),
        bad_rows=facts.bad_rows,
        accepts=sum(row.label is True for row in own),
        rejects=sum(row.label is False for row in own),
        unlabelled=sum(row.label is None for row in own),
        groups=len(sizes),
        largest_group=max(sizes.values(), default=0),
        grouped_by=look.rows.grouped_by(file, group),
        fields=field_facts(look.rows, file),
        reading=facts.reading,
    )


def _without_texts(finding: Finding) -> Finding:
    import msgspec

    return msgspec.structs.replace(finding, texts=())


__all__ = ["SIMILARITY", "TextVectors", "audit"]
