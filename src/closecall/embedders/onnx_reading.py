"""Texts to tokens, and tokens to the windows a model reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.onnx_runtime import Ids
from closecall.embedders.windows import Span, read_spans
from closecall.errors import ConfigurationError, EmbeddingError
from closecall.instrument import Instrument, canonical_text
from closecall.models.tokenizer_files import tokenizing
from closecall.records import Role, Tokens

Mapper = Callable[[Callable[..., Any], Sequence[Any]], Iterator[Any]]
"""``map`` over one sequence, or that of a thread pool."""

# A longer text is tokenised in pieces, where its tokenizer lets it be cut.
_PIECE_CHARS = 32_768
# What the tokenizer gets in one call: it needs some 70 bytes a character while it works.
_CALL_CHARS = 262_144
_CALL_TEXTS = 256
# What is held between tokenising and running: 4 MB of ids, 25 MB of vectors of width 384.
_SLAB_TOKENS = 1_000_000
_SLAB_TEXTS = 16_384


class Tokenizing(Protocol):
    """What is asked of a loaded model to read texts with it; see ``onnx_runtime.Loaded``."""

    @property
    def tokenizer(self) -> Any:
        """One of the tokenizers library, or one that has its methods."""

    @property
    def before(self) -> Ids:
        """The special tokens before every window."""

    @property
    def after(self) -> Ids:
        """The special tokens after every window."""

    @property
    def unknown(self) -> int:
        """The token that stands for what is not in the vocabulary, -1 where there is none."""

    @property
    def cuttable(self) -> bool:
        """Whether a text may be tokenised in pieces cut before a space."""


Places = NDArray[np.int32]
"""int32, (t, 2): where each token begins and ends, in characters of what was tokenised."""


class Reading(NamedTuple):
    """One text as tokens, prefix included and special tokens left out, and its windows.

    The first ``lead`` tokens are the prefix; ``spans`` count from the token after it. A text
    that the policy refuses has no spans. ``places`` is empty unless the reader was to note them.
    """

    ids: Ids
    lead: int
    spans: list[Span]
    tokens: Tokens
    places: Places


class Reader:
    """Reads texts of one role for one model; with ``places`` notes where each token stands.

    Raises
    ------
    ConfigurationError
        If special tokens, prefix and overlap leave no room for the text.
    """

    def __init__(
        self, loaded: Tokenizing, instrument: Instrument, role: Role, *, places: bool = False
    ) -> None:
        self._loaded = loaded
        self._places = places
        self._instrument = instrument
        self._lowercase = instrument.options.get("lowercase") == "true"
        self._prefix = instrument.prefix(role)
        self._failed = f"{instrument.model}: its tokenizer cannot read the texts"
        self._lead = _ids(self._tokenize([self._prepared("")], map)[0])
        self._room = instrument.max_tokens - len(loaded.before) - len(loaded.after)
        if self._room - len(self._lead) <= instrument.overlap:
            raise ConfigurationError(
                f"{instrument.model}: the prefix of role {role.value} is {len(self._lead)} "
                f"tokens; with an overlap of {instrument.overlap} no room is left in a window of "
                f"{instrument.max_tokens}. Give a smaller overlap"
            )

    def slabs(
        self,
        texts: Sequence[str],
        mapper: Mapper,
        most: int | None = None,
        most_tokens: int | None = None,
    ) -> Iterator[list[Reading]]:
        """Yield the readings of all texts in order, as many at a time as memory should hold.

        Once so many texts or tokens are there, about, they are yielded; None: ``_SLAB_TEXTS``
        and ``_SLAB_TOKENS``.
        """
        most, most_tokens = most or _SLAB_TEXTS, most_tokens or _SLAB_TOKENS
        slab: list[Reading] = []
        held = 0
        for group in _groups(texts):
            for reading in self._read(group, mapper):
                slab.append(reading)
                held += len(reading.ids)
            if held >= most_tokens or len(slab) >= most:
                yield slab
                slab, held = [], 0
        if slab:
            yield slab

    def row(self, reading: Reading, span: Span) -> list[Ids]:
        """Return the parts of a window as the model sees it."""
        start = reading.lead
        return [
            self._loaded.before,
            reading.ids[:start],
            reading.ids[start + span.start : start + span.stop],
            self._loaded.after,
        ]

    def first(self, reading: Reading) -> int:
        """Return where in each window its first token of the text itself stands."""
        return len(self._loaded.before) + reading.lead

    def own_places(self, text: str, reading: Reading) -> tuple[str, Places]:
        """Return the canonical text and the places of its tokens, counted from its beginning.

        A token of the prefix ends at 0 or before.
        """
        whole = self._prefix + canonical_text(text)
        places = reading.places
        if self._lowercase and len(whole.lower()) != len(whole):
            # A letter may become several: each of them leads back to it.
            sizes = [len(letter.lower()) for letter in whole]
            origins = np.repeat(np.arange(len(whole) + 1, dtype=np.int32), [*sizes, 1])
            starts, ends = origins[places[:, 0]], origins[places[:, 1] - 1] + 1
            # A token of no letters stays one.
            ends = np.where(places[:, 1] > places[:, 0], ends, starts)
            places = np.column_stack((starts, ends))
        return whole[len(self._prefix) :], places - len(self._prefix)

    def row_length(self, reading: Reading, span: Span) -> int:
        """Return how many tokens ``row`` holds."""
        return len(self._loaded.before) + reading.lead + span.length + len(self._loaded.after)

    def _read(self, texts: Sequence[str], mapper: Mapper) -> list[Reading]:
        prepared = [self._prepared(text) for text in texts]
        return [self._reading(marks) for marks in self._tokenize(prepared, mapper)]

    def _prepared(self, text: str) -> str:
        whole = self._prefix + canonical_text(text)
        return whole.lower() if self._lowercase else whole

    def _reading(self, marks: Ids) -> Reading:
        """Cut a text into windows.

        A prefix whose last token melts into the text cannot be told from it; such a text is
        read as if it had none, so that the prefix stands in its first window only.
        """
        ids, places = _ids(marks), marks[:, 1:] if marks.ndim > 1 else _NO_PLACES
        prefix = len(self._lead)
        lead = prefix if prefix and np.array_equal(ids[:prefix], self._lead) else 0
        policy, overlap = self._instrument.window, self._instrument.overlap
        spans = read_spans(len(ids) - lead, self._room - lead, overlap, policy)
        specials = len(self._loaded.before) + len(self._loaded.after)
        own = spans[-1].stop if spans else 0
        seen = specials + lead + own if spans else 0
        unknown = int(np.count_nonzero(ids[lead : lead + own] == self._loaded.unknown))
        tokens = Tokens(seen, specials + len(ids), len(spans), own, unknown)
        return Reading(ids, lead, spans, tokens, places)

    def _tokenize(self, texts: Sequence[str], mapper: Mapper) -> list[Ids]:
        """Return the tokens of each text, special tokens left out: int32, (t,).

        Where places are noted, (t, 3): the token, and where it begins and ends.
        """
        pieces = [(owner, piece) for owner, text in enumerate(texts) for piece in self._cut(text)]
        calls = _calls([piece for _, piece in pieces])
        encode = self._encode_places if self._places else self._encode
        arrays = [array for call in mapper(encode, calls) for array in call]
        found: list[list[Ids]] = [[] for _ in texts]
        at = [0] * len(texts)
        for (owner, piece), array in zip(pieces, arrays, strict=True):
            if self._places:
                array[:, 1:] += at[owner]
                at[owner] += len(piece)
            found[owner].append(array)
        return [parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in found]

    def _encode(self, pieces: list[str]) -> list[Ids]:
        with tokenizing(self._failed, EmbeddingError):
            encodings = self._loaded.tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
            return [np.array(encoding.ids, dtype=np.int32) for encoding in encodings]

    def _encode_places(self, pieces: list[str]) -> list[Ids]:
        """Like ``_encode``, with places, which take the tokenizer a fifth longer."""
        arrays = []
        with tokenizing(self._failed, EmbeddingError):
            encodings = self._loaded.tokenizer.encode_batch(pieces, add_special_tokens=False)
            for encoding in encodings:
                array = np.empty((len(encoding.ids), 3), dtype=np.int32)
                array[:, 0] = encoding.ids
                array[:, 1:] = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
                arrays.append(array)
        return arrays

    def _cut(self, text: str) -> list[str]:
        """Cut a long text before spaces, where that cannot change its tokens."""
        if len(text) <= _PIECE_CHARS or not self._loaded.cuttable:
            return [text]
        pieces = []
        start = 0
        while len(text) - start > _PIECE_CHARS:
            end = text.rfind(" ", start + 1, start + _PIECE_CHARS)
            end = text.find(" ", start + _PIECE_CHARS) if end < 0 else end
            if end < 0:
                break
            pieces.append(text[start:end])
            start = end
        return [*pieces, text[start:]]


_NO_PLACES: Places = np.empty((0, 2), dtype=np.int32)


def _ids(marks: Ids) -> Ids:
    return marks if marks.ndim == 1 else marks[:, 0]


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in order, in groups for a few calls of the tokenizer each."""
    group: list[str] = []
    chars = 0
    for text in texts:
        group.append(text)
        chars += len(text)
        if chars >= 8 * _CALL_CHARS or len(group) >= 8 * _CALL_TEXTS:
            yield group
            group, chars = [], 0
    if group:
        yield group


def _calls(pieces: Sequence[str]) -> list[list[str]]:
    """Split pieces into lists for one call of the tokenizer each."""
    calls: list[list[str]] = []
    chars = 0
    for piece in pieces:
        if not calls or len(calls[-1]) == _CALL_TEXTS or chars + len(piece) > _CALL_CHARS:
            calls.append([])
            chars = 0
        calls[-1].append(piece)
        chars += len(piece)
    return calls
