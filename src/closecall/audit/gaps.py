"""Texts that are missing, blank, too long for the model, unknown to it, or look cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from closecall.audit.looking import Looking
from closecall.audit.records import Check, Finding, Severity
from closecall.audit.rows import FIELDS, NONE, Row
from closecall.embedders.base import Failure
from closecall.records import Tokens

BLANK_TEXTS, NO_REFERENCE = "blank_texts", "no_reference"
LONG_TEXTS, UNKNOWN_TOKENS, CUT_OFF = "long_texts", "unknown_tokens", "cut_off"


def blank_texts(look: Looking, file: int) -> tuple[Check, list[Finding]]:
    """Find texts that are given and blank, and questions and responses that only some rows have.

    A file in which no case has a response (or a question) is one that needs none; it is noted.
    """
    rows = [(number, look.rows.rows[number]) for number in look.rows.of(file)]
    there = {name: any(row.texts(name) for _, row in rows) for name in ("input", "response")}
    notes = [f"no case has {_ARTICLE[name]}" for name, given in there.items() if not given]
    by: Counter[str] = Counter()
    findings = []
    for number, row in rows:
        gaps = [gap for gap in row.gaps if there.get(gap.partition(" ")[0], True)]
        if not gaps:
            continue
        by.update(gap.partition("[")[0] + " blank" if "[" in gap else gap for gap in gaps)
        findings.append(
            look.finding(
                (BLANK_TEXTS, look.rows.names[file]),
                Severity.ERROR
                if any(g.startswith("response") for g in gaps)
                else Severity.WARNING,
                [number],
                ", ".join(gaps),
                "fill it in or take the row out; without it nothing is measured",
                field=gaps[0].partition(" ")[0],
                texts=[row.input, row.response],
            )
        )
    return (
        Check(
            name=BLANK_TEXTS,
            file=look.rows.names[file],
            title="Texts that are missing or blank",
            count=len(findings),
            counted="cases",
            of=len(rows),
            findings=len(findings),
            by=dict(sorted(by.items())),
            notes=tuple(notes),
        ),
        findings,
    )


_ARTICLE = {"input": "a question", "response": "a response"}


def no_reference(look: Looking, file: int) -> tuple[Check, list[Finding]]:
    """Find cases without a reference in a file whose other cases have one."""
    rows = [(number, look.rows.rows[number]) for number in look.rows.of(file)]
    none = [number for number, row in rows if not row.references]
    needed = len(none) < len(rows)
    name = look.rows.names[file]
    findings = [
        look.finding(
            (NO_REFERENCE, name),
            Severity.WARNING,
            [number],
            "no reference",
            "add one: metrics that compare with references leave the case out",
            field="references",
            texts=[look.rows.rows[number].input],
        )
        for number in (none if needed else ())
    ]
    return (
        Check(
            name=NO_REFERENCE,
            file=name,
            title="Cases without a reference",
            count=len(none) if needed else None,
            counted="cases",
            of=len(rows),
            findings=len(findings),
            missing="" if needed else "no case of the file has a reference",
        ),
        findings,
    )


def model_texts(look: Looking, file: int) -> tuple[list[Check], list[Finding]]:
    """Find texts longer than the model's window, with tokens it does not know, or not embedded."""
    vectors, name = look.vectors, look.rows.names[file]
    rows = look.rows.of(file)
    long: list[Finding] = []
    unknown: list[Finding] = []
    by_long: Counter[str] = Counter()
    by_unknown: Counter[str] = Counter()
    for number in rows if vectors is not None else ():
        for field, text in _fields(look.rows.rows[number]):
            tokens = vectors.tokens.get(text) if vectors is not None else None
            failure = vectors.failures.get(text) if vectors is not None else None
            if tokens is not None and (tokens.truncated or tokens.windows > 1):
                cut = tokens.truncated
                by_long[f"{field}, {'cut' if cut else 'read in windows'}"] += 1
                long.append(
                    look.finding(
                        (LONG_TEXTS, name),
                        Severity.WARNING if cut else Severity.INFO,
                        [number],
                        f"{field} of {tokens.total:,} tokens, "
                        + (f"{tokens.seen:,} read" if cut else f"{tokens.windows} windows"),
                        "shorten it, cut it into passages, or take a model with a longer window",
                        field=field,
                        texts=[text],
                    )
                )
            if failure is not None or (tokens is not None and tokens.unknown):
                unread = failure is not None
                by_unknown[f"{field}, {'no vector' if unread else 'unknown tokens'}"] += 1
                unknown.append(
                    look.finding(
                        (UNKNOWN_TOKENS, name),
                        # Of several references another one may do.
                        Severity.ERROR if unread and field != "references" else Severity.WARNING,
                        [number],
                        f"{field}: {_unread(tokens, failure)}",
                        "take a model that knows this language or script",
                        field=field,
                        texts=[text],
                    )
                )
    missing = look.unseen if vectors is None else ""
    checks = [
        Check(
            name=check,
            file=name,
            title=title,
            count=None if missing else len({one.cases[0] for one in found}),
            counted="cases",
            of=len(rows),
            findings=len(found),
            by=dict(sorted(by.items())),
            missing=missing,
        )
        for check, title, found, by in (
            (LONG_TEXTS, "Texts longer than the model's window", long, by_long),
            (UNKNOWN_TOKENS, "Texts the model cannot read, whole or in part", unknown, by_unknown),
        )
    ]
    return checks, [*long, *unknown]


def cut_off(look: Looking, file: int) -> tuple[Check, list[Finding]]:
    """Find responses that look cut off in the middle of a sentence: a guess."""
    name = look.rows.names[file]
    rows = [n for n in look.rows.of(file) if look.rows.rows[n].response != NONE]
    findings = []
    for number in rows:
        text = look.rows.texts[look.rows.rows[number].response]
        if text.cut:
            found = look.finding(
                (CUT_OFF, name),
                Severity.INFO,
                [number],
                "the response looks cut off, a guess from how it ends",
                "see whether the assistant had tokens enough; what is missing counts against it",
                field="response",
            )
            findings.append(msgspec.structs.replace(found, texts=(f"…{text.ending}",)))
    return (
        Check(
            name=CUT_OFF,
            file=name,
            title="Responses that look cut off, by a guess",
            count=len(findings) if rows else None,
            counted="cases",
            of=len(rows),
            findings=len(findings),
            missing="" if rows else "no case has a response",
        ),
        findings,
    )


def _unread(tokens: Tokens | None, failure: Failure | None) -> str:
    if failure is not None:
        return f"no vector: {failure.reason}"
    if tokens is None:
        raise TypeError("a text that the model reads whole is no finding")
    return f"{tokens.unknown:,} of {tokens.own:,} tokens are unknown to the model"


def _fields(row: Row) -> Iterator[tuple[str, int]]:
    """Yield the field and number of each text of a row, each text once."""
    for name in FIELDS:
        for text in dict.fromkeys(row.texts(name)):
            yield name, text
