"""A batch of texts, and what a cassette holds of each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from closecall.cassettes.cassette import Cassette
from closecall.cassettes.entries import Entry, VectorReply
from closecall.cassettes.nearest import Asked
from closecall.cassettes.vectors import read_vector
from closecall.embedders.base import Counted, Vector
from closecall.embedders.metering import Used
from closecall.errors import CassetteError, EmbeddingError, TextTooLongError, UsageError
from closecall.instrument import Instrument, canonical_text
from closecall.records import JSON, Role, Tokens, is_whole_text


class Wanted:
    """Texts that are asked for together, and what is recorded of each, by the canonical text.

    ``unrecorded`` takes what came of a text and is not worth recording.
    """

    def __init__(
        self, cassette: Cassette, instrument: Instrument, texts: Sequence[str], role: Role
    ) -> None:
        self.role = Role(role)
        self.texts = _checked(texts)
        self.unrecorded: dict[str, tuple[Vector, Tokens | None]] = {}
        self._instrument = instrument
        self._place = cassette.tape.place
        self._as_role = instrument.effective_role(self.role).value
        self.found: dict[str, Entry | None] = {
            text: cassette.find("embedding", instrument.digest, self.request(text))
            for text in dict.fromkeys(self.texts)
        }

    def request(self, text: str) -> dict[str, JSON]:
        """Return what is recorded as the request for a text."""
        return {"role": self._as_role, "text": text}

    def asked(self, text: str) -> Asked:
        """Return the request for a text and who is to reply to it."""
        own = self._instrument
        return Asked(
            "embedding",
            own.digest,
            f"{own.model}@{own.provider}",
            msgspec.to_builtins(own),
            self.request(text),
        )

    def missing(self) -> list[str]:
        """Return the texts without a recording; raise for those recorded as too long."""
        long = {
            text: reply.too_long
            for text, entry in self.found.items()
            if entry is not None and (reply := _reply(entry)).too_long is not None
        }
        if long:
            # One reason at a time: whoever asked tries again without these.
            reason = next(iter(long.values())) or ""
            at = self.positions([text for text, said in long.items() if said == reason])
            raise TextTooLongError(f"texts[{at[0]}]: {reason}", at, reason=reason)
        return [text for text, entry in self.found.items() if entry is None]

    def replayed(self) -> list[Used]:
        """Return what each text took when it was recorded that did not have to be asked for."""
        replies = [_reply(entry) for entry in self.found.values() if entry is not None]
        return [Used(None if one.tokens is None else one.tokens.seen, 0) for one in replies]

    def positions(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return where these texts stand among those asked for."""
        named = set(texts)
        return tuple(at for at, text in enumerate(self.texts) if text in named)

    def counted(self) -> Counted:
        """Return what there is of every text, in the order asked, once nothing is missing."""
        found = [self._one(text) for text in self.texts]
        if not found:
            return Counted(np.empty((0, self._instrument.dims), dtype=np.float32), [])
        # Made of what there is: the width that an identity claims may be any number.
        rows = np.stack([vector for vector, _ in found]).astype(np.float32, copy=False)
        return Counted(rows, [tokens for _, tokens in found])

    def _one(self, text: str) -> tuple[Vector, Tokens | None]:
        entry = self.found[text]
        if entry is None:
            return self.unrecorded[text]
        reply = _reply(entry)
        vector = read_vector(reply.vector or "")
        if vector.shape != (self._instrument.dims,):
            raise CassetteError(
                f"{self._place(entry.key)}: the vector has {vector.size} numbers, and its "
                f"embedder makes {self._instrument.dims}; record it again"
            )
        return vector, reply.tokens


def _checked(texts: Sequence[str]) -> list[str]:
    """Return the texts in canonical form, or refuse what cannot be recorded."""
    if isinstance(texts, str | bytes):
        raise UsageError("texts must be a list of str, got a single text; put it in a list")
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"texts[{at}] must be str, got {type(text).__name__}")
    halves = [at for at, text in enumerate(texts) if not is_whole_text(text)]
    if halves:
        reason = "holds half a character (a surrogate without its other half)"
        raise EmbeddingError(f"texts[{halves[0]}]: {reason}", halves, reason=reason)
    return [canonical_text(text) for text in texts]


def _reply(entry: Entry) -> VectorReply:
    return msgspec.convert(entry.reply, VectorReply)
