"""What is known of one text alone: how it is spelt, its numbers, its script, how it ends."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from closecall.calibration.evidence.slicing import negates, script
from closecall.instrument import canonical_text
from closecall.metrics.guards.words import listed

EXCERPT = 80
"""Characters kept of a text to show it by."""

Detector: TypeAlias = Callable[[str], str | None]
"""Names the language of a text, None where it cannot tell."""


class TextFacts(NamedTuple):
    """Facts of one text; ``spelling`` and ``numbers`` are digests.

    Texts of one ``spelling`` differ at most in case, white space and punctuation. Texts of the
    same ``numbers`` hold the same numbers in digits. ``negated`` tells a negation cue, ``cut``
    that the text looks cut off, ``language`` None that it was not told. ``excerpt`` is how it
    starts, ``ending`` how one ends that looks cut off.
    """

    spelling: bytes
    numbers: bytes
    negated: bool
    script: str
    language: str | None
    cut: bool
    excerpt: str
    ending: str

    def says_other(self, other: TextFacts) -> bool:
        """Whether the two differ in a number in digits, or one negates and the other does not.

        Such texts are near in vectors, and still not the same.
        """
        return self.numbers != other.numbers or self.negated != other.negated


def facts_of_text(text: str, detector: Detector | None = None) -> TextFacts:
    """Return the facts of a text; linear in its length."""
    cut = looks_cut_off(text)
    return TextFacts(
        spelling=_digest(spelling(text)),
        numbers=_digest("\n".join(sorted(_NUMBER.findall(text)))),
        negated=negates(text),
        script=script(text),
        language=None if detector is None else detector(text),
        cut=cut,
        excerpt=" ".join(text[: 4 * EXCERPT].split())[:EXCERPT],
        ending=" ".join(text[-4 * EXCERPT :].split())[-EXCERPT:] if cut else "",
    )


def spelling(text: str) -> str:
    """Return the text without what two spellings of it may differ in.

    Case is folded, punctuation left out, white space made one space. Marks that carry matter
    stay: those between digits, a sign before a digit, symbols such as ``+``, ``=`` and ``€``, and
    ``%``, ``#``, ``@``, ``&`` and ``/``.

    >>> spelling("It isn't  open, yet!") == spelling("it isn't open yet")
    True
    >>> spelling("1.5 km") == spelling("15 km"), spelling("-5") == spelling("5")
    (False, False)
    """
    plain = canonical_text(text).casefold()
    marked = _MARK.sub(_spaced, _INSIDE.sub("", plain))
    found = _HAN_SPACE.sub("", " ".join(marked.split()))
    return found or plain.strip()  # a text of nothing but marks is spelt by them


def looks_cut_off(text: str) -> bool:
    """Guess whether a text ends in the middle of a sentence.

    It does where its last line ends in a comma, an opening bracket or a word that must go on
    (``the``, ``und``, ``de``), or ends without a full stop after earlier sentences that had one.
    Short texts, lists, tables, code and headings are left alone.

    >>> looks_cut_off("The shop opens at nine. On Sundays it closes at noon, and the")
    True
    >>> looks_cut_off("The shop opens at nine.")
    False
    """
    whole = text.rstrip()
    lines = whole.splitlines()
    line = lines[-1].strip() if lines else ""
    words = line.split()
    if len(words) < _FEWEST_WORDS or _LISTED.match(line) or line.endswith(("|", "`", "```")):
        return False
    last = words[-1]
    if last[-1] in ",(-–" or last.casefold() in _MUST_GO_ON:  # noqa: RUF001 - dashes as written
        return True
    if not (last[-1].isalnum() and len(words) >= _SENTENCE_WORDS) or "://" in last:
        return False
    return bool(_ENDED.search(whole))


_FEWEST_WORDS = 4
_SENTENCE_WORDS = 8
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_INSIDE = re.compile(r"(?<=[^\W\d])[.'’](?=[^\W\d])")  # noqa: RUF001 - both apostrophes
_MARK = re.compile(r"[^\w\s]")
_HAN_SPACE = re.compile("(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])")
_LISTED = re.compile(r"(?:[-*•#|>]|\d+[.)]|```)")
_ENDED = re.compile(r"\w{2}[.!?…](?=\s)|[。！？।؟]")  # noqa: RUF001 - full stops of other scripts
_KEPT = frozenset("%‰#@&/§°")
_SIGNS = "-−"  # noqa: RUF001 - minus as people and as printers write it
_MUST_GO_ON = listed(
    "the a an of to and or but because which that with for from by in on at as is are was were "
    "der die das ein eine und oder aber weil mit von zu im "
    "le la les un une des et ou mais parce avec pour dans du de "
    "el los las y o pero porque con para en del que"
)


def _spaced(match: re.Match[str]) -> str:
    """Return a mark that carries matter, else a space."""
    mark, text, at = match[0], match.string, match.start()
    if mark in _KEPT or unicodedata.category(mark)[0] != "P":
        return mark
    before = text[at - 1] if at else " "
    after = text[at + 1] if at + 1 < len(text) else " "
    between = before.isdigit() and after.isdigit()
    signed = mark in _SIGNS and after.isdigit() and not before.isalnum()
    return mark if between or signed else " "


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", errors="surrogatepass"), digest_size=12).digest()
