"""How a text is cut into tokens before tokens are counted.

``words``
    Upper-cased words; each symbol and each punctuation mark is a token of its own. For BLEU and
    GLEU. A number that starts a token takes the digits and punctuation after it along, so
    ``30.`` and ``30`` differ.
``meai``
    ``words`` exactly as Microsoft.Extensions.AI.Evaluation cuts: a clause in Chinese, Japanese
    or Thai, which have no spaces between words, is one token. The other tokenizers make each of
    its characters a token.
``squad``
    Lower-cased words without punctuation and without ``a``, ``an``, ``the``: the normalisation
    of the SQuAD evaluation (Rajpurkar et al. 2016), with the punctuation of every script and
    characters of scripts without spaces as in MLQA (Lewis et al. 2020).
``alnum``
    Lower-cased runs of letters, digits and their accents, all else left out: on ASCII texts what
    ROUGE (Lin 2004) is usually computed on.
``space``
    The text as it stands, cut at white space.

Every text is read in NFC with LF line ends. All take O(n) time and memory for n characters.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

from closecall.instrument import canonical_text

Cut: TypeAlias = Callable[[str], list[str]]

WORDS = "words"
MEAI = "meai"
SQUAD = "squad"
ALNUM = "alnum"
SPACE = "space"

_BLANK, _PUNCTUATION, _SYMBOL, _NUMBER, _LETTER = range(5)
_IN_WORDS = (_NUMBER, _LETTER)
_IN_NUMBERS = (_NUMBER, _PUNCTUATION)
_KIND_OF = {"P": _PUNCTUATION, "S": _SYMBOL, "N": _NUMBER}

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">", "&apos;": "'"}
_ENTITY = re.compile("|".join(_ENTITIES))
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")

# Thai, Lao, Myanmar, Khmer, kana (also half-width and extensions) and Han.
_UNSPACED_RANGES = (
    "\u0e01-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u3005\u3041-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001aff0-\U0001b16f\U00020000-\U000323af"
)
_ACCENTS = "".join(
    chr(code)
    for start, end in ((0x0E01, 0x1090), (0x1780, 0x17D4), (0x3099, 0x309B), (0xFF9E, 0xFFA0))
    for code in range(start, end)
    if unicodedata.category(chr(code))[0] == "M" or start == 0xFF9E  # noqa: PLR2004
)
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}][{_ACCENTS}\u0300-\u036f\ufe00-\ufe0f]*")


class _Kinds(dict[str, int]):
    """The kind of a character, looked up in the Unicode tables once."""

    def __missing__(self, char: str) -> int:
        kind = _KIND_OF.get(unicodedata.category(char)[0], _LETTER)
        self[char] = kind = _BLANK if char.isspace() else kind
        return kind


class _Kept(dict[int, str | None]):
    """What becomes of a character, for ``str.translate``: a rule by Unicode category."""

    def __init__(self, rule: Callable[[str, str], str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        self[code] = kept = self._rule(char, unicodedata.category(char))
        return kept


_KINDS = _Kinds()
_NO_PUNCTUATION = _Kept(
    lambda char, category: None if category[0] == "P" or char in string.punctuation else char
)
# Invisible joiners and soft hyphens go without parting a word; accents are part of it.
_ALNUM_ONLY = _Kept(
    lambda char, category: char if category[0] in "LMN" else None if category == "Cf" else " "
)


def meai_tokens(text: str) -> list[str]:
    r"""Return the tokens of ``meai``.

    One pass over characters. White space ends a token. A hyphen before a line break is taken out
    and joins what stands around it. Five HTML entities are the character they stand for. Each
    symbol (Unicode S) and punctuation mark (P) is a token of its own. A number (N) that starts a
    token takes all numbers and punctuation after it along; one within a word stays in it.

    >>> meai_tokens("Don't pay $3.50, CO2-\nneutral &amp; 30days")
    ['DON', "'", 'T', 'PAY', '$', '3.50,', 'CO2NEUTRAL', '&', '30', 'DAYS']
    """
    text = canonical_text(text)
    tokens: list[str] = []
    word = ""
    at = 0
    while at < len(text):
        kind = _KINDS[text[at]]
        start, at = at, at + 1
        if kind == _LETTER or (kind == _NUMBER and word):
            at = _end_of_run(text, at, _IN_WORDS)
            word += text[start:at]
            continue
        if text.startswith("-\n", start):
            at += 1
            continue
        if word:
            tokens.append(_upper(word))
            word = ""
        if kind == _NUMBER:
            at = _end_of_run(text, at, _IN_NUMBERS)
        elif entity := _ENTITY.match(text, start):
            tokens.append(_ENTITIES[entity[0]])
            at = entity.end()
            continue
        if kind != _BLANK:
            tokens.append(text[start:at])
    return [*tokens, _upper(word)] if word else tokens


def _end_of_run(text: str, at: int, kinds: tuple[int, int]) -> int:
    while at < len(text) and _KINDS[text[at]] in kinds:
        at += 1
    return at


def words_tokens(text: str) -> list[str]:
    """Return the tokens of ``words``: ``meai`` with scripts without spaces cut up.

    >>> words_tokens("東京は Tokyo!")
    ['東', '京', 'は', 'TOKYO', '!']
    """
    return meai_tokens(_parted(canonical_text(text)))


def squad_tokens(text: str) -> list[str]:
    """Return the tokens of ``squad``; often fewer than there are words, and maybe none.

    >>> squad_tokens("The U.S. has 50 states -- and a capital.")
    ['us', 'has', '50', 'states', 'and', 'capital']
    """
    return _ARTICLE.sub(" ", _no_punctuation(text)).split()


def squad_tokens_with_articles(text: str) -> list[str]:
    """Return the tokens of ``squad`` with articles left in.

    >>> squad_tokens_with_articles("A.")
    ['a']
    """
    return _no_punctuation(text).split()


def alnum_tokens(text: str) -> list[str]:
    """Return the tokens of ``alnum``.

    >>> alnum_tokens("It's 3.50 (approx.), naïve_ly")
    ['it', 's', '3', '50', 'approx', 'naïve', 'ly']
    """
    return _parted(canonical_text(text).lower().translate(_ALNUM_ONLY)).split()


def space_tokens(text: str) -> list[str]:
    """Return the text cut at white space; a text that is not blank has at least one token."""
    return canonical_text(text).split()


def _lower_space_tokens(text: str) -> list[str]:
    return canonical_text(text).lower().split()


TOKENIZERS: dict[str, tuple[Cut, ...]] = {
    WORDS: (words_tokens, _lower_space_tokens),
    MEAI: (meai_tokens, _lower_space_tokens),
    SQUAD: (squad_tokens, squad_tokens_with_articles, _lower_space_tokens),
    ALNUM: (alnum_tokens, _lower_space_tokens),
    SPACE: (space_tokens,),
}
"""The cuts of each tokenizer: the first under which a reference has any token is used.

So a reference that is all articles or punctuation (the answer ``A``, or ``+``) can still be
compared, with a response cut the same way."""


class TokenPairs:
    """Cuts one response and its references alike; the response once for each cut."""

    def __init__(self, tokenizer: str, response: str) -> None:
        self._cuts = TOKENIZERS[tokenizer]
        self._response = response
        self._done: dict[Cut, list[str]] = {}

    def against(self, reference: str) -> tuple[list[str], list[str]]:
        """Return the tokens of a reference and of the response."""
        (tokens,), answer = self.against_all([reference])
        return tokens, answer

    def against_all(self, references: Sequence[str]) -> tuple[list[list[str]], list[str]]:
        """Return the tokens of every reference and of the response, all under one cut."""
        found: list[list[str]] = []
        for cut in self._cuts:
            found = [cut(reference) for reference in references]
            if any(found):
                break
        return found, self._answer(cut)

    def _answer(self, cut: Cut) -> list[str]:
        if cut not in self._done:
            self._done[cut] = cut(self._response)
        return self._done[cut]


def _no_punctuation(text: str) -> str:
    return _parted(canonical_text(text).lower().translate(_NO_PUNCTUATION))


def has_unspaced(text: str) -> bool:
    """Whether a character of a script without spaces is among these (Thai, kana, Han, ...)."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def _parted(text: str) -> str:
    """Put spaces around each character, with its accents, of a script that has none."""
    return text if text.isascii() else _UNSPACED.sub(r" \g<0> ", text)


def _upper(word: str) -> str:
    """Return the word in upper case, letter by letter: no letter becomes two."""
    upper = word.upper()
    if len(upper) == len(word):
        return upper
    return "".join(large if len(large := char.upper()) == 1 else char for char in word)
