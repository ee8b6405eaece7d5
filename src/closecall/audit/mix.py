"""Which scripts and languages a file is in, and which responses are not in their question's."""

from __future__ import annotations

from collections import Counter

from closecall.audit.languages import NOT_MEASURED
from closecall.audit.looking import Looking
from closecall.audit.records import Check, Finding, Severity
from closecall.audit.rows import NONE, Row
from closecall.calibration.evidence.slicing import MIXED, NO_LETTERS

LANGUAGES = "languages"

UNKNOWN = "unknown"

APART = "measure each language on its own: one cutoff for all holds for none of them"
ANSWER = "see whether the response is meant to be in another language than the question"


def languages(look: Looking, file: int) -> tuple[Check, list[Finding]]:
    """Count scripts and languages, and find cases outside the most frequent ones.

    A case is in the script and language of its response, else of its question. Languages are a
    guess, made of longer texts only.
    """
    rows = [(n, look.rows.rows[n]) for n in look.rows.of(file)]
    name, told = look.rows.names[file], look.rows.texts.detector is not None
    kinds: dict[tuple[str, str], list[int]] = {}
    crossed: list[Finding] = []
    others: set[int] = set()
    for number, row in rows:
        script, language = _of_case(look, row)
        kinds.setdefault(("script", script), []).append(number)
        if told:
            kinds.setdefault(("language", language), []).append(number)
        words = _crossed(look, row)
        if words:
            others.add(number)
            crossed.append(
                look.finding(
                    (LANGUAGES, name),
                    Severity.WARNING,
                    [number],
                    words,
                    ANSWER,
                    field="response",
                    texts=[row.input, row.response],
                )
            )
    findings = []
    for kind in ("script", "language"):
        own = {value: numbers for (what, value), numbers in kinds.items() if what == kind}
        named = {v: numbers for v, numbers in own.items() if v not in {NO_LETTERS, UNKNOWN}}
        ranked = sorted(named, key=lambda value: (-len(named[value]), value))
        for value in ranked[1:]:
            others.update(named[value])
            findings.append(
                look.finding(
                    (LANGUAGES, name),
                    Severity.INFO,
                    named[value],
                    f"{len(named[value]):,} of {len(rows):,} cases in the {kind} {value}, "
                    f"{len(named[ranked[0]]):,} in {ranked[0]}",
                    APART,
                    field="response",
                    texts=[max(look.rows.rows[named[value][0]].texts("response"), default=NONE)],
                )
            )
    counts = Counter({f"{kind} {value}": len(numbers) for (kind, value), numbers in kinds.items()})
    check = Check(
        name=LANGUAGES,
        file=name,
        title="Cases in another script or language than most",
        count=len(others),
        counted="cases",
        of=len(rows),
        findings=len(findings) + len(crossed),
        by={
            **dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
            "answered in another": len(crossed),
        },
        notes=() if told else (NOT_MEASURED,),
    )
    return check, [*findings, *crossed]


def _of_case(look: Looking, row: Row) -> tuple[str, str]:
    texts = look.rows.texts
    own = [texts[text] for text in (row.response, row.input) if text != NONE]
    script = next((t.script for t in own if t.script != NO_LETTERS), NO_LETTERS)
    return script, next((t.language for t in own if t.language), None) or UNKNOWN


def _crossed(look: Looking, row: Row) -> str:
    """Say in which script or language a response is that its question is not in."""
    if NONE in (row.input, row.response):
        return ""
    asked, said = look.rows.texts[row.input], look.rows.texts[row.response]
    if asked.script != said.script and not {asked.script, said.script} & {NO_LETTERS, MIXED}:
        return f"question in the script {asked.script}, response in {said.script}"
    if asked.language and said.language and asked.language != said.language:
        return f"question in the language {asked.language}, response in {said.language} (a guess)"
    return ""
