"""The file of a scenario: a name that every file system takes and no two scenarios share."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import Path

from closecall.errors import UsageError

DEFAULT = "default"
SUFFIX = ".jsonl"
JOURNAL = ".jsonl.part"

MAX_NAME = 200
_LONGEST = 60
_PLAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")


def file_name(scenario: str) -> str:
    """Return the name of the file of a scenario.

    A short name of small letters, digits and single hyphens stands as it is; any other is
    shortened to these and gets eight digits of its hash, so that no two become one.

    Raises
    ------
    UsageError
        The name is blank, longer than 200 characters, or holds half a character.

    Examples
    --------
    >>> file_name("refunds")
    'refunds.jsonl'
    >>> file_name("Refunds, second try")
    'refunds-second-try-099d62ac.jsonl'
    """
    if not scenario.strip() or len(scenario) > MAX_NAME:
        raise UsageError(
            f"a scenario's name has 1 to {MAX_NAME} characters, got {scenario[:40]!r}"
        )
    try:
        digest = hashlib.sha256(scenario.encode()).hexdigest()
    except UnicodeEncodeError:
        raise UsageError(f"a scenario's name holds half a character: {scenario[:40]!r}") from None
    short = len(scenario) <= _LONGEST
    if short and _PLAIN.fullmatch(scenario) and not _RESERVED.fullmatch(scenario):
        return scenario + SUFFIX
    plain = unicodedata.normalize("NFKD", scenario).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST].strip("-")
    return f"{words or 'scenario'}-{digest[:8]}{SUFFIX}"


def files_of(folder: Path) -> list[Path]:
    """Return the files of a cassette, by name.

    Raises
    ------
    UsageError
        ``folder`` is no folder that can be read.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except OSError as error:
        raise UsageError(f"{folder}: no cassette: {error.strerror or error}") from error
