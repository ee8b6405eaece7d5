"""Words of a text, where they stand, and what language they are likely in.

All guards read texts through this one module. Spans are into the text as it was given; only the
copies compared are folded (case, accents, curly apostrophes). One pass over the text each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

Language = Literal["en", "de", "fr", "es", "other"]
"""``other`` is one whose function words are known well enough to tell, but not its rules."""

_MARK = r"\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_APOSTROPHES = "'’"  # noqa: RUF001 - both are looked for
_ELIDED = rf"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)[{_APOSTROPHES}](?=\w)"
_LETTERS = rf"[^\W_][{_MARK}]*+"
_WORD = re.compile(
    rf"\b{_ELIDED}|(?:{_LETTERS})++(?:[{_APOSTROPHES}](?:{_LETTERS})++)*+", re.IGNORECASE
)
_SENTENCE = re.compile(r"[.!?…。！？؟।](?=[\s\"'”’)\]]|$)|[\n\r;；•]")  # noqa: RUF001
_CLAUSE = re.compile(r"[,:()\[\]{}—–،、，：]|(?<=\s)-(?=\s)")  # noqa: RUF001
_ABBREVIATED = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "vs",
        "no",
        "nr",
        "jr",
        "sr",
        "inc",
        "ltd",
        "co",
        "etc",
        "approx",
        "ca",
        "bzw",
    ]
)
_ASIDE = {"’": "'", "ʼ": "'"}  # noqa: RUF001

SAME, CLAUSE, SENTENCE = 0, 1, 2
"""What stands between a word and the one before: at most blanks, a comma or the like, an end."""


class Word(NamedTuple):
    """A word of a text; ``fold`` is what is compared, ``after`` what stands before it."""

    text: str
    fold: str
    start: int
    end: int
    after: int

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()


def words(text: str) -> list[Word]:
    """Return the words of a text, hyphenated ones apart; French elisions stand alone."""
    return list(_kept_words(text) if len(text) <= _KEPT_CHARS else _words(text))


def _words(text: str) -> list[Word]:
    found: list[Word] = []
    last = 0
    previous = ""
    for match in _WORD.finditer(text):
        start, end = match.span()
        written = match.group()
        gap = text[last:start]
        after = SENTENCE if not last else SAME if gap == " " else _between(gap, previous)
        found.append(Word(written, fold(written), start, end, after))
        last, previous = end, written
    return found


# Each guard looks at the same few texts of a case; the question and the references come again
# with the next answer.
_KEPT_CHARS = 4_000
_KEPT_TEXTS = 64


@lru_cache(maxsize=_KEPT_TEXTS)
def _kept_words(text: str) -> tuple[Word, ...]:
    return tuple(_words(text))


@lru_cache(maxsize=1 << 14)
def fold(word: str) -> str:
    r"""Return a word without case and accents, with a straight apostrophe.

    >>> fold("Élan"), fold("DON\N{RIGHT SINGLE QUOTATION MARK}T"), fold("Straße")
    ('elan', "don't", 'strasse')
    """
    folded = word.casefold()
    if folded.isascii():
        return folded
    plain = unicodedata.normalize("NFKD", folded)
    kept = "".join(char for char in plain if not unicodedata.combining(char))
    for curly, straight in _ASIDE.items():
        kept = kept.replace(curly, straight)
    return unicodedata.normalize("NFC", kept)


def _between(gap: str, previous: str) -> int:
    if gap in (" ", "", "-"):
        return SAME
    end = _SENTENCE.search(gap)
    if end:
        dot = end.group() == "." and gap.startswith(".")
        short = len(previous) == 1 or previous.lower() in _ABBREVIATED
        if not (dot and short) or "\n" in gap:
            return SENTENCE
    return CLAUSE if _CLAUSE.search(gap) else SAME


_VOTES: dict[Language, str] = {
    "en": "the of and is was to it that for with by are were this from at be has have which or "
    "what when who how does did not an as they he she his her you your can will would "
    "never without nobody i we my a do no but there than",
    "de": "der die das und ist nicht ein eine einen einem im von mit den dem auf für sich zu "
    "sind wird wurde als auch es an nach bei aus wie wer wann welche kann werden hat kein "
    "keine keinen nie niemals ohne niemand darf wir ich ihr",
    "fr": "le la les et est des du une un dans que pour au aux sur pas ne en il elle qui ce cette "
    "sont par avec a été plus quel quelle être ont n c d l qu jamais sans rien "
    "aucun aucune je nous vous",
    "es": "el la los las y es de que en un una por con para no se del al su fue lo como más "
    "qué cuál está han ser pero sus "
    "nunca sin nada nadie yo hay muy tiene está esta este",
}
_OTHERS = (
    "não uma com num numa em os do da dos das ao e o são foi pelo pela mais está você isso "
    "il di che è e del della dei gli una con non sono nel nella alla questo più ha "
    "het een van en zijn niet met op voor dat aan ook naar wordt geen bij "
    "és els amb dels una als que no les i w na się jest nie że z do "
    "och att det är som på av för med inte og er ikke til af"
)
"""Portuguese, Italian, Dutch, Catalan, Polish, Swedish, Danish: all are ``other``."""
_BY_WORD: dict[str, tuple[Language, ...]] = {}
_LISTS: tuple[tuple[Language, str], ...] = (
    *((name, _VOTES[name]) for name in ("en", "de", "fr", "es")),
    ("other", _OTHERS),
)
for _name, _list in _LISTS:
    for _key in {fold(_vote) for _vote in _list.split()}:
        _BY_WORD[_key] = (*_BY_WORD.get(_key, ()), _name)
_LETTERS_OF: dict[str, Language] = {
    **dict.fromkeys("äöüß", "de"),
    **dict.fromkeys("àèùâêîôûçœ", "fr"),
    **dict.fromkeys("áíóúñ¿¡", "es"),
    **dict.fromkeys("ãõłśżćåøæ", "other"),
}
"""Letters that are rare in all languages but one; each is a vote as well."""
_READ = 400
"""Words of a text that vote on its language."""


def language_of(*texts: str | None) -> Language | None:
    """Return the language of the first text in which more function words are of one than of any.

    None where there is no such text, as with an answer of one or two words.

    >>> language_of("1,462", "Wie viele sind es?")
    'de'
    """
    for text in texts:
        if text:
            found = (
                _kept_language(text) if len(text) <= _KEPT_CHARS else _most(language_votes(text))
            )
            if found is not None:
                return found
    return None


def language_votes(text: str) -> dict[Language, int]:
    """Return how many of a text's first words are of each language; O(1) in a long text.

    A word of two languages counts for both.
    """
    return _votes(match.group() for match in _WORD.finditer(text))


def _votes(found: Iterable[str]) -> dict[Language, int]:
    votes: dict[Language, int] = {}
    for word in islice(found, _READ):
        for language in _BY_WORD.get(fold(word.rstrip(_APOSTROPHES)), ()):
            votes[language] = votes.get(language, 0) + 1
        if not word.isascii():
            for language in {_LETTERS_OF[c] for c in word.lower() if c in _LETTERS_OF}:
                votes[language] = votes.get(language, 0) + 1
    return votes


def _most(votes: dict[Language, int]) -> Language | None:
    best = sorted(votes, key=lambda language: -votes[language])
    return best[0] if best and (len(best) == 1 or votes[best[0]] > votes[best[1]]) else None


@lru_cache(maxsize=_KEPT_TEXTS)
def _kept_language(text: str) -> Language | None:
    # The guards that ask for the language ask for the words as well.
    return _most(_votes(word.text for word in _kept_words(text)))


def listed(text: str) -> frozenset[str]:
    """Return the words of a text, folded: how the lists of words in the guards are written."""
    return frozenset(fold(word) for word in text.split())


STOP = listed(
    "a an the this that these those it its they them their he him his she her hers we us our "
    "you your i me my mine who whom whose which what when where why how of to in on at by for "
    "from with about into onto over under between among as than then so such and or but if "
    "because while although though whereas since until unless whether is am are was were be "
    "been being do does did done doing have has had having will would shall should can could "
    "may might must there here also just very too quite rather really some any all each every "
    "both either neither nor not no never none only own same other another more most less "
    "least much many few several out up down off again once yes s t re ve ll d m "
    "however therefore thus hence according answer question text passage indeed "
    # German
    "der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren "
    "wird werden wurde wurden hat haben hatte hatten ich du er sie es wir ihr ihn ihm sich auf "
    "im am zum zur von vom mit bei nach aus für über unter zwischen durch gegen als wie wenn "
    "weil dass ob da dort hier auch noch nur schon sehr nicht kein keine keinen keinem keiner "
    "nie niemals kann können muss müssen soll sollte darf "
    # French
    "le la les l un une des du de d et ou mais est sont était étaient être été a ont avait "
    "avoir je tu il elle on nous vous ils elles ce cet cette ces son sa ses leur leurs qui que "
    "qu quoi dont où dans sur sous par pour avec sans chez en au aux à y ne n pas plus jamais "
    "rien aucun aucune très aussi comme si se s peut doit fait "
    # Spanish
    "el la los las lo un una unos unas y o pero es son era eran ser estar está están fue fueron "
    "ha han había haber yo tú él ella nosotros ellos ellas su sus este esta estos estas ese esa "
    "que quien cual donde cuando como de del al a en con sin por para sobre entre desde hasta "
    "muy más menos también ya no ni nunca se le les me te nos puede debe hay"
)
"""Words that carry no matter of their own, folded; all languages at once."""

_NEGATED_VERB = re.compile(r"\w+n't$")


def is_content(word: Word) -> bool:
    """Return whether a word carries matter: no function word, no contraction of one."""
    return carries(word.fold)


@lru_cache(maxsize=1 << 14)
def carries(folded: str) -> bool:
    """Return whether a folded word carries matter; see ``is_content``."""
    return (
        folded not in STOP
        and folded.partition("'")[0] not in STOP
        and not _NEGATED_VERB.match(folded)
        and folded != "cannot"
    )


_DOUBLED = re.compile(r"([bdgklmnprt])\1$")
_SHORT = 3
_ENDINGS: dict[str | None, tuple[str, ...]] = {
    "de": ("ungen", "en", "er", "es", "em", "et", "te", "e", "n", "s", "t"),
    "fr": ("ements", "ement", "ées", "ee", "es", "er", "ez", "e", "s"),
    "es": ("mente", "os", "as", "es", "an", "en", "ar", "er", "ir", "o", "a", "e", "s"),
}


@lru_cache(maxsize=1 << 14)
def stem(folded: str, language: Language | None = "en") -> str:
    """Return what a folded word shares with its other forms; crude on purpose.

    >>> stem("increasing") == stem("increased") == stem("increases") == stem("increase")
    True
    """
    word = folded.removesuffix("'s").rstrip("'")
    if len(word) <= _SHORT:
        return word
    if language in (None, "en"):
        return _english_stem(word)
    for ending in _ENDINGS.get(language, ()):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORT:
            return word[: -len(ending)]
    return word


def _english_stem(word: str) -> str:
    word = _without_plural(word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= _SHORT and set(root) & set("aeiouy"):
            word = _DOUBLED.sub(r"\1", root)
            break
    else:
        if word.endswith("ly") and len(word) > _SHORT + 3:
            word = word[:-2]
    if word.endswith("i"):
        word = word[:-1] + "y"
    return word[:-1] if word.endswith("e") and len(word) > _SHORT else word


def _without_plural(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def stems(found: Iterable[Word], language: Language | None) -> list[str]:
    """Return the stems of those words that carry matter, in order."""
    return [stem(word.fold, language) for word in found if is_content(word)]
