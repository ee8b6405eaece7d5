"""Rows from the labelled sets: what people judged, put together as the metrics do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from closecall.metrics.alignment.sentences import sentences
from closecall.metrics.support.context import CONTEXT_ROOM
from closecall.metrics.support.texts import content, excerpt, first_text, joined, reference_groups
from pair.rows import Row
from pair.sets import folded, group_of, questions, rows_of, side

WINDOW = 160
"""Tokens of a pair in training, with its three special ones; the product reads longer ones too."""

_LEAST = 24
"""Tokens that are left for a response at least, however long the other text is."""

SHARE = {  # of the accepted rows, so that no set teaches that most answers are right
    "answers/evouna_nq": 0.8,
    "answers/evouna_tq": 0.3,
    "answers/diver_qa": 0.7,
}
SHARE_OF_REJECTS = {"answers/truthfulqa_human": 0.45}

Count = Callable[[str], int]


class Judged:
    """Labelled rows of one side, read as the product reads them.

    Parameters
    ----------
    data
        The folder of the sets.
    count
        Tokens of a text without special ones.
    which
        ``train`` or ``dev``.
    """

    def __init__(self, data: Path, count: Count, which: str) -> None:
        self._data, self._count, self._which = data, count, which
        self._kept_out = questions(data)
        self._seen_elsewhere = {
            folded(text)
            for name in ("grounded/q2_wow", "grounded/begin_cmu", "grounded/begin_topicalchat")
            for found in rows_of(data, name)
            for text in found["context"]
        }

    def found(self, name: str) -> list[Mapping[str, Any]]:
        """Return the rows of a set that belong to this side."""
        return [
            found
            for found in rows_of(self._data, name)
            if side(group_of(found)) == self._which
            and folded(found["input"]) not in self._kept_out
            and not any(folded(text) in self._seen_elsewhere for text in found["context"])
        ]

    def answers(self, name: str, rng: Random) -> list[Row]:
        """Return the rows of a set of answers; now and then without the question."""
        made = []
        for found in self.found(name):
            accept = found["label"] == "accept"
            share = (SHARE if accept else SHARE_OF_REJECTS).get(name, 1.0)
            references = [text for text in found["reference"] if text.strip()]
            if not references or rng.random() > share:
                continue
            made.append(
                self.answer(
                    found["input"],
                    references,
                    found["response"],
                    rng,
                    accept=accept,
                    kind=name,
                    group=group_of(found),
                )
            )
        return made

    def said(self, names: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return sentences of right answers, each once: text, an empty passage, group."""
        told: dict[str, tuple[str, str, str]] = {}
        for name in names:
            for found in self.found(name):
                if found["label"] == "accept":
                    for start, end in sentences(found["response"]):
                        text = found["response"][start:end].strip()
                        if 4 < len(text.split()) < 45 and text.endswith("."):
                            told.setdefault(text, (text, "", group_of(found)))
        return list(told.values())

    def answer(
        self,
        asked: str,
        references: Sequence[str],
        response: str,
        rng: Random,
        *,
        accept: bool,
        kind: str,
        group: str,
    ) -> Row:
        """Return one row: the group of references that the answer is likeliest to be right by."""
        groups = reference_groups(references, self._count)
        texts = [joined(references, group) for group in groups]
        if accept:
            said = content(response)
            first = max(texts, key=lambda text: len(content(text) & said))
        else:
            first = rng.choice(texts)
        asked = asked if rng.random() < 0.88 else ""
        whole = first_text(
            asked, self._cut(first, response, WINDOW - 3 - _LEAST - self._count(asked))
        )
        room = WINDOW - 3 - self._count(whole)
        return Row(whole, self._cut(response, f"{asked} {first}", room), accept, kind, group)

    def context(
        self, asked: str, passage: str, response: str, *, accept: bool, kind: str, group: str
    ) -> Row:
        """Return one row: what of the passage covers the response, then the response."""
        spent = self._count(asked) + self._count(response) + 3
        room = min(WINDOW - spent, CONTEXT_ROOM)
        first = first_text(asked, self._cut(passage, response, room))
        return Row(first, response, accept, kind, group)

    def _cut(self, text: str, covered: str, room: int) -> str:
        """Return what of a text is read; all of it where it fits."""
        if self._count(text) <= room:
            return text.strip()
        pieces = [text[start:end] for start, end in sentences(text)]
        taken = excerpt(pieces, [self._count(piece) + 1 for piece in pieces], covered, room)
        return " ".join(pieces[number] for number in taken)

    def passages(self, name: str, rng: Random) -> list[Row]:
        """Return the rows of a set of responses beside what they must keep to."""
        made = []
        for found in self.found(name):
            passage, accept = " ".join(found["context"]), found["label"] == "accept"
            group = group_of(found)
            asked = found["input"] if name.endswith("condaqa_contrast") else ""
            if name.endswith("summedits_open"):
                made += self._summary(found, passage, accept=accept)
                continue
            if self._count(found["response"]) > WINDOW // 2:
                continue
            made.append(
                self.context(
                    asked, passage, found["response"], accept=accept, kind=name, group=group
                )
            )
            pieces = [found["response"][a:b] for a, b in sentences(found["response"])]
            if accept and len(pieces) > 1 and not asked:
                made.append(
                    self.context(
                        "",
                        passage,
                        rng.choice(pieces),
                        accept=True,
                        kind=f"{name} sentence",
                        group=group,
                    )
                )
        return made

    def _summary(self, found: Mapping[str, Any], passage: str, *, accept: bool) -> list[Row]:
        """Return a summary's sentences: those edited are wrong, those of a right one right."""
        before = " ".join(found["reference"])
        kept = {folded(before[a:b]) for a, b in sentences(before)}
        response = found["response"]
        made = []
        for start, end in sentences(response):
            text = response[start:end]
            edited = folded(text) not in kept
            if (accept or (edited and kept)) and self._count(text) <= WINDOW // 2:
                made.append(
                    self.context(
                        "",
                        passage,
                        text,
                        accept=accept,
                        kind="grounded/summedits_open",
                        group=group_of(found),
                    )
                )
        return made
