"""A text and what is known of the provider: what is sent of it, and what comes of the replies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from closecall.embedders.base import Vector
from closecall.embedders.remote.asking import Expected, Row
from closecall.embedders.remote.probing import Found
from closecall.embedders.remote.providers import MAX_TOKENS
from closecall.embedders.remote.settings import Settings
from closecall.embedders.remote.sizes import RULE, Part, least_tokens, most_tokens, parts
from closecall.embedders.remote.tails import TAIL
from closecall.embedders.windows import average, checked_policy
from closecall.instrument import CHUNK, REFUSE, TRUNCATE, Instrument
from closecall.records import Tokens, is_whole_text

_NOTHING = np.empty(0, dtype=np.float32)


class Got(NamedTuple):
    """What became of a text: a vector, or the reason there is none."""

    vector: Vector
    tokens: Tokens | None = None
    reason: str = ""
    too_long: bool = False


class Known(NamedTuple):
    """What the first reply told."""

    instrument: Instrument
    expected: Expected

    def plan(self, text: str) -> list[Part]:
        """Return the parts of a text to send: all of it where the window is not known."""
        instrument = self.instrument
        size = most_tokens(text)
        if not instrument.max_tokens or size <= instrument.max_tokens:
            return [Part(text, size)]
        found = parts(text, instrument.max_tokens, instrument.overlap)
        return found if instrument.window == CHUNK else found[:1]


def known_from(settings: Settings, found: Found, window: str) -> Known:
    """Return the identity that follows from settings and the first reply."""
    provider = settings.provider
    model = settings.model
    options = {"server_model": found.model, "encoding": found.encoding}
    if provider.azure:
        options |= {"deployment": settings.model, "api_version": settings.api_version}
        model = settings.served or found.model or settings.model
    if settings.dimensions is not None:
        options["dimensions"] = str(settings.dimensions)
    limit = settings.max_tokens
    if not limit and settings.own:
        limit = MAX_TOKENS.get((provider.tag, model), 0)
    overlap = 0
    if limit:
        options["window_rule"] = RULE
        window, overlap = checked_policy(window, None, limit)
    instrument = Instrument(
        kind=provider.tag,
        model=model,
        provider=settings.host,
        dims=found.vector.size,
        normalize=math.isclose(np.linalg.norm(found.vector.astype(np.float64)), 1.0, abs_tol=1e-3),
        max_tokens=limit,
        precision="",
        window=window,
        overlap=overlap,
        options=options,
    )
    return Known(instrument, Expected(found.asked_for, instrument.dims, found.model))


def unfit(text: str, known: Known) -> Got | None:
    """Return why a text is not sent at all; None if it is."""
    if not text.strip():
        return Got(_NOTHING, reason="the text is blank: there is nothing to embed")
    if not is_whole_text(text):
        return Got(
            _NOTHING,
            reason="holds half of a surrogate pair, which is not a character; the text was "
            "damaged before it came here",
        )
    limit = known.instrument.max_tokens
    if limit and known.instrument.window == REFUSE and most_tokens(text) > limit:
        return Got(
            _NOTHING,
            reason=f"it may be longer than the {limit} tokens {known.instrument.model} reads at "
            "once, by its letters and signs; window='chunk' reads such texts in windows, "
            "window='truncate' their beginning",
            too_long=True,
        )
    return None


def put_together(
    text: str, plan: Sequence[Part], rows: Mapping[str, Row | str], known: Known
) -> Got:
    """Return a text's vector from those of its parts."""
    found: list[Row] = []
    for part in plan:
        row = rows[part.text]
        if isinstance(row, str):
            return Got(_NOTHING, reason=row)
        if row.short and known.instrument.window != TRUNCATE:
            return Got(_NOTHING, reason=_short(row, part.text))
        found.append(row)
    if len(found) > 1:
        vector = average(
            np.stack([row.vector for row in found]),
            [part.tokens for part in plan],
            normalize=known.instrument.normalize,
        )
        if not vector.any():
            return Got(_NOTHING, reason="the vectors of its parts cancel out")
        return Got(vector, _added([row.tokens for row in found]))
    (row,), (part,) = found, plan
    left_out = least_tokens(text) - least_tokens(part.text)
    if row.short or part.text.strip() != text.strip():
        return Got(row.vector, _cut(row, part.text, left_out))
    return Got(row.vector, Tokens(row.tokens, row.tokens) if row.tokens else None)


def _added(tokens: Sequence[int | None]) -> Tokens | None:
    """Return the tokens of a text read in parts; None where one of them is not known."""
    known = [one for one in tokens if one is not None]
    if len(known) < len(tokens):
        return None
    return Tokens(sum(known), sum(known), windows=len(known))


def _short(row: Row, sent: str) -> str:
    """Return what a person reads of a text that the server cut."""
    words = least_tokens(sent)
    read = "did not read the end" if row.tokens is None else f"read {row.tokens} tokens"
    return (
        f"the server {read} of a text of {words} words: its window is smaller than the text. Set "
        "AI_EMBEDDING_MAX_TOKENS to the window, so that long texts are read in parts"
    )


def _cut(row: Row, sent: str, left_out: int) -> Tokens:
    """Return what was seen of a text that was cut, here or by the server."""
    words = least_tokens(sent)
    if row.tokens is not None:
        return Tokens(row.tokens, max(row.tokens, words) + max(left_out, 1))
    if row.short:
        end = max(1, least_tokens(sent[-TAIL:]))
        return Tokens(max(0, words - end), words + left_out)
    return Tokens(words, words + max(left_out, 1))
