"""What people do, things there are, and clauses, each beside a wider form of itself.

They are taken from WordNet's examples, which use a word in that very sense, and from sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from pair.frames import ACTS, ADJUNCTS, DESCRIBED, LATER, NARROWING
from pair.inflected import MASS, article, past, third
from pair.wordnet import Synset, WordNet

_TURNED = re.compile(
    r"\b(?:no|not|never|nobody|nothing|none|neither|nor|without|few|fewer|hardly|barely|rarely|"
    r"seldom|all|every|each|everyone|everything|any|anyone|only|if|unless|most|least|than|"
    r"exactly|"
    r"before|too|whether|until|till|just|both|between|except|almost|nearly|same|less|more|"
    r"would|could|should|may|might|cannot|let|doubt|refuse|fail|avoid|deny|denied|prevent|lest|"
    r"forbid|lack|stop|ban|against|as|either|want|wish|hope|like|seem|seek|need|expect)(?:s|d|ed)?\b|n't"
)
"""Words that turn a direction, or make it unsure: a text with one is left alone."""
_ODD = re.compile(r"[^A-Za-z ,'-]|\b(?:one's|oneself|you|your|yourself|my|our|me|us|some)\b|`|''")
_SUBJECT = re.compile(
    r"(?:[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I|[Ii]t|(?:[Tt]he|[Hh]is|[Hh]er|[Mm]y) [a-z]+)$"
)
_ADJ = re.compile(
    r"\b([Aa]n?) ([a-z]+) ([a-z]+)(?= (?:of|in|on|for|with|from|that|who|at|by|is|was)\b|[.,]|$)"
)
_ONE = re.compile(r"\b[Aa]n? (?:[a-z]+ )?([a-z]+)(?= (?:of|in|on|for|with|from|that|is|was)\b|$)")
_AFTER = (None, "of", "in", "on", "for", "with", "from", "at", "by")
_EMPTY = frozenset(
    "be have think get feel change whole entity abstraction group cause act event attribute "
    "relation lie stand part quantity instrumentality physical mean induce become process "
    "cognition instrumentation".split()
)
"""Wider words that say next to nothing, or that do not fit in the narrower one's place."""
_LOOSE = frozenset(
    "off up out down away over on back in with to of for into as about from through along "
    "together around like that at by".split()
)
_VAGUE = frozenset(
    "former fake alleged possible potential likely false own other same first second last "
    "next many much such certain several few single little half hundred thousand particular "
    "given only great good long short whole full big total real true mere so-called imaginary "
    "counterfeit artificial late past future apparent presumed fair sure model toy near good "
    "bad small large".split()
)
_PP = re.compile(
    r" (in|during|near|behind|under|on|at|with|after) ((?:the|an?|his|her|their) [a-z ]+)$"
)
_PARTS = frozenset(
    "way manner kind sort type lot number bit part piece state degree set amount level view "
    "term size group series pair range variety portion form share case fact claim".split()
)
_HUNG = re.compile(
    r"\b(?:that|who|which|to|and|or|be)\b|"
    r" (?:of|in|on|at|for|with|up|out|off|down|over|by|from|away|into|a|the|his|her|their)$"
)
_OBJECT = re.compile(r"^[a-z]+ (?:the|an?|his|her|their) [a-z]+(?: [a-z]+)?$")
_BOUND = frozenset(
    "put place lay set depend rely base fill cover share deal provide supply engage "
    "participate believe consist result succeed reside trade end indulge join interest live "
    "look be become keep leave hold rank stand lie confront present invest involve immerse "
    "replace load charge compare help meet go come get fall take make have throw".split()
)
_LY = re.compile(r"(?<= )([a-z]{3,}ly)$")
_CLAUSE = re.compile(r"(?:The|He|She|It|They|[A-Z][a-z]+) [\w, '-]+\.")
_FINITE = re.compile(r"^((?:The )?[A-Za-z]+(?: [A-Z][a-z]+)?) (is|was|are|were|has been) (?!to\b)")
_REL = re.compile(r"(?<= )(an? (?:[a-z]+ )?([a-z]+)) (?:that|who|which) ([a-z]+) [a-z ,]+(?=\.$)")
_PAIR = re.compile(r"(?<= )([a-z]+)( and [a-z]+)(?=\.$)")
_HOW = re.compile(r"\b(was|were|is|are) ([a-z]{3,}ly)(?= [a-z]+ed\b)")
_LOWERED = frozenset("The He She It They A An In This These His Her Their There".split())


class Item(NamedTuple):
    """A narrower text and a wider one of one form, of a statement that follows upward."""

    form: str
    narrow: str
    wide: str
    edit: str
    group: str
    denied: tuple[str, str] | None = None
    """Both of a clause with its own verb denied."""


class Narrowed:
    """Finds narrower and wider forms with the senses of WordNet."""

    def __init__(self, net: WordNet) -> None:
        self._net = net
        self._together = {word for s in net.synsets.values() for word in s.words if " " in word}
        self._counted = {
            found[1]
            for sense in net.synsets.values()
            for text in sense.examples
            for found in _ONE.finditer(text)
        }

    def of_sense(self, sense: Synset) -> Iterator[Item]:
        """Yield the edits of a sense's examples."""
        if sense.key[0] == "n":
            yield from self._mainly(sense)
        for example in sense.examples:
            text = example.strip()
            if (
                not 2 <= len(text.split()) <= 14
                or _ODD.search(text)
                or _TURNED.search(text.lower())
            ):
                continue
            for _, _, words in self._plainer(text):
                yield Item("thing", words, words.split()[1], "adjective", min(words.split()))
            if sense.key[0] == "v":
                yield from self._of_verb(text, sense)
            elif sense.key[0] == "n":
                yield from self._of_noun(text, sense)

    def _of_verb(self, text: str, sense: Synset) -> Iterator[Item]:
        for word in sense.words:
            if not re.fullmatch(r"[a-z]+", word):
                continue
            rest = text.removeprefix(word + " ")
            others = self._fitting(text, sense)
            if rest != text:
                for other in others:
                    group = min(word, other)
                    yield Item("do", text, f"{other} {rest}", "verb", group)
                yield from self._acted(text, word)
                return
            for form in (past, third):
                subject, middle, rest = text.partition(f" {form(word)}")
                if not middle or not _SUBJECT.fullmatch(subject) or rest[:1] not in ("", " "):
                    continue
                plural = subject.lower() in ("i", "we", "they")
                aux = "did not" if form is past else "does not"
                if form is third and plural:
                    continue
                name = subject if subject == "I" else subject[0].lower() + subject[1:]
                for narrow, wide, edit, group in [
                    *((f"{word}{rest}", f"{o}{rest}", "verb", min(word, o)) for o in others),
                    *((i.narrow, i.wide, i.edit, i.group) for i in self._acted(word + rest, word)),
                ]:
                    said = [
                        f"{name} {form(part.split(' ')[0])}{part[len(part.split(' ')[0]) :]}"
                        for part in (narrow, wide)
                    ]
                    denied = (f"{name} {aux} {narrow}", f"{name} {aux} {wide}")
                    if " or " not in wide and " and " not in narrow:
                        yield Item("clause", said[0], said[1], edit, group, denied)
                return

    def _fitting(self, text: str, sense: Synset) -> list[str]:
        """Return wider verbs, unless what follows the verb may not follow another one."""
        forms = "|".join(re.escape(form) for w in sense.words for form in (w, past(w), third(w)))
        after = re.search(rf"\b(?:{forms}) ([a-z]+)", text)
        if after and (after[1] in _LOOSE or self._net.common(after[1], "a")):
            return []
        return self._wider(sense, "v")

    def _acted(self, text: str, word: str) -> Iterator[Item]:
        """Yield the edits of what somebody does that need no sense of a word."""
        pick = Random(text)
        if _PP.search(text) is None and len(text.split()) <= 7 and not text.endswith("ly"):
            if _OBJECT.fullmatch(text) or not _HUNG.search(text):
                yield Item("do", f"{text} {pick.choice(ADJUNCTS)}", text, "adjunct", word)
                other = pick.choice(LATER)
                yield Item("do", f"{text} and {other}", text, "and", word)
                yield Item("do", text, f"{text} or {other}", "or", word)
        elif (match := _PP.search(text)) and word not in _BOUND:
            less = text[: match.start()]
            alone = less == word and match[1] in ("during", "near", "behind", "under")
            if _OBJECT.fullmatch(less) or alone:
                yield Item("do", text, less, "phrase", word)
        if (match := _LY.search(text)) and self._net.common(match[1], "r") and word not in _BOUND:
            less, last = text[: match.start() - 1], text[: match.start() - 1].rpartition(" ")[2]
            if last not in ("and", "very", "be") and not self._net.common(last, "r"):
                yield Item("do", text, less, "adverb", word)
        for narrow, wide, _ in self._plainer(text):
            yield Item("do", narrow, wide, "adjective", word)

    def _of_noun(self, text: str, sense: Synset) -> Iterator[Item]:
        for word in sense.words:
            match = re.search(rf"\b([Aa]n?) ((?:[a-z]+ )?){word}\b(?: ([a-z]+)|$)", text)
            if not match or not self._net.common(word, "n") or match[3] not in _AFTER:
                continue
            if match[2] and not self._net.common(match[2].strip(), "a"):
                continue
            less, pick = f"{match[2]}{word}", Random(text)
            inner = less if match.start() else text[match.start(2) :]
            if not re.fullmatch(r"(?:[a-z-]+ ?){1,5}", inner):
                continue
            if match[3] is None:
                yield from self._nouns(sense, word, match[2])
                yield Item("thing", f"{less} {pick.choice(DESCRIBED)}", less, "clause", word)
            elif less != inner and word not in _PARTS:
                yield Item("thing", inner, less, "phrase", word)
            if not match[2]:
                yield Item("thing", f"{pick.choice(NARROWING)} {inner}", inner, "added", word)
            return

    def _nouns(self, sense: Synset, word: str, before: str) -> Iterator[Item]:
        """Yield a noun beside wider ones, after an adjective or not."""
        for other in self._wider(sense, "n"):
            if other not in MASS and f"{before}{other}" not in self._together:
                narrow, wide = f"{before}{word}", f"{before}{other}"
                yield Item("thing", narrow, wide, "noun", min(word, other))
                act = Random(narrow + wide).choice(ACTS)
                one, more = (f"{act} {article(text)} {text}" for text in (narrow, wide))
                yield Item("do", one, more, "noun", min(word, other))

    def _mainly(self, sense: Synset) -> Iterator[Item]:
        """Yield the edits of nouns that hardly ever have another sense."""
        for word in sense.words:
            total = self._net.totals.get((word, "n"), 0)
            if (
                word in self._counted
                and word not in MASS
                and self._net.common(word, "n")
                and self._net.counts.get((word, sense.key), 0) >= 0.75 * total
            ):
                yield from self._nouns(sense, word, "")
                yield from self._nouns(sense, word, f"{Random(word).choice(NARROWING)} ")

    def _wider(self, sense: Synset, part: str) -> list[str]:
        """Return plain words of the senses one step wider, and of nouns two."""
        above = self._net.wider(sense)
        above = above + [more for one in above for more in self._net.wider(one) if part == "n"]
        share = 0.6 if part == "n" else 0.25  # of the word's uses: it is read in this sense
        found = [(word, wide.key) for wide in above for word in wide.words[: 1 + (part == "n")]]
        return [
            word
            for word, key in dict.fromkeys(found)
            if self._net.common(word, part)
            and self._net.counts.get((word, key), 0)
            >= max(2, share * self._net.totals[word, part])
            and word not in (*sense.words, *_EMPTY)
            and (part == "v" or not word.endswith("s"))
        ]

    def _plainer(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield the text, the text without an adjective, and both words."""
        for match in _ADJ.finditer(text):
            adjective, noun = match[2], match[3]
            if (
                adjective not in _VAGUE
                and not self._compared(adjective)
                and noun not in _PARTS
                and self._net.common(adjective, "a")
                and self._net.common(noun, "n")
                and f"{adjective} {noun}" not in self._together
            ):
                put = article(noun).capitalize() if match[1][0] == "A" else article(noun)
                less = f"{text[: match.start()]}{put} {noun}{text[match.end() :]}"
                yield text, less, f"{adjective} {noun}"

    def _compared(self, word: str) -> bool:
        """Return whether a word is a comparative: smaller than what is not said."""
        stems = (word[:-1], word[:-2], word[:-3], word[:-3] + "y")
        return word.endswith("er") and any((stem, "a") in self._net.totals for stem in stems)

    def of_sentence(self, text: str, group: str) -> Iterator[Item]:
        """Yield the edits of a sentence that need no sense of a word."""
        for _, _, words in self._plainer(text):
            yield Item("thing", words, words.split()[1], "adjective", group)
        if len(text.split()) > 24 or not _CLAUSE.fullmatch(text) or _TURNED.search(text.lower()):
            return
        if not (match := _FINITE.search(text)):
            return
        for wide, edit in self._less(text):
            one, other = (_lower(part.rstrip(".")) for part in (text, wide))
            at = match.end(2) if match[2] != "has been" else match.end(2) - 5
            denied = (one[:at] + " not" + one[at:], other[:at] + " not" + other[at:])
            yield Item("clause", one, other, edit, group, denied)

    def _less(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield wider forms of a sentence and what was left out."""
        for _, wide, _ in self._plainer(text):
            yield wide, "adjective"
        for found in _REL.finditer(text):
            if self._net.common(found[2], "n") and found[2] not in _PARTS:
                yield text[: found.end(1)] + ".", "clause"
        for found in _PAIR.finditer(text):
            if all(self._net.common(w, "n") for w in (found[1], found[2].split()[1])):
                yield text[: found.end(1)] + ".", "and"
        if phrase := _PP.search(text[:-1]):
            less = text[: phrase.start()]
            if self._net.common(less.rpartition(" ")[2], "n"):
                yield less + ".", "phrase"
        for found in _HOW.finditer(text):
            if self._net.common(found[2], "r"):
                yield text[: found.end(1)] + text[found.end(2) :], "adverb"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if text.split(" ", 1)[0] in _LOWERED else text
