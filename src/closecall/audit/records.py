"""What an audit found: checks with counts, and findings with the cases they are about."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How much a finding matters for a calibration.

    An ``error`` makes measured rates wrong, a ``warning`` may, ``info`` is worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


TEXT, SPELLING, NEIGHBOUR, GROUP = "text", "spelling", "neighbour", "group"
"""How two cases were found to be alike: the same text, the same up to case, white space and
punctuation, vectors above the similarity asked for, or the same group."""


class CaseRef(msgspec.Struct, frozen=True):
    """A case by its id, and where it stands (``file:line``; empty for cases given in Python)."""

    id: str
    place: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to look at.

    ``check`` and ``file`` name the check it belongs to, ``cases`` holds every case concerned, in
    the order of the file. ``how`` and ``field`` say how they were found alike, and in what; empty
    where nothing was compared. ``similarity`` is the lowest cosine between neighbours it rests
    on, None where no vectors were compared. ``words`` say what was found, ``advice`` what to do
    next. ``texts`` are the first characters of at most two of the texts.
    """

    check: str
    file: str
    severity: Severity
    cases: tuple[CaseRef, ...]
    words: str
    advice: str
    how: str = ""
    field: str = ""
    similarity: float | None = None
    texts: tuple[str, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of one file, or of two against each other.

    ``count`` is what a limit is compared with; ``counted`` says what that is, and ``of`` out of
    how many (None where there is no such number). It is None where nothing was measured, and
    ``missing`` says why. ``findings`` counts the findings, ``by`` splits what was counted, or
    adds to it, by name. ``notes`` are sentences for a person.
    """

    name: str
    file: str
    title: str
    count: int | None
    counted: str
    of: int | None = None
    findings: int = 0
    by: dict[str, int] = {}
    missing: str = ""
    notes: tuple[str, ...] = ()


class FieldFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a file: texts that are not blank, and how many differ.

    ``cases`` have such a text, ``texts`` counts them all (a case may have several references),
    ``distinct`` those that differ. ``repeated`` texts stand in several cases.
    """

    cases: int
    texts: int
    distinct: int
    repeated: int


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One of the files.

    ``path`` is None for cases given in Python. ``bad_rows`` could not be read and were left out.
    ``groups`` and ``largest_group`` count cases; ``grouped_by`` says what makes a group.
    """

    name: str
    path: str | None
    digest: str
    cases: int
    bad_rows: int
    accepts: int
    rejects: int
    unlabelled: int
    groups: int
    largest_group: int
    grouped_by: str
    fields: dict[str, FieldFacts]
    reading: tuple[str, ...] = ()


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The whole audit.

    ``instrument`` is the digest of the embedder, None where no text was embedded. Two texts whose
    cosine is at least ``similarity`` are near.
    """

    files: tuple[FileFacts, ...]
    embedder: str | None
    model: str | None
    instrument: str | None
    similarity: float
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]

    def of(self, check: Check) -> tuple[Finding, ...]:
        """Return the findings of a check, in the order of the file."""
        return tuple(
            one for one in self.findings if (one.check, one.file) == (check.name, check.file)
        )
