"""``other_answer``: the answer to the most similar other question of another group.

Similar by the words the questions share, rare words counting more (the sum of their inverse
document frequencies). An index from words to questions keeps this near linear: words that stand
in many questions only add to those found by rarer ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from closecall.metrics.guards.words import language_of, listed, stems, words
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, whole
from closecall.stress.soundness import plain
from closecall.stress.sources import Source

FAMILY = "other_answer"
_COMMON = 300
"""A word of more questions than this finds none by itself."""
_NEAREST = 12
"""Neighbours offered, the most similar first."""
_PICKED = 12
_ELSE = 0.5
"""What likeness counts where one asks who and the other when: an answer of another kind."""
_ASKING = listed(
    "who whom whose where when why how which what wer wo wann warum wie welche was qui ou quand "
    "pourquoi comment quel quelle quien donde cuando por cuanto cual que"
)


class OtherAnswers:
    """The questions of all sources by their words; makes the edits of ``other_answer``."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self._words = [_terms(source) for source in sources]
        self._asks = [_asked(source.question) for source in sources]
        self._holding: dict[str, list[int]] = {}
        for at, terms in enumerate(self._words):
            for term in sorted(terms):
                self._holding.setdefault(term, []).append(at)
        self._at = {source.case.id: at for at, source in enumerate(self._sources)}

    def edits(self, source: Source, text: str, chooser: Chooser) -> Iterator[Edit]:
        """Yield the first text of other cases instead of this one, most similar question first.

        Without a question, or where no other shares a word, other cases come in a drawn order.
        """
        own = plain(source.question or "")
        near = self._near(source)
        drawn = (chooser.below(len(self._sources)) for _ in range(_PICKED))
        for at in (*near, *drawn):
            other = self._sources[at]
            if other.group == source.group or (own and plain(other.question or "") == own):
                continue
            answer = other.bases[0]
            if answer != text:
                yield whole(text, FAMILY, answer)

    def _near(self, source: Source) -> list[int]:
        own = self._words[self._at[source.case.id]]
        shared: dict[int, float] = {}
        count = len(self._sources)
        rare = [t for t in sorted(own) if len(self._holding[t]) <= _COMMON]
        common = [t for t in sorted(own) if len(self._holding[t]) > _COMMON]
        for term in rare:
            weight = math.log(1 + count / len(self._holding[term]))
            for at in self._holding[term]:
                if self._sources[at].group != source.group:
                    shared[at] = shared.get(at, 0.0) + weight
        for at in shared:
            terms = self._words[at]
            extra = (math.log(1 + count / len(self._holding[t])) for t in common if t in terms)
            shared[at] += sum(extra)
            if self._asks[at] != self._asks[self._at[source.case.id]]:
                shared[at] *= _ELSE
        best = sorted(shared, key=lambda at: (-shared[at], self._sources[at].case.id))
        return best[:_NEAREST]


def _asked(question: str | None) -> str:
    """Return what a question begins with: its first word that asks, or its first word."""
    opening = [word.fold for word in words((question or "")[:160])[:8]]
    return next((word for word in opening if word in _ASKING), opening[0] if opening else "")


def _terms(source: Source) -> frozenset[str]:
    question = source.question
    return frozenset(stems(words(question), language_of(question))) if question else frozenset()
