"""Real sentences denied, affirmed, and denied once more in other words.

By *not* after an auxiliary, *did not* with the base of the verb, *no* for an article; *never* and
*without* taken out. Two denials of one sentence are right beside each other, so that a denial by
itself tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from pair import replacing as forms
from pair.inflected import inflected, present_of
from pair.rows import Row
from pair.wordnet import WordNet

EACH = {"denied": 1300, "affirmed": 500, "alike": 1100}
"""Rows of each kind at most, where there is enough text to make them of."""

_DENIAL = re.compile(
    r"(?i)\b(?:not?|never|nobody|nothing|none|nor|neither|without|cannot|hardly|rarely|unless)\b"
    r"|n['’]t\b"  # noqa: RUF001
)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must)(?= [a-z])(?! not\b)"
)
_ARTICLE = re.compile(r"\b((?:is|are|was|were|has|have|had|contains|contained) )an? (?=[a-z])")
_SUBJECT = re.compile(r"(?:\b(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Ww]e|I)|[A-Z][\w’'-]*[a-z]) $")  # noqa: RUF001
_OPENED = re.compile(r"(?!(?:He|She|It) $)[A-Z][\w’'-]* $")  # noqa: RUF001
"""One word with a capital, which may only be the first: what follows may be several things."""
_NO_NOUN = (
    r"(?!(?:one|longer|doubt|matter|more|other|less|fewer|later|such|sooner|way)\b)(?=[a-z])"
)
_NOT = (
    r"\b(is|are|was|were|can|could|will|would|should|must|do|does|did|has|have|had)"
    r"(?: not|n['’]t)\b"  # noqa: RUF001
    r"(?! (?:only|just|all|every|always|many|much|necessarily|until|yet|even)\b)"
)
_AFFIRMED = [(re.compile(pattern), new) for pattern, new in (
    (rf"\bno {_NO_NOUN}", "some "), (rf"\bNo {_NO_NOUN}", "Some "), (_NOT, r"\1"),
    (r"\bnever ", ""), (r"\bnever ", "always "), (r"\bwithout\b", "with"), (r"\bcannot\b", "can"),
    (r"\bno longer\b", "still"), (r"\bnothing\b", "something"), (r"\bNothing\b", "Something"),
    (r"\b(?:nobody|no one)\b", "someone"), (r"\b(?:Nobody|No one)\b", "Someone"),
    (r"\bnone of\b", "some of"), (r"\bNone of\b", "All of"), (r"\b(?:hardly|rarely)\b", "often"),
)]  # fmt: skip
_WHOLE = ("It is not true that {}", "It is false that {}", "It is not the case that {}")
_WAYS = ("{} not", "{} not", "{}n't", "{} in no way", "{} certainly not")
_SPELLED = {"can not": "cannot", "cann't": "can't", "willn't": "won't"}
_BOUND = re.compile(r" (?:only|all|both|always|often|also|just|to)\b")
"""After these *not* denies something else."""


class Denials:
    """Denies sentences, and takes denials out of them.

    Parameters
    ----------
    net
        Which words are verbs.
    """

    def __init__(self, net: WordNet) -> None:
        self._net = net

    def rows(
        self, pool: Sequence[tuple[str, str, str]], rng: Random, each: dict[str, int]
    ) -> list[Row]:
        """Return at most so many rows of each kind of ``EACH``.

        ``pool`` holds a sentence, what it is looked up in (blank: itself) and its group.
        """
        made = []
        for kind, most in each.items():
            order = list(pool)
            rng.shuffle(order)
            count = 0
            for text, beside, group in order:
                pair = self._pair(kind, text, beside, rng)
                if pair is None:
                    continue
                made.append(Row(*pair, kind == "alike", f"sentence {kind}", group))
                count += 1
                if count == most:
                    break
        return made

    def _pair(self, kind: str, text: str, beside: str, rng: Random) -> tuple[str, str] | None:
        """Return both texts of a row: one is the sentence and one denies it, or both deny it."""
        if kind == "affirmed":
            new = self.affirmed(text, rng)
            return (beside or text, new) if new else None
        denials = self.denials(text)
        if not denials:
            return None
        one = rng.choice(denials)
        if kind == "denied":
            return (one, text) if rng.random() < 0.25 else (beside or text, one)
        others = [other for other in denials if other != one]
        others.append(rng.choice(_WHOLE).format(forms.small(text)))
        two = [one, rng.choice(others)]
        rng.shuffle(two)
        return two[0], two[1]

    def denials(self, text: str) -> list[str]:
        """Return denials of a sentence without one: of its first verb, all the same."""
        if _DENIAL.search(text) or text.endswith("?"):
            return []
        verb, auxiliary = self._simple(text), _AUXILIARY.search(text)
        if auxiliary and (verb is None or auxiliary.start() < verb[0]):
            start, end, word = *auxiliary.span(1), auxiliary[1]
            if _BOUND.match(text, end):
                return []
            said = [_SPELLED.get(one, one) for one in (way.format(word) for way in _WAYS)]
        elif verb is not None:
            start, end, base, helper = verb
            said = [f"{way.format(helper)} {base}" for way in _WAYS]
        else:
            return []
        found = [text[:start] + one + text[end:] for one in said]
        if article := _ARTICLE.match(text, start):
            found.append(text[:start] + article[1] + "no " + text[article.end() :])
        return found

    def affirmed(self, text: str, rng: Random) -> str | None:
        """Return a sentence without its only denial."""
        if len(_DENIAL.findall(text)) != 1:
            return None
        found = [(m, new) for pattern, new in _AFFIRMED for m in pattern.finditer(text)]
        if not found:
            return None
        match, new = rng.choice(found)
        return text[: match.start()] + match.expand(new) + text[match.end() :]

    def _simple(self, text: str) -> tuple[int, int, str, str] | None:
        """Return place, base and helper of the first verb, where it is a plain past or present."""
        for match in forms.WORD.finditer(text):
            word, before = match.group(), text[: match.start()]
            if "," in before:
                return None
            if not _SUBJECT.search(before) or re.match(r" by\b", text[match.end() :]):
                continue
            base = self.past_of(word)
            if base:
                return match.start(), match.end(), base, "did"
            if _OPENED.fullmatch(before):
                continue
            base = next((b for b in (word[:-1], word[:-2]) if word == inflected(b, "s")
                         and self._net.common(b, "v")), None)  # fmt: skip
            if base and word not in ("is", "was", "has"):
                return match.start(), match.end(), base, "does"
        return None

    def past_of(self, word: str) -> str | None:
        """Return the verb that a word is the past tense of."""
        for base in dict.fromkeys((present_of(word), word[:-1], word[:-2], word[:-3])):
            if base != word and inflected(base, "ed") == word and self._net.common(base, "v"):
                return base if base not in ("be", "have", "do") else None
        return None
