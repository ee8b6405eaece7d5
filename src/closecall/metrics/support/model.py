"""The bundled pair model: two texts read together, and P(acceptable) of the second."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.errors import EmbeddingError, TextTooLongError, UsageError
from closecall.instrument import canonical_json, canonical_text
from closecall.metrics.pairs.scoring import Pair, Refused, score_pairs
from closecall.metrics.pairs.tokenising import Ids, PairTokenizer, Text
from closecall.metrics.support.runner import Ready, load_runner
from closecall.models.bundled_pair import StoredPair, find_pair
from closecall.models.cards import GRAPH_FILE
from closecall.models.pair_card import PairCard
from closecall.models.pair_folder import SIGMOID
from closecall.models.tokenizer_files import tokenizing
from closecall.records import is_whole_text

CANARY_LIMIT = 1e-4
"""How far a canary may move before the model is not what it was: rounding moves it by 1e-6."""

_SURROGATE = "holds half of a surrogate pair, which is not a character"
_SHOWN = 5


class PairIdentity(msgspec.Struct, frozen=True):
    """Everything that can change what a pair scores; hashes are sha256 (hex).

    ``words`` is of the word table's numbers, wherever they stand.
    """

    graph: str
    words: str
    tokenizer: str
    window: int

    @property
    def digest(self) -> str:
        """12 hex digits over all of it, for the versions of metrics."""
        return hashlib.sha256(canonical_json(msgspec.to_builtins(self))).hexdigest()[:12]


class CanaryFound(NamedTuple):
    """A fixed pair, what it scored when the model was made, and what it scores now."""

    first: str
    second: str
    expected: float
    found: float

    @property
    def ok(self) -> bool:
        """Whether it moved by no more than rounding does."""
        return abs(self.found - self.expected) <= CANARY_LIMIT


class PairModel:
    """P(acceptable) of a text, read together with what it is held against.

    Making one reads nothing but the card; the files are checked and loaded with the first text
    (0.2 s, 140 MB). Calls from several threads are safe, no thread outlives a call, and nothing
    reaches for the network. A pair scores the same bytes whatever stands beside it in a call:
    rows of one length are run together, so nothing is padded.

    Parameters
    ----------
    stored
        The model's card and folders; ``bundled_pair_model`` finds the one in the package.
    """

    def __init__(self, stored: StoredPair) -> None:
        self._stored = stored
        card = stored.card
        self._identity = PairIdentity(
            card.file(GRAPH_FILE).sha256, card.words.sha256, card.tokenizer.sha256, card.window
        )
        self._lock = threading.Lock()
        self._loaded: Ready | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._identity.digest})"

    @property
    def name(self) -> str:
        """What the model is called."""
        return self._stored.card.name

    @property
    def card(self) -> PairCard:
        """What is known of the model."""
        return self._stored.card

    @property
    def identity(self) -> PairIdentity:
        """What its values depend on, by hashes; taken from the card."""
        return self._identity

    @property
    def window(self) -> int:
        """Most tokens of a pair, the three special ones included."""
        return self._stored.card.window

    def load(self) -> None:
        """Check and load the model now; again it does nothing.

        Raises
        ------
        ModelIntegrityError
            A file, or the word table in it, is not the one the card records.
        ModelError
            A file is missing, or the runtime cannot use it.
        ConfigurationError
            The runtime cannot be imported.
        """
        self._ready()

    def count(self, text: str) -> int:
        """Return how many tokens a text has, without special ones; 0 for an empty one.

        A pair fits if the counts of its texts and 3 are no more than ``window``.

        Raises
        ------
        EmbeddingError
            The text holds half of a surrogate pair.
        ModelError, ConfigurationError
            As ``load``.
        """
        bare = self._ready().bare
        if not is_whole_text(text):
            raise EmbeddingError(f"the text {_SURROGATE}", reason=_SURROGATE)
        with tokenizing("the text cannot be read by the tokenizer", EmbeddingError):
            return len(bare.encode(canonical_text(text), add_special_tokens=False).ids)

    def unreadable(self, text: str) -> str | None:
        """Return why ``score`` refuses a text whatever its length, in words; None if it does not.

        Refused are texts with half of a surrogate pair, and those of which the model knows no
        token, as empty ones.

        Raises
        ------
        ModelError, ConfigurationError
            As ``load``.
        """
        try:
            self._ready().loaded.tokenizer.text(text)
        except ValueError as error:
            return str(error)
        return None

    def row(self, first: str, second: str) -> tuple[Ids, Ids]:
        """Return a pair as the model reads it: tokens and their types, int32 (s,) each.

        Raises
        ------
        TextTooLongError, EmbeddingError, ModelError, ConfigurationError
            As ``score``.
        """
        tokenizer = self._ready().loaded.tokenizer
        (pair,) = self._read(tokenizer, [(first, second)])
        rows = tokenizer.rows(pair.first, pair.second)
        return rows.ids[0], rows.types[0]

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return P(acceptable) of each pair, in order: float64 (n,), 0 to 1, finite.

        No text is ever cut: all pairs are looked at before one is run. A pair takes about as long
        as embedding its two texts: 6 ms at 32 tokens on one thread of a Xeon at 2.6 GHz, 23 at
        128. Runs stand side by side on ``CLOSECALL_THREADS`` threads, else one for each core.

        Parameters
        ----------
        pairs
            What is held against, then the text that is judged; see ``texts``.

        Raises
        ------
        UsageError
            ``pairs`` is not a sequence of two texts each.
        TextTooLongError
            Pairs have more tokens than ``window``; ``indices`` names them.
        EmbeddingError
            Texts cannot be read, see ``unreadable``, or the runtime fails.
        ModelError, ConfigurationError
            As ``load``.
        """
        _check(pairs)
        if not pairs:
            return np.empty(0, dtype=np.float64)
        loaded = self._ready().loaded
        found = score_pairs(loaded, self._read(loaded.tokenizer, pairs), 0, SIGMOID)
        broken = [at for at, one in enumerate(found) if isinstance(one, Refused)]
        if broken:
            reason = next(one.reason for one in found if isinstance(one, Refused))
            raise EmbeddingError(f"{_listed(broken)}: {reason}", broken, reason=reason)
        return np.array([one.shares[0] for one in found if not isinstance(one, Refused)])

    def check_canaries(self) -> tuple[CanaryFound, ...]:
        """Score the card's fixed pairs once more; about 0.1 s.

        Raises
        ------
        EmbeddingError, ModelError, ConfigurationError
            As ``score``.
        """
        canaries = self._stored.card.canaries
        values = self.score([(one.first, one.second) for one in canaries])
        return tuple(
            CanaryFound(one.first, one.second, one.value, float(value))
            for one, value in zip(canaries, values, strict=True)
        )

    def _ready(self) -> Ready:
        with self._lock:
            if self._loaded is None:
                self._loaded = load_runner(self._stored)
            return self._loaded

    def _read(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
        """Return the pairs as tokens, each text read once, or refuse them all."""
        known: dict[str, Text | str] = {}
        for text in dict.fromkeys(text for pair in pairs for text in pair):
            try:
                known[text] = tokenizer.text(text)
            except ValueError as error:
                known[text] = str(error)
        found: list[Pair] = []
        broken: dict[int, str] = {}
        too_long: dict[int, int] = {}
        for at, texts in enumerate(pairs):
            first, second = (known[text] for text in texts)
            if isinstance(first, str) or isinstance(second, str):
                broken[at] = first if isinstance(first, str) else str(second)
                continue
            size = tokenizer.frame.size + len(first.ids) + len(second.ids)
            if size > self.window:
                too_long[at] = size
            found.append(Pair(first, second))
        if broken:
            reason = next(iter(broken.values()))
            same = [at for at, why in broken.items() if why == reason]
            reason = f"a text {reason}"
            raise EmbeddingError(f"{_listed(same)}: {reason}", same, reason=reason)
        if too_long:
            reason = f"longer than the {self.window} tokens {self.name} reads at once"
            raise TextTooLongError(
                f"{_listed(list(too_long))}: {reason} (the longest has "
                f"{max(too_long.values())}, special tokens included)",
                list(too_long),
                reason=reason,
            )
        return found


def bundled_pair_model() -> PairModel:
    """Return the pair model that comes with closecall, the same object in the whole process.

    Raises
    ------
    ModelError
        It is not there or its card cannot be used: closecall is not whole.
    """
    with _LOCK:
        if not _OPENED:
            _OPENED.append(PairModel(find_pair()))
        return _OPENED[0]


_LOCK = threading.Lock()
_OPENED: list[PairModel] = []


def _check(pairs: Sequence[tuple[str, str]]) -> None:
    if isinstance(pairs, str | bytes):
        raise UsageError("pairs must be a list of pairs of str, got a single text")
    for index, pair in enumerate(pairs):
        two = isinstance(pair, list | tuple) and len(pair) == 2  # noqa: PLR2004 - a pair
        if not two or not all(isinstance(text, str) for text in pair):
            raise UsageError(f"pairs[{index}] must be two texts (str, str), got {pair!r:.80}")


def _listed(indices: Sequence[int]) -> str:
    """Name pairs by index, the first few of many."""
    shown = ", ".join(f"pairs[{index}]" for index in indices[:_SHOWN])
    rest = len(indices) - _SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
