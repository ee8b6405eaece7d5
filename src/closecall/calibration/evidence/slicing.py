"""Which slices a case is in: kinds of answers that a cutoff may treat differently.

Some are found without being asked for, because scores of text similarity are known to go wrong
there: numbers, negation, length, the number of references, the script, the system that answered,
and tags. Others are fields of the cases that a person names. A slice is read from the case alone,
never from its label or its score, so it can be told of a case that nobody has labelled.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from closecall.errors import UsageError
from closecall.records import JSON, Case

NUMBERS = "numbers"
NEGATION = "negation"
LENGTH = "length"
REFERENCES = "references"
SCRIPT = "script"
SYSTEM = "system"
TAGS = "tags"

VALUES: dict[str, tuple[str, ...]] = {
    NUMBERS: ("in both", "not in both"),
    NEGATION: ("cue", "none"),
    LENGTH: ("shortest quarter", "second quarter", "third quarter", "longest quarter"),
    REFERENCES: ("0", "1", "2", "3-5", "6+"),
    SCRIPT: (),
    SYSTEM: (),
    TAGS: (),
}
"""The slices found without being asked for, in the order they are shown, and the order of their
values where these are known beforehand."""

MIXED = "mixed"
NO_LETTERS = "no letters"

TAG_KEY = "tags:"
"""Before each tag, where one slice has one value: a case may have several tags."""

MOST_VALUES = 50
"""Values of one slice that keep their own name: the most frequent. The rest become one value."""

SYSTEM_KEYS = (
    *("slice.system", "system", "slice.model", "model", "subject", "bot"),
    *("metadata.system", "metadata.model"),
)
"""Where in a case's metadata the system that answered is named; the first that is there."""

NEGATION_CUES: dict[str, tuple[str, ...]] = {
    "en": (
        *("not", "no", "never", "none", "without", "cannot", "neither", "nor"),
        *("nobody", "nothing", "nowhere", "hardly", "barely"),
    ),
    "de": (
        *("nicht", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals"),
        *("niemand", "nichts", "ohne", "weder"),
    ),
    "fr": ("ne", "pas", "jamais", "aucun", "aucune", "rien", "sans", "ni"),
    "es": ("no", "nunca", "jamás", "ningún", "ninguno", "ninguna", "nadie", "nada", "sin"),
    "it": ("non", "nessun", "nessuno", "nessuna", "niente", "nulla", "senza"),
    "nl": ("niet", "geen", "nooit", "niemand", "niets", "zonder"),
    "pt": ("não", "nunca", "jamais", "nenhum", "nenhuma", "ninguém", "nada", "sem", "nem"),
}
"""Whole words that negate, by language; besides them contractions such as ``isn't`` and ``n'est``.

All are looked for in every text, since nobody says which language it is in. Cues that are common
words elsewhere are left out (Italian *mai* is German for May). *No* is no cue before a number
(``No. 5``) nor where ã, õ or ç marks the text as Portuguese, in which it means *in the*; *non* is
none in ``non-profit``.
"""


_BARE = "do does did is are was were ca wo could would should has have had must"
_SURE = frozenset(
    {word for words in NEGATION_CUES.values() for word in words}.difference(("no", "non"))
) | {f"{verb}nt" for verb in _BARE.split()}
_WORD = re.compile(r"\w+")
_APOSTROPHE = "['\N{RIGHT SINGLE QUOTATION MARK}]"
_CONTRACTED = re.compile(rf"\wn{_APOSTROPHE}t\b|\bn{_APOSTROPHE}\w|\bnon\b(?!-)")
_NO = re.compile(r"\bno\b(?!\.\s*\d)")
_PORTUGUESE = re.compile("[ãõç]")
_DIGIT = re.compile(r"\d")

_OWN_FIELDS = ("group", "input", "response", "context", "id")
_PREFIX = "metadata."
_WIDTH = 60
_LISTED = 20


class Pooled(msgspec.Struct, frozen=True, kw_only=True):
    """A slice with too many values: those that keep their name, and how many others there were."""

    kept: tuple[str, ...]
    others: int

    def value(self, value: str) -> str:
        """Return the value itself, or the one for all that are not kept."""
        return value if value in self.kept else f"other ({self.others} values)"


class Slicer(msgspec.Struct, frozen=True, kw_only=True):
    """Says which slices a case is in; built by ``fit`` from the cases of a calibration.

    ``length_edges`` are the longest responses, in characters, of the first three quarters; None
    where no case had a response. ``fields`` are the fields asked for. ``pooled`` names the slices
    that had more than ``MOST_VALUES`` values: any other value, seen or not, is in one with the
    others.

    >>> cases = [Case(id=str(n), response="no" * n, metadata={"from": "web"}) for n in range(1, 9)]
    >>> slicer = Slicer.fit(cases, ["from"])
    >>> slicer.of(Case(id="new", response="It isn't 30 days.", references=("60 days",)))
    {'numbers': 'in both', 'negation': 'cue', 'length': 'longest quarter', \
'references': '1', 'script': 'latin'}
    """

    length_edges: tuple[int, int, int] | None
    fields: tuple[str, ...] = ()
    pooled: dict[str, Pooled] = {}

    def __post_init__(self) -> None:
        edges = self.length_edges
        if edges is not None and not 0 <= edges[0] <= edges[1] <= edges[2]:
            raise ValueError(f"length_edges: {edges} do not ascend from 0")

    @classmethod
    def fit(cls, cases: Iterable[Case], fields: Iterable[str] = ()) -> Slicer:
        """Learn what the slices of these cases are, in one pass; labels and scores play no part.

        Parameters
        ----------
        cases
            The cases of a calibration.
        fields
            Fields to slice by besides: ``group``, ``input``, ``response``, ``context`` and ``id``
            of the case, or a key or dotted path of its metadata. The name of a slice that is
            found anyway means that one, unless metadata has such a key: that becomes
            ``metadata.KEY``.

        Raises
        ------
        UsageError
            A field that no case has; the message lists those seen.
        """
        asked = {name: _PREFIX + name if name in VALUES else name for name in fields}
        if "label" in asked:
            raise UsageError("label is what a cutoff is to foresee: it cannot be sliced by")
        for name in (SYSTEM, TAGS):
            if name in asked:
                asked[name] = name  # these are found wherever a case has them
        plain = cls(
            length_edges=None,
            fields=tuple(where for where in asked.values() if where not in VALUES),
        )
        lengths: list[int] = []
        values: dict[str, Counter[str]] = {}
        seen: set[str] = set()
        for case in cases:
            length = len((case.response or "").strip())
            if length:
                lengths.append(length)
            for name, value in plain._named(case):
                values.setdefault(_slice(name), Counter())[value] += 1
            if asked:
                seen.update(_paths(case))
        found = {*values, *VALUES}.difference({SYSTEM, TAGS}.difference(values))
        missing = [name for name, where in asked.items() if found.isdisjoint((name, where))]
        if missing:
            raise UsageError(_nowhere(missing, seen))
        return cls(
            length_edges=_quarters(lengths),
            fields=tuple(name for name in plain.fields if name in found),
            pooled={
                name: Pooled(kept=_most_frequent(counts), others=len(counts) - MOST_VALUES)
                for name, counts in values.items()
                if len(counts) > MOST_VALUES
            },
        )

    def of(self, case: Case) -> dict[str, str]:
        """Return the value of each slice the case is in, by the slice's name.

        A tag stands under ``tags:TAG``. What a case lacks (a response, a system, a field) puts it
        in no value of that slice.
        """
        found = self._of_texts(case)
        for name, value in self._named(case):
            pooled = self.pooled.get(_slice(name))
            kept = value if pooled is None else pooled.value(value)
            found[TAG_KEY + kept if name.startswith(TAG_KEY) else name] = kept
        return found

    def _of_texts(self, case: Case) -> dict[str, str]:
        found: dict[str, str] = {}
        response = (case.response or "").strip()
        others = case.references or case.context
        if response and others:
            both = _DIGIT.search(response) and any(map(_DIGIT.search, others))
            found[NUMBERS] = VALUES[NUMBERS][0 if both else 1]
        if response:
            found[NEGATION] = VALUES[NEGATION][0 if negates(response) else 1]
        if response and self.length_edges is not None:
            above = sum(len(response) > edge for edge in self.length_edges)
            found[LENGTH] = VALUES[LENGTH][above]
        found[REFERENCES] = _how_many(sum(1 for text in case.references if text.strip()))
        if response:
            found[SCRIPT] = script(response)
        return found

    def _named(self, case: Case) -> Iterator[tuple[str, str]]:
        """Yield what people named, before values are pooled: the system, tags, and fields."""
        # A system read from a field asked for is not the same slice once more.
        if case.metadata and not set(SYSTEM_KEYS).intersection(self.fields):
            systems = (value_of(_reach(case.metadata, key)) for key in SYSTEM_KEYS)
            system = next(filter(None, systems), None)
            if system is not None:
                yield SYSTEM, system
        for tag in filter(None, map(value_of, case.tags)):
            yield TAG_KEY + tag, tag
        for name in self.fields:
            value = value_of(_field(case, name))
            if value is not None:
                yield name, value


def negates(text: str) -> bool:
    """Return whether a text holds a negation cue; see ``NEGATION_CUES``."""
    folded = text.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFC", folded)
    if not _SURE.isdisjoint(_WORD.findall(folded)) or _CONTRACTED.search(folded):
        return True
    return bool(_NO.search(folded)) and not _PORTUGUESE.search(folded)


def script(text: str) -> str:
    """Return the script of more than half of a text's letters, as ``latin`` or ``han``.

    ``mixed`` where none has so many, ``no letters`` where there are none. Chinese characters
    beside kana count as kana, since that is how Japanese is written.
    """
    if text.isascii():
        return "latin" if any(map(str.isalpha, text)) else NO_LETTERS
    counts: Counter[str] = Counter()
    # The compatibility form turns wide, raised and mathematical letters into plain ones.
    for char, times in Counter(unicodedata.normalize("NFKC", text)).items():
        if char.isalpha():
            counts[_script_of(char)] += times
    if counts["kana"]:
        counts["kana"] += counts.pop("han", 0)
    if not counts.total():
        return NO_LETTERS
    name, most = counts.most_common(1)[0]
    return name if 2 * most > counts.total() else MIXED


@lru_cache(maxsize=4096)
def _script_of(char: str) -> str:
    """Return a letter's script: what its name begins with."""
    first = re.split("[ -]", unicodedata.name(char, "unnamed"), maxsplit=1)[0].lower()
    if first in {"cjk", "ideographic"}:
        return "han"
    if first in {"hiragana", "katakana"}:
        return "kana"
    return first


def _quarters(lengths: list[int]) -> tuple[int, int, int] | None:
    """Return the longest of the first quarter of lengths, of the half, of three quarters."""
    if not lengths:
        return None
    ordered = sorted(lengths)
    first, half, third = (ordered[-(-part * len(ordered) // 4) - 1] for part in (1, 2, 3))
    return first, half, third


def _most_frequent(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda value: (-counts[value], value))[:MOST_VALUES])


def _how_many(n: int) -> str:
    if n > 2:  # noqa: PLR2004
        return "3-5" if n <= 5 else "6+"  # noqa: PLR2004
    return str(n)


def _slice(name: str) -> str:
    return TAGS if name.startswith(TAG_KEY) else name


def _field(case: Case, name: str) -> JSON:
    if name in _OWN_FIELDS:
        return getattr(case, name)
    value = _reach(case.metadata, name)
    if value is None and name.startswith(_PREFIX):
        value = _reach(case.metadata, name.removeprefix(_PREFIX))
    return value


def _reach(metadata: Mapping[str, JSON], path: str) -> JSON:
    """Return what stands under a key, or else at a dotted path of keys; None for nothing."""
    if path in metadata or "." not in path:
        return metadata.get(path)
    value: Any = metadata
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _paths(case: Case) -> Iterator[str]:
    """Yield the fields of a case that one may slice by."""
    yield from (name for name in _OWN_FIELDS if value_of(getattr(case, name)) is not None)
    if case.tags:
        yield TAGS
    left = list(case.metadata.items())
    while left:
        path, value = left.pop()
        if isinstance(value, Mapping):
            left.extend((f"{path}.{key}", inner) for key, inner in value.items())
        elif value_of(value) is not None:
            yield path


def _nowhere(missing: list[str], seen: set[str]) -> str:
    names = ", ".join(sorted(seen)[:_LISTED])
    more = f" and {len(seen) - _LISTED} more" if len(seen) > _LISTED else ""
    wanted = " or ".join(map(repr, missing))
    return f"no case has {wanted} to slice by; fields seen: {names or 'none'}{more}"


def value_of(value: JSON) -> str | None:
    """Return any JSON value as a short text on one line, different for different values.

    None for null, for what is empty, and for blank text.
    """
    if value is None or (isinstance(value, list | tuple | Mapping) and not value):
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    text = " ".join(value.split())
    if len(text) <= _WIDTH:
        return text or None
    mark = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:6]
    return f"{text[: _WIDTH - len(mark) - 1]}…{mark}"
