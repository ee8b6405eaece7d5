"""The identity of what turns a text into a vector, and the only place a cache key is made.

Two embedders with the same digest give the same vector for the same text, up to floating-point
noise; two with different digests are never compared, cached or calibrated together.
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import cached_property

import msgspec

from closecall.records import Role

TEST_KIND = "test"
"""The kind of instruments that stand in for a model in tests."""

CHUNK = "chunk"
TRUNCATE = "truncate"
REFUSE = "error"
WINDOW_POLICIES = (CHUNK, TRUNCATE, REFUSE)


class Instrument(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that can change a vector.

    Parameters
    ----------
    kind
        How vectors are made: ``onnx``, ``sentence-transformers``, ``openai``, ...
    model, provider
        What people call it and who runs it; ``local`` for models on this machine.
    revision
        The published revision of the weights, empty when unknown.
    weights, tokenizer
        sha256 (hex) of the files, empty where there is no file to hash.
    pooling, normalize
        ``mean`` or ``cls``; whether the model itself makes unit vectors.
    prefixes
        Text put before each role's texts; a missing role has none.
    dims, max_tokens
        Width of a vector; longest window in tokens, special tokens included (0: unknown).
    precision
        ``fp32``, ``fp16-weights`` (stored as float16, computed in float32), ``fp16``, ``int8``.
    window, overlap
        What happens to a text longer than the window, and the tokens windows share.
    options
        Anything else that changes a vector, by name.
    """

    kind: str
    model: str
    provider: str
    dims: int
    revision: str = ""
    weights: str = ""
    tokenizer: str = ""
    pooling: str = ""
    normalize: bool = True
    prefixes: dict[str, str] = {}
    max_tokens: int = 0
    precision: str = "fp32"
    window: str = CHUNK
    overlap: int = 0
    options: dict[str, str] = {}

    @cached_property
    def digest(self) -> str:
        """Sha256 (hex, 64 characters) over the identity in one fixed spelling."""
        return hashlib.sha256(canonical_json(msgspec.to_builtins(self))).hexdigest()

    def prefix(self, role: Role) -> str:
        """Return the text put before a text of this role."""
        return self.prefixes.get(role.value, "")

    def effective_role(self, role: Role) -> Role:
        """Return the role that stands for all roles with the same prefix.

        A model without prefixes gives one vector per text whatever its role, so such roles
        share one cache entry and are embedded once.
        """
        wanted = self.prefix(role)
        return next(r for r in (Role.TEXT, Role.QUERY, Role.DOCUMENT) if self.prefix(r) == wanted)

    @cached_property
    def key_heads(self) -> dict[Role, bytes]:
        """What ``cache_key`` hashes before a text, by the role of the text."""
        return {
            role: f"{self.digest}\x1f{self.effective_role(role).value}\x1f".encode()
            for role in Role
        }


def differences(before: Instrument, now: Instrument) -> list[str]:
    """Return what makes two instruments two, field by field, in words."""
    then, new = msgspec.to_builtins(before), msgspec.to_builtins(now)
    return [
        f"{name} {_shown(then[name])} then, {_shown(new[name])} now"
        for name in then
        if then[name] != new[name]
    ]


def _shown(value: object) -> str:
    text = f"{value}" if value != "" else "none"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN = 48


def canonical_text(text: str) -> str:
    """Return the text in NFC with CRLF and CR as LF: what is embedded and what is hashed."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def cache_key(instrument: Instrument, role: Role, text: str) -> bytes:
    """Return the 32-byte key of a vector: sha256(instrument digest, role, canonical text).

    ``text`` is made canonical here, so callers may pass it as it came. Lone surrogates are
    hashed as they are; the tokenizer decides what becomes of them.
    """
    return hashlib.sha256(
        instrument.key_heads[role] + canonical_text(text).encode("utf-8", errors="surrogatepass")
    ).digest()


def text_fingerprint(text: str) -> bytes:
    """Return 16 bytes that stand for a text whatever embeds it, to find it under other models."""
    return hashlib.sha256(canonical_text(text).encode("utf-8", errors="surrogatepass")).digest()[
        :16
    ]


def canonical_json(value: object) -> bytes:
    """Return one fixed JSON spelling for hashing: sorted keys, no spaces, UTF-8, no NaN."""
    import json

    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode("utf-8", errors="surrogatepass")
