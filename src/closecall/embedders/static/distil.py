"""A static model made from an encoder: one forward pass for each token of its vocabulary.

The token stands alone between the encoder's special tokens, and its own last hidden state, at
length 1, is its vector. The vectors' mean is taken away, what is left is turned to its principal
components, of which the first ``dims`` are kept, and each token is weighted by how frequent it
is, for which its place in the vocabulary stands: those of BERT's family are sorted by frequency.
No text is needed, and nothing is drawn at random.

The scheme is that of model2vec (Minish Lab), except that it takes the pooled vector of the
window. On labelled answers and captions the token's own state ranked better; the figures stand in
``benchmarks/static.py``. The weights are those of Arora, Liang and Ma, "A simple but tough-to-beat
baseline for sentence embeddings" (2017), a / (a + p), with Zipf's law for p.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.isotropy.moments import Moments
from closecall.embedders.onnx import worker_threads
from closecall.embedders.onnx_runtime import Loaded, load
from closecall.errors import ModelError, UsageError
from closecall.instrument import Instrument
from closecall.models.cards import TOKENIZER_FILE
from closecall.models.store import StoredModel

Floats = NDArray[np.float64]
Report = Callable[[int, int], None]

DIMS = 256
WEIGHTING = "sif:3e-5"

SCALE = 64.0
"""What rows are multiplied by, a power of two: it keeps those of frequent words, which weigh a
thousandth, in the range where float16 has all its digits. It changes no direction."""

BATCH = 256

_UNUSED = re.compile(r"\[unused\d+\]")
_KINDS = ("sif", "log", "none")


class Weighting(NamedTuple):
    """How much tokens count by their rank: ``sif`` with its ``a``, ``log`` or ``none``."""

    kind: str
    a: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind}:{self.a:g}" if self.kind == "sif" else self.kind

    def of(self, count: int) -> Floats:
        """Return the weights of tokens, the most frequent first: float64, (count,).

        By Zipf's law the token of rank r has a share of all tokens proportional to 1 / (r + 1).
        ``log`` is the weight that model2vec gave before, log(1 + r).
        """
        ranks = np.arange(1, count + 1, dtype=np.float64)
        if self.kind == "log":
            found: Floats = np.log1p(ranks)
            return found
        if self.kind == "none":
            return np.ones(count, dtype=np.float64)
        shares = 1 / (ranks + 1)
        shares /= shares.sum()
        return self.a / (self.a + shares)


class TokenStates(NamedTuple):
    """What an encoder makes of each token of its vocabulary alone.

    ``words`` are the tokens that stand for something, in the order of the vocabulary, int32, (n,);
    ``units`` their last hidden states at length 1, float64, (n, width). ``size`` counts all
    tokens of ``tokenizer`` (the bytes of its file). ``instrument`` is the encoder's.
    """

    words: NDArray[np.int32]
    units: Floats
    size: int
    tokenizer: bytes
    instrument: Instrument


class Distilled(NamedTuple):
    """A static model not yet written.

    ``rows`` is float16, (v, dims), one a token of ``tokenizer`` (the bytes of its file); special
    tokens and those that stand for nothing have zeros. ``words`` have not. ``kept`` is the share
    of the variance of their vectors that is left.
    """

    rows: NDArray[np.float16]
    tokenizer: bytes
    instrument: Instrument
    weighting: Weighting
    words: int
    kept: float

    @property
    def dims(self) -> int:
        """Width of a vector."""
        return int(self.rows.shape[1])


def parse_weighting(text: str) -> Weighting:
    """Return a weighting by its name: ``sif:A`` with A above 0 and below 1, ``log``, ``none``.

    Raises
    ------
    UsageError
        There is none of that name.
    """
    kind, sep, rest = text.strip().partition(":")
    try:
        a = float(rest) if sep else 0.0
    except ValueError:
        a = -1.0
    if kind not in _KINDS or (kind == "sif") != bool(sep) or (kind == "sif" and not 0 < a < 1):
        raise UsageError(
            f"weighting must be sif:A with A above 0 and below 1, log or none; got {text!r:.40}"
        )
    return Weighting(kind, a)


def distil(
    model: StoredModel,
    instrument: Instrument,
    *,
    dims: int = DIMS,
    weighting: Weighting | None = None,
    threads: int | None = None,
    progress: Report | None = None,
) -> Distilled:
    """Return a static model of a compiled encoder: ``read_states``, then ``reduced``.

    The same weights give the same bytes on the same machine.

    Parameters
    ----------
    model, instrument, threads, progress
        As for ``read_states``.
    dims, weighting
        As for ``reduced``.

    Raises
    ------
    UsageError, ModelError
        As those two.
    """
    require_dims(dims, model.card.dims, model.card.name)
    states = read_states(model, instrument, threads=threads, progress=progress)
    return reduced(states, dims=dims, weighting=weighting)


def read_states(
    model: StoredModel,
    instrument: Instrument,
    *,
    threads: int | None = None,
    progress: Report | None = None,
) -> TokenStates:
    """Run an encoder over every token of its vocabulary.

    Takes a forward pass of three tokens for each, some 20 s for the 30,000 of the bundled model
    on two cores, and 16 bytes of memory for each number of a vector.

    Parameters
    ----------
    model
        The encoder; prefixes it has for roles are left out.
    instrument
        Its identity, which goes into the record.
    threads
        Runs side by side; None as for ``OnnxEmbedder``.
    progress
        Called with how many tokens of how many are done.

    Raises
    ------
    ModelError
        The encoder cannot be loaded, or gives no vectors for tokens.
    """
    loaded = load(model)
    if not loaded.tokens:
        raise ModelError(
            f"{model.graph}: has no output 'tokens' of the model's width, which a static model is "
            "made from; models added with 'closecall models add' have one"
        )
    size = loaded.tokenizer.get_vocab_size(with_added_tokens=True)
    _require_no_gap(loaded, size, model.folder / TOKENIZER_FILE)
    words = _words(loaded)
    units = _units(loaded, words, threads, progress)
    tokenizer = _tokenizer(loaded.tokenizer, lowercase=model.card.lowercase)
    return TokenStates(words, units, size, tokenizer, instrument)


def reduced(
    states: TokenStates, *, dims: int = DIMS, weighting: Weighting | None = None
) -> Distilled:
    """Return the static model of an encoder's token vectors; under a second.

    Parameters
    ----------
    states
        The vectors.
    dims
        How many numbers a vector is to have, at most as many as the encoder's.
    weighting
        How much tokens count; None for ``WEIGHTING``.

    Raises
    ------
    UsageError
        ``dims`` is more than the encoder has, or than its token vectors vary in.
    """
    chosen = parse_weighting(WEIGHTING) if weighting is None else weighting
    units, name = states.units, states.instrument.model
    require_dims(dims, units.shape[1], name)
    moments = Moments(units.shape[1])
    for at in range(0, len(units), BATCH):
        moments.add(units[at : at + BATCH])
    spectrum = moments.spectrum()
    if spectrum.usable < dims:
        raise UsageError(
            f"the token vectors of {name} vary in {spectrum.usable} directions by more than "
            f"noise, so dims may be {spectrum.usable} at most; got {dims}"
        )
    found = (units - moments.mean) @ spectrum.directions[:, :dims]
    found *= (SCALE * chosen.of(len(units)))[:, None]
    rows = np.zeros((states.size, dims), dtype=np.float16)
    rows[states.words] = found
    kept = float(spectrum.variances[:dims].sum() / spectrum.variances.sum())
    return Distilled(rows, states.tokenizer, states.instrument, chosen, len(units), kept)


def require_dims(dims: int, width: int, name: str) -> None:
    """Refuse a width that a model of ``width`` numbers cannot be brought to.

    Raises
    ------
    UsageError
        It is less than 1, or more than that.
    """
    if not 1 <= dims <= width:
        raise UsageError(f"dims must be from 1 to {width}, the width of {name}; got {dims}")


def digest(data: bytes) -> str:
    """Return the sha256 (hex) of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def _require_no_gap(loaded: Loaded, size: int, path: Path) -> None:
    """Refuse a tokenizer whose numbers go beyond its size, which is that of the table."""
    highest = max(loaded.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    if highest >= size:
        raise ModelError(
            f"{path}: numbers a token {highest:,} and has {size:,} of them; a static model is "
            "made of a vocabulary without gaps only"
        )


def _words(loaded: Loaded) -> NDArray[np.int32]:
    """Return the tokens that stand for something, in the order of the vocabulary."""
    vocabulary = loaded.tokenizer.get_vocab(with_added_tokens=True)
    added = loaded.tokenizer.get_added_tokens_decoder()
    nothing = {number for number, token in added.items() if token.special}
    nothing |= {*loaded.before.tolist(), *loaded.after.tolist(), loaded.unknown}
    kept = sorted(
        number
        for token, number in vocabulary.items()
        if number not in nothing and not _UNUSED.fullmatch(token)
    )
    return np.array(kept, dtype=np.int32)


def _units(
    loaded: Loaded, ids: NDArray[np.int32], threads: int | None, progress: Report | None
) -> Floats:
    """Return the last hidden state of each token, at length 1: float64, (n, width)."""
    batches = [ids[at : at + BATCH] for at in range(0, len(ids), BATCH)]
    at = len(loaded.before)

    def run(batch: NDArray[np.int32]) -> Floats:
        sides = (np.tile(side, (len(batch), 1)) for side in (loaded.before, loaded.after))
        before, after = sides
        _, hidden = loaded.run_tokens(np.hstack([before, batch[:, None], after]))
        rows: Floats = hidden[:, at].astype(np.float64)
        return rows

    found: list[Floats] = []
    done = 0
    with ThreadPoolExecutor(threads or worker_threads()) as pool:
        for rows in pool.map(run, batches):
            found.append(rows)
            done += len(rows)
            if progress is not None:
                progress(done, len(ids))
    states = _stacked(found)
    lengths = np.sqrt(np.square(states).sum(axis=1))
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ModelError("the encoder made a token vector that is zero or not finite")
    units: Floats = states / lengths[:, None]
    return units


def _stacked(parts: Sequence[Floats]) -> Floats:
    if not parts:
        raise ModelError("the encoder's vocabulary holds special tokens only")
    return np.concatenate(parts)


def _tokenizer(tokenizer: Any, *, lowercase: bool) -> bytes:
    """Return the file of a tokenizer, which lower-cases where the encoder's texts are."""
    if lowercase:
        from tokenizers import normalizers

        first = normalizers.Lowercase()
        before = tokenizer.normalizer
        tokenizer.normalizer = first if before is None else normalizers.Sequence([first, before])
    text: str = tokenizer.to_str()
    return text.encode("utf-8")
