"""Rows made by program from the labelled sets' texts: wrong on purpose, or changed for nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from closecall.metrics.alignment.sentences import sentences
from pair import edits
from pair.judged import Judged
from pair.rows import Row
from pair.sets import folded, group_of

ASKED = ("answers/evouna_nq", "answers/evouna_tq", "answers/diver_qa", "answers/truthfulqa_refs")
READ = ("grounded/begin_wow", "grounded/summedits_open", "grounded/condaqa_contrast")
_FRAMES = (
    "It is {}.",
    "The answer is {}.",
    "{}.",
    "{}",
    "{}",
    "{}",
    "That was {}",
    "I think it's {}",
)


class Made:
    """Makes rows of the questions and passages of one side.

    Parameters
    ----------
    judged
        The side's rows.
    embed
        Texts to unit vectors (n, d), to find questions and answers that are like each other.
    """

    def __init__(self, judged: Judged, embed: Any) -> None:
        self._judged = judged
        asked: dict[str, tuple[str, list[str]]] = {}
        for name in ASKED:
            for found in judged.found(name):
                references = [text for text in found["reference"] if text.strip()]
                if found["input"].strip() and references:
                    asked.setdefault(group_of(found), (found["input"], references))
        self._asked = asked
        self._passages = {
            folded(text): text
            for name in READ
            for found in judged.found(name)
            for text in found["context"]
        }
        self._embed = embed
        texts = [text for _, references in asked.values() for text in references]
        self._names = edits.names_of(
            [f"it is {text}" for text in texts + list(self._passages.values())]
        )

    def sentences(self) -> list[tuple[str, str]]:
        """Return sentences of passages and full answers, with what they are not independent of."""
        found = [
            (passage[a:b], f"passage {key[:60]}")
            for key, passage in self._passages.items()
            for a, b in sentences(passage)
        ]
        found += [
            (text, group)
            for group, (_, references) in self._asked.items()
            for text in references
            if len(text.split()) > 5
        ]
        return [(text, group) for text, group in found if 4 < len(text.split()) < 45]

    def edited_sentences(self, rng: Random, each: int) -> list[Row]:
        """Return sentences beside their edits: ``each`` of a kind, in their passage or alone."""
        pool = self.sentences()
        wrong = {**edits.WRONG, "name": edits.name(self._names)}
        made = []
        for kinds, accept in ((wrong, False), (edits.HARMLESS, True)):
            for kind, edit in kinds.items():
                rng.shuffle(pool)
                count = 0
                for text, group in pool:
                    changed = edit(text, rng)
                    if changed is None or (changed == text and not accept):
                        continue
                    first = text if rng.random() < 0.7 else self._among(text)
                    made.append(Row(first, changed, accept, f"edited {kind}", group))
                    count += 1
                    if count >= each:
                        break
        return made

    def _among(self, text: str) -> str:
        """Return the passage of a sentence, cut around it, or the sentence alone."""
        passage = self.passage_of(text)
        if not passage:
            return text
        return self._judged.context("", passage, text, accept=True, kind="", group="").first

    def passage_of(self, text: str) -> str:
        """Return the first passage that holds a text, an empty text where none does."""
        return next((one for one in self._passages.values() if text in one), "")

    def edited_answers(self, rng: Random, each: int) -> list[Row]:
        """Return references beside their edits, asked the question."""
        pool = [(g, q, refs) for g, (q, refs) in self._asked.items()]
        wrong = {**edits.WRONG, "name": edits.name(self._names), "other name": self._other_name}
        made = []
        for kinds, accept in ((wrong, False), (edits.HARMLESS, True)):
            for kind, edit in kinds.items():
                rng.shuffle(pool)
                count = 0
                for group, asked, references in pool:
                    text = rng.choice(references[:4])
                    changed = edit(text, rng)
                    if changed is None or (
                        folded(changed) in {folded(r) for r in references} and not accept
                    ):
                        continue
                    response = rng.choice(_FRAMES).format(changed) if kind != "polite" else changed
                    made.append(
                        self._judged.answer(
                            asked,
                            references,
                            response,
                            rng,
                            accept=accept,
                            kind=f"answer {kind}",
                            group=group,
                        )
                    )
                    count += 1
                    if count >= each:
                        break
        return made

    def _other_name(self, text: str, rng: Random) -> str | None:
        """Return another answer altogether, of as many words, where the answer is a name."""
        if not text[:1].isupper() or len(text.split()) > 4:
            return None
        others = [o for o in rng.sample(self._names, 40) if len(o.split()) == len(text.split())]
        return others[0] if others else None

    def right_again(self, rng: Random, most: int) -> list[Row]:
        """Return references judged by all of them or by the others, as they are or in a frame."""
        made = []
        for group, (asked, references) in self._asked.items():
            for text in rng.sample(references, min(len(references), 3)):
                rest = [other for other in references if other != text] or references
                made.append(
                    self._judged.answer(
                        asked,
                        references if rng.random() < 0.7 else rest,
                        rng.choice(_FRAMES).format(text) if rng.random() < 0.5 else text,
                        rng,
                        accept=True,
                        kind="right again",
                        group=group,
                    )
                )
        rng.shuffle(made)
        return made[:most]

    def near_misses(self, rng: Random, most: int) -> list[Row]:
        """Return the answers of questions that are like the one asked."""
        groups = list(self._asked)
        questions = [self._asked[group][0] for group in groups]
        answers = [self._asked[group][1][0] for group in groups]
        like = self._embed(questions)
        alike = self._embed(answers)
        made = []
        for at in rng.sample(range(len(groups)), len(groups)):
            closeness = like @ like[at] + alike @ alike[at]
            closeness[at] = -9
            asked, references = self._asked[groups[at]]
            own = {folded(reference) for reference in references}
            for other in np.argsort(-closeness)[: rng.choice((3, 20))][::-1]:
                text = answers[int(other)]
                mine = folded(text)
                if not any(mine in one or one in mine for one in own):
                    response = rng.choice(_FRAMES).format(text)
                    made.append(
                        self._judged.answer(
                            asked,
                            references,
                            response,
                            rng,
                            accept=False,
                            kind="near miss",
                            group=groups[at],
                        )
                    )
                    break
            if len(made) >= most:
                break
        return made

    def subsets(self, rng: Random, most: int) -> list[Row]:
        """Return parts of a passage (right) and parts with a sentence of another (wrong)."""
        whole = [(key, [p[a:b] for a, b in sentences(p)]) for key, p in self._passages.items()]
        texts = [text for _, pieces in whole for text in pieces if 4 < len(text.split()) < 30]
        vectors = self._embed(texts)
        made: list[Row] = []
        for key, pieces in rng.sample(whole, len(whole)):
            short = [text for text in pieces if len(text.split()) < 30]
            if not short:
                continue
            passage = self._passages[key]
            kept = rng.sample(short, min(len(short), rng.choice((1, 1, 2))))
            group = f"passage {key[:60]}"
            made.append(
                self._judged.context(
                    "", passage, " ".join(kept), accept=True, kind="subset", group=group
                )
            )
            at = vectors @ self._embed([kept[0]])[0]
            near = [texts[int(n)] for n in np.argsort(-at)[:60] if texts[int(n)] not in passage]
            if near:
                other = near[min(len(near) - 1, rng.choice((0, 1, 3, 8)))]
                response = other if rng.random() < 0.6 else f"{kept[0]} {other}"
                made.append(
                    self._judged.context(
                        "", passage, response, accept=False, kind="added", group=group
                    )
                )
            if len(made) >= most:
                break
        return made
