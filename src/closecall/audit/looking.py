"""What every check of an audit gets: the rows, the vectors where there are any, and the limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from closecall.audit.neighbours import Tick
from closecall.audit.records import NEIGHBOUR, SPELLING, TEXT, Check, Finding, Severity
from closecall.audit.rows import NONE, Rows
from closecall.audit.vectors import TextVectors


class Alike(NamedTuple):
    """How two texts were found to say the same, and their cosine where that is by neighbours."""

    how: str
    similarity: float


@dataclass(slots=True)
class Looking:
    """The material of an audit.

    ``vectors`` is None where no text was embedded, and ``unseen`` says why. ``similarity`` is the
    least cosine of near texts.
    """

    rows: Rows
    vectors: TextVectors | None
    unseen: str
    similarity: float
    tick: Tick

    def finding(
        self,
        check: Check | tuple[str, str],
        severity: Severity,
        rows: Iterable[int],
        words: str,
        advice: str,
        *,
        how: str = "",
        field: str = "",
        similarity: float | None = None,
        texts: Sequence[int] = (),
    ) -> Finding:
        """Return a finding about these rows; ``texts`` are shown, two at most."""
        name, file = (check.name, check.file) if isinstance(check, Check) else check
        table = self.rows.texts
        return Finding(
            check=name,
            file=file,
            severity=severity,
            cases=tuple(self.rows.rows[row].ref for row in rows),
            words=words,
            advice=advice,
            how=how,
            field=field,
            similarity=None if similarity is None else round(similarity, 4),
            texts=tuple(table.excerpt(text) for text in dict.fromkeys(texts) if text != NONE)[:2],
        )

    def beyond_spelling(self, texts: Iterable[int]) -> list[str]:
        """Say, as notes, what no neighbours were looked for among these texts."""
        if self.vectors is None:
            return [f"only spelling was compared: {self.unseen}"]
        unread = sum(text != NONE and not self.vectors.has(text) for text in dict.fromkeys(texts))
        if not unread:
            return []
        return [f"{unread:,} distinct texts have no neighbours: the model cannot read them"]

    def alike(self, one: int, other: int) -> Alike | None:
        """Return how two texts say the same, None where they do not.

        Two missing texts are the same. Near texts are not alike where they differ in a number or
        a negation.
        """
        if one == other:
            return Alike(TEXT, 1.0)
        if NONE in {one, other}:
            return None
        table, vectors = self.rows.texts, self.vectors
        first, second = table[one], table[other]
        if first.spelling == second.spelling:
            return Alike(SPELLING, 1.0)
        if vectors is None or first.says_other(second):
            return None
        if not (vectors.has(one) and vectors.has(other)):
            return None
        found = vectors.similarity(one, other)
        return Alike(NEIGHBOUR, found) if found >= self.similarity else None
