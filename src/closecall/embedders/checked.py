"""Every vector is checked here, once, and every exception of an embedder ends here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from closecall.embedders.base import (
    CountingEmbedder,
    Embedded,
    Embedder,
    Failure,
    LoadingEmbedder,
    Vectors,
)
from closecall.errors import ConfigurationError, EmbeddingError, TextTooLongError
from closecall.records import Role

MAX_REASON = 500
"""Characters of an error that are kept as the reason of a failure."""

MAX_ROUNDS = 16
"""Times a batch is tried when the embedder names texts at fault, each time without those."""

Outcome: TypeAlias = Embedded | Failure


class Answer(NamedTuple):
    """An outcome; whether it holds for the whole run; whether asking again may help."""

    outcome: Outcome
    lasting: bool = False
    again: bool = False


class Checked:
    """Turns whatever an embedder does into one answer per text.

    Raises only ``ConfigurationError``: a model that cannot be used at all.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._counting = embedder if isinstance(embedder, CountingEmbedder) else None
        self._instrument = embedder.instrument

    def load(self) -> None:
        """Make an embedder that has ``load()`` ready; any exception becomes the one kind."""
        if not isinstance(self._embedder, LoadingEmbedder):
            return
        try:
            self._embedder.load()
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(f"cannot be loaded: {self._reason(error)}") from error

    def embed(self, texts: Sequence[str], role: Role) -> list[Answer]:
        """Return one answer per text, in order.

        Texts that an ``EmbeddingError`` names fail and the rest is tried without them; any other
        exception fails the batch. A row that is not finite or zero is asked for once more.
        """
        answers: dict[int, Answer] = {}
        waiting = list(range(len(texts)))
        for _ in range(MAX_ROUNDS):
            try:
                answers.update(
                    zip(waiting, self._call([texts[i] for i in waiting], role), strict=True)
                )
            except ConfigurationError:
                # A model that cannot be loaded is no fault of a text; every text would fail.
                raise
            except Exception as error:  # noqa: BLE001 - an embedder is anybody's code
                answer = Answer(
                    Failure(self._reason(error)), lasting=isinstance(error, TextTooLongError)
                )
                named = _named(error, len(waiting))
                for position in named:
                    answers[waiting[position]] = answer
                if named:
                    waiting = [i for i in waiting if i not in answers]
                    if waiting:
                        continue
                answer = answer._replace(lasting=False)
                answers.update((i, answer) for i in waiting)
            waiting = []
            break
        out_of_rounds = Failure(
            f"{self._name()}: the batch failed {MAX_ROUNDS} times, each time on other texts"
        )
        answers.update((i, Answer(out_of_rounds)) for i in waiting)
        self._retry(texts, role, answers)
        return [answers[i] for i in range(len(texts))]

    def _retry(self, texts: Sequence[str], role: Role, answers: dict[int, Answer]) -> None:
        """Ask once more for the rows that came back unusable."""
        bad = [i for i, answer in sorted(answers.items()) if answer.again]
        if not bad:
            return
        try:
            second = self._call([texts[i] for i in bad], role)
        except Exception:  # noqa: BLE001 - the first reason stands
            return
        answers.update(zip(bad, second, strict=True))

    def _call(self, texts: Sequence[str], role: Role) -> list[Answer]:
        """Call the embedder; return an answer per text, or raise for the batch as a whole."""
        if self._counting is not None:
            result, tokens = self._counting.embed_counted(texts, role)
            if len(tokens) != len(texts):
                raise EmbeddingError(f"{len(tokens)} token counts came for {len(texts)} texts")
        else:
            result, tokens = self._embedder.embed(texts, role), [None] * len(texts)
        vectors = self._vectors(result, len(texts))
        finite = np.asarray(np.isfinite(vectors).all(axis=1))
        nonzero = np.asarray(vectors.any(axis=1))
        answers = []
        for row, count, is_finite, is_nonzero in zip(
            vectors, tokens, finite.tolist(), nonzero.tolist(), strict=True
        ):
            if count is not None and count.unreadable:
                # Its vector is that of any text of as many unknown tokens.
                answers.append(Answer(Failure(self._unreadable()), lasting=True))
            elif is_finite and is_nonzero:
                # A copy in immutable bytes: the batch's array can go, nobody can write to it.
                vector = np.frombuffer(row.tobytes(), dtype=np.float32)
                answers.append(Answer(Embedded(vector, count), lasting=True))
            else:
                what = "a zero vector" if is_finite else "a vector with NaN or infinity"
                reason = f"{self._name()}: it returned {what}, twice"
                answers.append(Answer(Failure(reason), again=True))
        return answers

    def _vectors(self, result: object, count: int) -> Vectors:
        """Return the result as float32, (count, dims), or raise naming what came."""
        wanted = (count, self._instrument.dims)
        try:
            array = np.asarray(result)
        except ValueError as error:
            raise EmbeddingError(f"expected an array of shape {wanted}, got {error}") from error
        if not np.issubdtype(array.dtype, np.floating):
            raise EmbeddingError(f"expected float32 vectors, got dtype {array.dtype}")
        if array.shape != wanted:
            raise EmbeddingError(f"expected vectors of shape {wanted}, got {array.shape}")
        with np.errstate(over="ignore"):
            return array.astype(np.float32, copy=False)

    def _unreadable(self) -> str:
        return f"{self._name()}: it knows no word or sign of the text"

    def _reason(self, error: Exception) -> str:
        said = error.reason if isinstance(error, EmbeddingError) else str(error)
        text = " ".join(said.split())
        if not isinstance(error, EmbeddingError):
            text = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return f"{self._name()}: {text or 'it failed without a message'}"[:MAX_REASON]

    def _name(self) -> str:
        return f"{self._instrument.model} ({self._instrument.provider})"


def _named(error: Exception, count: int) -> list[int]:
    """Return the texts an error names as at fault; none when it names any that is not there."""
    if not isinstance(error, EmbeddingError):
        return []
    named = sorted(set(error.indices))
    return named if all(0 <= index < count for index in named) else []
