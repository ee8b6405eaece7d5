"""The bytes that stand for a case's content in a digest.

The canonical spelling of the whole project (sorted keys, no spaces, UTF-8), written by the fast
encoder; a test holds the two spellings together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from closecall.datasets._fields import plain
from closecall.records import JSON, Case

JUDGED = frozenset(map(plain, ("expected_facts", "forbidden_text", "expected_refusal")))
"""Names, in any spelling, of fields in a case's metadata that a metric reads."""

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def encode_content(case: Case) -> bytes:
    """Return the canonical JSON of everything in a case that can change a result.

    Of the metadata that is what a metric reads: the facts a response must hold, say. The rest, and
    the place, say where a case comes from, not what it is.
    """
    content = {
        "context": case.context,
        "group": case.group,
        "id": case.id,
        "input": case.input,
        "label": case.label,
        "references": case.references,
        "response": case.response,
        "tags": case.tags,
    }
    judged = _judged(case.metadata) if case.metadata else {}
    if not judged:
        return _encode(content)
    return _encode_sorted({**content, "metadata": judged})


def encode_question(case: Case) -> bytes:
    """Return the canonical JSON of what a case asks, whatever was answered and said of it.

    ``encode_content`` without the response, the label, the group and the tags.
    """
    question = {
        "context": case.context,
        "id": case.id,
        "input": case.input,
        "references": case.references,
    }
    judged = _judged(case.metadata) if case.metadata else {}
    if not judged:
        return _encode(question)
    return _encode_sorted({**question, "metadata": judged})


def _judged(metadata: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the fields that a metric reads, at the top or in an object ``metadata``."""
    found = {name: value for name, value in metadata.items() if plain(name) in JUDGED}
    nested = metadata.get("metadata")
    if isinstance(nested, Mapping):
        found |= {f"metadata.{k}": v for k, v in nested.items() if plain(str(k)) in JUDGED}
    return found


def cases_digest(cases: Iterable[Case]) -> str:
    """Return sha256 (hex) over the content of cases, in order."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(encode_content(case))
        digest.update(b"\n")
    return digest.hexdigest()


def cases_secret(cases: Iterable[Case]) -> str:
    """Return a digest (hex) of all cases that cannot be told from ``cases_digest``.

    It is a key, and written nowhere; see ``secret_of``.
    """
    digest = hashlib.sha256()
    for case in cases:
        digest.update(encode_content(case))
        digest.update(b"\n")
    return secret_of(digest)


def secret_of(digest: hashlib._Hash) -> str:
    """Return the secret of the cases that a digest was made of.

    Their sha256 with more after it: the published digest is one of another, padded message, and
    the state of the function before the padding is not known from it.
    """
    own = digest.copy()
    own.update(b"a key for groups of cases")
    return own.hexdigest()


def questions_digest(cases: Iterable[Case]) -> str:
    """Return the digest (hex) of what the cases ask, in any order."""
    digest = QuestionsDigest()
    for case in cases:
        digest.add(case)
    return digest.hexdigest()


class QuestionsDigest:
    """The sum of the sha256 of what each case asks, modulo 2^256: order plays no part.

    A sum of hashes (Bellare and Micciancio, 1997) shows that nothing was changed by accident; who
    wants to could make other cases of the same sum.
    """

    def __init__(self) -> None:
        self._sum = 0

    def add(self, case: Case) -> None:
        """Add the next case."""
        self._sum += int.from_bytes(hashlib.sha256(encode_question(case)).digest())

    def hexdigest(self) -> str:
        """Return the digest of the cases so far, 64 hex digits."""
        return f"{self._sum % (1 << 256):064x}"
