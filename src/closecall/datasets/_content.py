"""The bytes that stand for a case's content in a digest.

The canonical spelling of the whole project (sorted keys, no spaces, UTF-8), written by the fast
encoder; a test holds the two spellings together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from closecall.records import Case

_encode = msgspec.json.Encoder().encode


def encode_content(case: Case) -> bytes:
    """Return the canonical JSON of everything in a case that can change a result.

    Metadata and place are left out: they say where a case comes from, not what it is.
    """
    return _encode(
        {
            "context": case.context,
            "group": case.group,
            "id": case.id,
            "input": case.input,
            "label": case.label,
            "references": case.references,
            "response": case.response,
            "tags": case.tags,
        }
    )


def cases_digest(cases: Iterable[Case]) -> str:
    """Return sha256 (hex) over the content of cases, in order."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(encode_content(case))
        digest.update(b"\n")
    return digest.hexdigest()
