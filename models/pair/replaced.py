"""One fact of a real sentence changed, beside the passage it must be looked up in; or none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from closecall.metrics.alignment.sentences import sentences as split
from pair import replacing as forms
from pair.inflected import inflected, present_of
from pair.judged import WINDOW, Judged
from pair.rows import Row
from pair.sets import folded, group_of
from pair.wordnet import Synset, WordNet

SUMMARIES = "grounded/summedits_open"
EACH = {
    "antonym": 600, "sister": 800, "direction": 300, "name": 800, "number": 500, "added": 550,
    "modal": 350, "denial": 350, "joined wrong": 450, "dropped": 1300, "synonym": 1200,
    "unchanged": 600, "joined": 1100, "quantity": 250, "framed": 800,
}  # fmt: skip
"""Rows of each kind that about balance, where there is enough text to make them of."""


def summary_sentences(judged: Judged) -> list[tuple[str, str, str]]:
    """Return sentences of right summaries of a side, each with its document and group, once."""
    found: dict[tuple[str, str], tuple[str, str, str]] = {}
    for row in judged.found(SUMMARIES):
        passage = " ".join(row["context"])
        texts = [*row["reference"], *([row["response"]] if row["label"] == "accept" else [])]
        for text in texts:
            # A title's full stop ends no sentence.
            whole = re.sub(r"\b(Mr|Mrs|Ms|Dr)\. ", r"\1 ", text)
            for start, end in split(whole):
                said = whole[start:end].strip()
                if 4 < len(said.split()) < 60:
                    found.setdefault((passage, said), (said, passage, group_of(row)))
    return list(found.values())


class Replaced:
    """Makes rows of real sentences by changing one fact, or none.

    Parameters
    ----------
    net
        Words that deny, equal or stand beside each other.
    judged
        Cuts a passage to what covers a response.
    sentences
        Each with its passage (blank where it stands alone) and group.
    """

    def __init__(
        self, net: WordNet, judged: Judged, sentences: Sequence[tuple[str, str, str]]
    ) -> None:
        self._net, self._judged = net, judged
        self._pool = [found for found in sentences if not forms.UNFIT.search(found[0])]
        self._senses: dict[tuple[str, str], list[tuple[int, Synset, int]]] = {}
        for sense in net.synsets.values():
            for at, word in enumerate(sense.words):
                count = net.counts.get((word, sense.key), 0)
                self._senses.setdefault((word, sense.key[0]), []).append((count, sense, at))
        texts = list(dict.fromkeys(passage or text for text, passage, _ in self._pool))
        self._names = list(dict.fromkeys(m.group() for text in texts for m in forms.names(text)))
        self._turned = dict(forms.directions())
        self._choices: dict[tuple[str, str], list[str]] = {}
        simple: dict[str, tuple[Callable[[str, str, Random], str | None], bool]] = {
            "antonym": (self._by(self._antonyms, "avrn"), False),
            "sister": (self._by(self._sisters, "n"), False),
            "direction": (self._direction, False), "name": (self._name, False),
            "number": (forms.number, False), "added": (forms.added, False),
            "modal": (forms.modal, False),
            "denial": (forms.denial, False),
            "dropped": (self._dropped, True), "synonym": (self._by(self._synonyms, "nvar"), True),
            "quantity": (forms.quantity, True), "framed": (forms.framed, True),
        }  # fmt: skip
        self._edits = simple

    def rows(self, rng: Random, each: dict[str, int]) -> list[Row]:
        """Return at most so many rows of each kind (those of ``EACH``), kinds in their order."""
        made = []
        for kind, most in each.items():
            order = list(range(len(self._pool)))
            rng.shuffle(order)
            count, seen = 0, set()
            if kind != "unchanged":  # once more over all of it: most sentences have several places
                order = order * 3
            for at in order:
                if count >= most:
                    break
                text, passage, group = self._pool[at]
                found = self._changed(kind, at, rng)
                if found is None:
                    continue
                response, accept, before = found
                if not response.strip() or folded(response) == folded(before) != folded(text):
                    continue
                if (response == text) != (kind == "unchanged") or response in seen:
                    continue
                seen.add(response)
                alone = kind != "unchanged" and rng.random() < 0.3
                made.append(
                    self._judged.context(
                        "", before if alone or not passage else passage, response,
                        accept=accept, kind=f"replaced {kind}", group=group,
                    )
                )  # fmt: skip
                count += 1
        return [row for row in made if row.first.strip() != row.response.strip()]

    def _changed(self, kind: str, at: int, rng: Random) -> tuple[str, bool, str] | None:
        """Return a response, whether it is right, and what it was made of."""
        text, passage, _ = self._pool[at]
        if kind == "unchanged":
            return None if not passage or text in passage else (text, True, text)
        if kind in ("joined", "joined wrong"):
            if at + 1 == len(self._pool) or not passage or self._pool[at + 1][1] != passage:
                return None
            other = self._pool[at + 1][0]
            if len((text + other).split()) > WINDOW // 3 or text[-1:] != ".":
                return None
            names = [
                name for name, (_, right) in self._edits.items() if right == (kind == "joined")
            ]
            parts = [text, other]
            which = rng.randrange(2)
            changed = self._edits[rng.choice(names)][0](parts[which], passage, rng)
            if changed is None and kind != "joined":
                return None
            parts[which] = changed or parts[which]
            return " ".join(parts), kind == "joined", f"{text} {other}"
        edit, accept = self._edits[kind]
        changed = edit(text, passage, rng)
        # A harmless edit more, now and then, so that one by itself tells nothing.
        if changed and changed != text and kind != "framed" and rng.random() < 0.3:
            more = self._edits[rng.choice(("dropped", "synonym", "framed", "quantity"))][0]
            if accept:
                changed = more(changed, passage, rng) or changed
            else:
                milder = more(text, passage, rng)
                changed = (edit(milder, passage, rng) if milder else None) or changed
        return (changed, accept, text) if changed else None

    def _by(
        self, others: Callable[[str, str], list[str]], parts: str
    ) -> Callable[[str, str, Random], str | None]:
        def edit(text: str, _: str, rng: Random) -> str | None:
            found = list(forms.WORD.finditer(text))
            rng.shuffle(found)
            for match in found:
                for part in parts:
                    for base, tag in self._read(text, match, part):
                        known = self._choices.get((base, part + others.__name__))
                        if known is None:
                            known = others(base, part)
                            self._choices[base, part + others.__name__] = known
                        choices = [w for w in known if not re.search(rf"\b{w[:5]}", text)]
                        new = inflected(rng.choice(choices), tag) if choices else None
                        if new and new != match.group():
                            return forms.replaced(text, match, new)
            return None

        return edit

    def _read(self, text: str, match: re.Match[str], part: str) -> Iterator[tuple[str, str]]:
        """Yield the base and form of a word that is clearly of a part of speech."""
        word = match.group()
        if word in forms.SKIPPED:
            return
        before = text[: match.start()].split()[-1:] or [""]
        tags = {"n": ("", "many"), "v": ("s", "ed", "ing", ""), "a": ("", "er", "est")}.get(
            part, ("",)
        )
        for tag in tags:
            for base in dict.fromkeys((word, word[:-1], word[:-2], word[:-3], word[:-4],
                                       word[:-3] + "y", word[:-3] + "e",
                                       present_of(word))):  # fmt: skip
                if base in forms.SKIPPED or not self._mostly(base, part, word):
                    continue
                if part == "v" and not tag and before[0] not in forms.MODAL_WORDS:
                    continue
                use = "en" if tag == "ed" and before[0] in forms.PERFECT else tag
                if inflected(base, use) == word:
                    yield base, use
                    return

    def _mostly(self, base: str, part: str, word: str) -> bool:
        totals = self._net.totals
        here = totals.get((base, part), 0)
        rest = sum(totals.get((one, p), 0) for one in {base, word} for p in "nvar" if p != part)
        return here >= 2 and here >= 8 * rest

    def _used(self, base: str, part: str, share: float) -> list[tuple[Synset, int]]:
        """Return the senses that make up so much of a word's use."""
        total = self._net.totals.get((base, part), 0)
        return [(s, at) for count, s, at in self._senses.get((base, part), [])
                if count > 0 and count >= share * total]  # fmt: skip

    def _antonyms(self, base: str, part: str) -> list[str]:
        found = [w for s, at in self._used(base, part, 0.4) for w in self._net.antonyms(s, at)]
        return [word for word in found if self._net.common(word, part)]

    def _sisters(self, base: str, part: str) -> list[str]:
        found = []
        own = {w for _, s, _ in self._senses.get((base, part), []) for w in s.words}
        for sense, _ in self._used(base, part, 0.6):
            for above in self._net.wider(sense):
                own |= set(above.words)
                below = [p.target for p in above.pointers if p.kind == "~"]
                if len(below) < 80:
                    found += [(w, part + key) for key in below for w in
                              self._net.synsets[part + key].words[:1]]  # fmt: skip
        return [word for word, key in found if word not in own and len(word) > 2
                and self._net.common(word, part) and self._net.counts.get((word, key), 0)
                >= max(3, 0.6 * self._net.totals[word, part])]  # fmt: skip

    def _synonyms(self, base: str, part: str) -> list[str]:
        return [word for sense, _ in self._used(base, part, 0.8) for word in sense.words
                if word != base and self._net.common(word, part)
                and self._net.counts.get((word, sense.key), 0)
                >= max(2, 0.5 * self._net.totals[word, part],
                       0.15 * self._net.totals[base, part])]  # fmt: skip

    def _direction(self, text: str, _: str, rng: Random) -> str | None:
        found = [m for m in forms.WORD.finditer(text) if m.group() in self._turned]
        if not found:
            return None
        match = rng.choice(found)
        before = (text[: match.start()].split()[-1:] or [""])[0]
        bare = inflected(match.group(), "") in forms.BASES
        if (bare and before not in forms.MODAL_WORDS) or before.lower() in forms.DETERMINERS:
            return None
        return forms.replaced(text, match, self._turned[match.group()])

    def _name(self, text: str, passage: str, rng: Random) -> str | None:
        found = [m for m in forms.names(text) if m.start()]
        if not found:
            return None
        match = rng.choice(found)
        near = [m.group() for m in forms.names(passage)]
        for pool in (near, rng.sample(self._names, min(60, len(self._names)))):
            fit = [w for w in pool if forms.shape(w) == forms.shape(match.group())
                   and not any(p[:5] in text for p in w.split() if len(p) > 3)]  # fmt: skip
            if fit:
                return text[: match.start()] + rng.choice(fit) + text[match.end() :]
        return None

    def _dropped(self, text: str, _: str, rng: Random) -> str | None:
        """Leave something out that the rest does not hang on."""
        if forms.DENIED.search(text):
            return None
        cuts = [m.span() for m in (*forms.CLAUSE.finditer(text), *forms.SECOND.finditer(text))]
        cuts += [m.span() for m in forms.BRACKET.finditer(text)]
        cuts += [m.span(2) for m in forms.TAIL.finditer(text)
                 if self._mostly(m[1].rstrip("s"), "n", m[1]) and "%" not in m[2]]  # fmt: skip
        for match in forms.WORD.finditer(text):
            word, rest = match.group(), text[match.end() :]
            before = (text[: match.start()].split()[-1:] or [""])[0].lower()
            plain = rest.startswith(" ") and rest[1:2].islower()
            if (
                plain
                and word in forms.MANNER
                and before not in {"so", "as", "how", "too", "and", "very"}
            ):
                cuts.append((match.start(), match.end() + 1))
            after = re.match(r" ([a-z]+)\b", rest)
            if (after and before in {"a", "an", "the", "his", "her", "its", "their"}
                    and word not in forms.KEPT and self._mostly(word, "a", word)
                    and self._mostly(after[1].rstrip("s"), "n", after[1])):  # fmt: skip
                cuts.append((match.start(), match.end() + 1))
        if not cuts:
            return None
        start, end = rng.choice(cuts)
        left = text[:start] + text[end:]
        word = text[end:].split(" ", maxsplit=1)[0]
        article = re.search(r"\b([Aa])n? $", left[:start])
        if article:
            n = "n" if word[:1] in "aeiou" else ""
            left = left[: article.start()] + article[1] + n + " " + left[start:]
        return left if len(left.split()) > 3 else None
