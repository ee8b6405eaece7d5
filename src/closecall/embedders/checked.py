"""Every vector is checked here, once, and every exception of an embedder ends here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from closecall.embedders.base import (
    CheckableEmbedder,
    CountingEmbedder,
    Embedded,
    Embedder,
    Failure,
    LoadingEmbedder,
    MeteredEmbedder,
    NoPiecesError,
    PieceEmbedder,
    Usage,
    Vectors,
)
from closecall.embedders.metering import MOST_TOKENS, MOST_USED, are_counts
from closecall.embedders.sound_pieces import sound_pieces
from closecall.errors import ConfigurationError, EmbeddingError, TextTooLongError
from closecall.records import Role, Tokens

MAX_REASON = 500
"""Characters of an error that are kept as the reason of a failure."""

MAX_ROUNDS = 16
"""Times a batch is tried when the embedder names texts at fault, each time without those."""

ONE_VECTOR_A_TEXT = (
    "it makes one vector a text and none for its tokens; the bundled model (--embedder minilm) "
    "and models added with 'closecall models add' make both"
)

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
        self._piecing = embedder if isinstance(embedder, PieceEmbedder) else None
        self._instrument = embedder.instrument
        self._waits = False  # whether what was left to the first text is still to be loaded
        self._piece_dims: int = getattr(embedder, "piece_dims", self._instrument.dims)

    @property
    def usage(self) -> Usage | None:
        """What the provider reported of its use; None where there is none.

        Raises
        ------
        ConfigurationError
            The embedder reports what is no ``Usage``, or counts that no use comes to.
        """
        if not isinstance(self._embedder, MeteredEmbedder):
            return None
        usage = self._embedder.usage
        if not isinstance(usage, Usage) or not all(map(_is_count, usage)):
            raise ConfigurationError(
                f"{self._name()}: its usage must be a Usage of whole numbers from 0 to "
                f"{MOST_USED}, got {usage!r:.80}"
            )
        return usage

    def load(self, *, with_first_text: bool = False) -> None:
        """Make an embedder that has ``load()`` ready; any exception becomes the one kind.

        ``with_first_text`` leaves the loading to the first text that is embedded, where the
        embedder can at least look at its files now.
        """
        if not isinstance(self._embedder, LoadingEmbedder):
            return
        try:
            if with_first_text and isinstance(self._embedder, CheckableEmbedder):
                self._embedder.check_files()
                self._waits = True
            else:
                self._embedder.load()
                self._waits = False
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(f"cannot be loaded: {self._reason(error)}") from error

    def embed(self, texts: Sequence[str], role: Role, *, pieces: bool = False) -> list[Answer]:
        """Return one answer per text, in order; with ``pieces``, each with its token vectors.

        Texts that an ``EmbeddingError`` names fail and the rest is tried without them; any other
        exception fails the batch. A row that is not finite or zero is asked for once more, and
        so are pieces that do not fit their text. An embedder that makes no token vectors fails
        every text that should have some, as ``no_pieces``.
        """
        if self._waits:
            self.load()
        answers: dict[int, Answer] = {}
        waiting = list(range(len(texts)))
        for _ in range(MAX_ROUNDS):
            try:
                answers.update(
                    zip(
                        waiting,
                        self._call([texts[i] for i in waiting], role, pieces=pieces),
                        strict=True,
                    )
                )
            except NoPiecesError as error:
                none = Answer(Failure(self._reason(error), no_pieces=True), lasting=True)
                answers.update((i, none) for i in waiting)
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
        self._retry(texts, role, answers, pieces=pieces)
        return [answers[i] for i in range(len(texts))]

    def _retry(
        self, texts: Sequence[str], role: Role, answers: dict[int, Answer], *, pieces: bool
    ) -> None:
        """Ask once more for the rows that came back unusable."""
        bad = [i for i, answer in sorted(answers.items()) if answer.again]
        if not bad:
            return
        try:
            second = self._call([texts[i] for i in bad], role, pieces=pieces)
        except Exception:  # noqa: BLE001 - the first reason stands
            return
        answers.update(zip(bad, second, strict=True))

    def _call(self, texts: Sequence[str], role: Role, *, pieces: bool) -> list[Answer]:
        """Call the embedder; return an answer per text, or raise for the batch as a whole."""
        found: Sequence[object] = ()
        if pieces:
            result, tokens, found = self._call_pieces(texts, role)
        elif self._counting is not None:
            result, tokens = self._counting.embed_counted(texts, role)
            if len(tokens) != len(texts):
                raise EmbeddingError(f"{len(tokens)} token counts came for {len(texts)} texts")
        else:
            result, tokens = self._embedder.embed(texts, role), [None] * len(texts)
        answers = self._answers(texts, result, tokens)
        if not pieces:
            return answers
        return [
            self._with_pieces(answer, text, one)
            for answer, text, one in zip(answers, texts, found, strict=True)
        ]

    def _call_pieces(
        self, texts: Sequence[str], role: Role
    ) -> tuple[object, Sequence[Tokens | None], Sequence[object]]:
        if self._piecing is None:
            raise NoPiecesError(ONE_VECTOR_A_TEXT)
        result = self._piecing.embed_pieces(texts, role)
        if len(result) != len(texts):
            raise EmbeddingError(f"pieces of {len(result)} texts came for {len(texts)} texts")
        vectors, tokens, pieces = zip(*result, strict=True)
        return vectors, tokens, pieces

    def _with_pieces(self, answer: Answer, text: str, pieces: object) -> Answer:
        """Return the answer with pieces that fit the text, or why they do not."""
        if not isinstance(answer.outcome, Embedded):
            return answer
        found = sound_pieces(pieces, text, self._piece_dims)
        if isinstance(found, str):
            return Answer(Failure(f"{self._name()}: {found}, twice"), again=True)
        return answer._replace(outcome=answer.outcome._replace(pieces=found))

    def _answers(
        self, texts: Sequence[str], result: object, tokens: Sequence[Tokens | None]
    ) -> list[Answer]:
        """Return an answer per text from its row, or raise for the batch as a whole."""
        vectors = self._vectors(result, len(texts))
        odd = next((count for count in tokens if not are_counts(count)), None)
        if odd is not None:
            raise EmbeddingError(
                f"expected Tokens of whole numbers from 0 to {MOST_TOKENS}, got {odd!r:.120}"
            )
        finite = np.asarray(np.isfinite(vectors).all(axis=1))
        nonzero = np.asarray(vectors.any(axis=1))
        answers = []
        for row, count, is_finite, is_nonzero in zip(
            vectors, tokens, finite.tolist(), nonzero.tolist(), strict=True
        ):
            if count is not None and count.unreadable:
                # Its vector is that of any text of as many unknown tokens.
                answers.append(Answer(Failure(self._unreadable(), unreadable=True), lasting=True))
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


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST_USED


def _named(error: Exception, count: int) -> list[int]:
    """Return the texts an error names as at fault; none when it names any that is not there."""
    if not isinstance(error, EmbeddingError):
        return []
    named = sorted(set(error.indices))
    return named if all(0 <= index < count for index in named) else []
