"""The names of the fields of a case, and every other name they go by in files.

Facts only. ``answer`` stands apart: people use it both for the answer under test and for the
expected one, so what it means is decided for each file as a whole.
"""

from __future__ import annotations

import re

from closecall.records import Label

INPUT = "input"
RESPONSE = "response"
REFERENCE = "reference"
CONTEXT = "context"
ID = "id"
LABEL = "label"
GROUP = "group"
TAGS = "tags"

ANSWER = "answer"
"""Not a field: the name that may mean ``response`` or ``reference``."""

ALIASES: dict[str, tuple[str, ...]] = {
    INPUT: ("input", "question", "prompt", "query", "user_input"),
    RESPONSE: ("response", "output", "actual_output"),
    REFERENCE: (
        "reference",
        "references",
        "expected",
        "expected_output",
        "expected_answer",
        "ground_truth",
        "ground_truths",
    ),
    CONTEXT: ("context", "contexts", "documents", "retrieved_contexts", "retrieval_context"),
    ID: ("id",),
    LABEL: ("label",),
    GROUP: ("group", "category"),
    TAGS: ("tags",),
}

FIELDS = tuple(ALIASES)
TEXT_FIELDS = (INPUT, RESPONSE, REFERENCE, CONTEXT)
"""Without at least one of these a file holds nothing to compare."""

PASSAGE_KEYS = ("content", "text", "page_content", "pageContent")
"""Where the text stands in a context entry that is an object, first match first."""

LABEL_WORDS: dict[str, Label] = {
    word: label
    for label, words in (
        (
            Label.ACCEPT,
            ("accept", "accepted", "pass", "passed", "correct", "good", "true", "1", "yes"),
        ),
        (
            Label.REJECT,
            ("reject", "rejected", "fail", "failed", "incorrect", "bad", "false", "0", "no"),
        ),
    )
    for word in words
}

LABELS_ALLOWED = (
    "accept or reject (also accepted/rejected, pass/fail, passed/failed, correct/incorrect, "
    "good/bad, true/false, 1/0, yes/no), or nothing"
)

_SEPARATORS = re.compile(r"[\s_\-]+")


def plain(name: str) -> str:
    """Return a column name without case, spaces, hyphens and underscores.

    ``actualOutput``, ``Actual Output`` and ``actual_output`` become the same.
    """
    return _SEPARATORS.sub("", name).casefold()


_FIELD_OF = {plain(alias): field for field, aliases in ALIASES.items() for alias in aliases}
_FIELD_OF[ANSWER] = ANSWER


def field_of(column: str) -> str | None:
    """Return the field a column's name stands for, ``answer`` for that name, None if unknown."""
    return _FIELD_OF.get(plain(column))
