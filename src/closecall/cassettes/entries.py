"""What a line of a cassette is, and the only place its key is made.

::

    {"cassette":1,"scenario":"refunds"}
    {"key":"chat:5d...","identity":"9e...","name":"...","request":{...},"reply":{...},...}
    {"key":"embedding:07...","identity":"1f...","name":"...","request":{...},"reply":{...},...}
    {"key":"identity:1f...","of":"embedding","name":"...","names":["..."],"identity":{...},...}

A key is sha256 over the kind, the digest of the identity and the whole request, in one spelling,
texts canonical (NFC, LF). ``check`` is the beginning of a hash over the rest of its line. As every
line begins with its key, lines sorted as bytes are lines sorted by key.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from closecall.cassettes.spelling import canonical, in_order, spelt
from closecall.cassettes.vectors import read_vector
from closecall.chat.base import ChatUsage, ToolCall
from closecall.datasets._strict import decode_row
from closecall.embedders.metering import MOST_TOKENS, are_counts
from closecall.instrument import canonical_json
from closecall.records import JSON, Tokens

VERSION = 1
MAX_LINE = 4 * 1024 * 1024
"""Bytes of one line, without its end."""

Kind: TypeAlias = Literal["embedding", "chat", "subject"]
KINDS: tuple[Kind, ...] = ("embedding", "chat", "subject")
IDENTITY = "identity"

Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Time: TypeAlias = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")
]

Latency: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
"""Milliseconds."""

_CHECK = 16


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a file."""

    cassette: int
    scenario: str


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request and its reply.

    ``identity`` is the digest of what replied, ``name`` what people call it, ``recorded`` the
    time of the recording (UTC, ``2031-01-31T09:00:00Z``).
    """

    key: str
    identity: Digest
    name: str
    request: dict[str, JSON]
    reply: dict[str, JSON]
    recorded: Time
    check: str = ""

    @property
    def kind(self) -> str:
        """``embedding``, ``chat`` or ``subject``."""
        return self.key.partition(":")[0]


class Identified(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who replied, in full, once a file; ``names`` are what it was asked for by."""

    key: str
    of: Kind
    name: str
    names: tuple[str, ...]
    identity: dict[str, JSON]
    check: str = ""

    @property
    def digest(self) -> str:
        """Sha256 (hex, 64 characters) over the identity in one fixed spelling."""
        return self.key.partition(":")[2]


Line: TypeAlias = Entry | Identified


class VectorReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an embedder replied to a text: a vector, or why this text never has one."""

    vector: str | None = None
    tokens: Tokens | None = None
    too_long: str | None = None

    def __post_init__(self) -> None:
        if not are_counts(self.tokens):
            raise ValueError(f"tokens are whole numbers from 0 to {MOST_TOKENS}")


class VectorRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text and what it is to the model."""

    role: Literal["query", "document", "text"]
    text: str


class RecordedReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a chat model replied; the fields of ``ChatReply``."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    model: str = ""
    usage: ChatUsage = ChatUsage()
    latency_ms: Latency | None = None


class Answered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a subject answered: any JSON value, and how long it took (milliseconds)."""

    answer: JSON
    latency_ms: Latency | None = None


_REPLIES: dict[str, type[msgspec.Struct]] = {
    "embedding": VectorReply,
    "chat": RecordedReply,
    "subject": Answered,
}


def digest_of(identity: dict[str, JSON]) -> str:
    """Return the digest of an identity as ``Instrument.digest`` makes it."""
    return hashlib.sha256(canonical_json(identity)).hexdigest()


def key_of(kind: Kind, digest: str, request: dict[str, JSON]) -> str:
    """Return the key of a request, which is in ``canonical`` form."""
    return f"{kind}:{hashlib.sha256(canonical_json([kind, digest, request])).hexdigest()}"


def identified(of: Kind, name: str, identity: dict[str, JSON], names: set[str]) -> Identified:
    """Return the line of an identity."""
    plain = in_order(identity)
    return Identified(
        key=f"{IDENTITY}:{digest_of(plain)}",
        of=of,
        name=name,
        names=tuple(sorted(names)),
        identity=plain,
    )


def write_header(scenario: str) -> str:
    """Return the first line of a file, without its end."""
    return spelt({"cassette": VERSION, "scenario": scenario})


def write_line(line: Line) -> str:
    """Return a line, without its end, with its ``check``.

    Raises
    ------
    ValueError
        It cannot be written: half a character, a number that is not finite, too long.
    """
    whole = {**msgspec.to_builtins(line), "check": ""}
    for field in ("request", "reply", "identity"):
        if isinstance(whole.get(field), dict):
            whole[field] = in_order(whole[field])
    text = spelt(whole)
    try:
        check = hashlib.sha256(text.encode()).hexdigest()[:_CHECK]
    except UnicodeEncodeError:
        raise ValueError(
            "it holds half a character (a surrogate without its other half)"
        ) from None
    text = f'{text.removesuffix(_NO_CHECK)}"check":"{check}"}}'
    if len(text.encode()) > MAX_LINE:
        raise ValueError(f"it would be a line of more than {MAX_LINE} bytes")
    return text


_NO_CHECK = '"check":""}'


def read_header(line: bytes) -> Header:
    """Return the first line of a file.

    Raises
    ------
    ValueError
        With a short reason, without the place.
    """
    found: Header = _converted(_object(line), Header)
    if found.cassette != VERSION:
        raise ValueError(f"a cassette of version {found.cassette}; this closecall reads {VERSION}")
    if spelt(msgspec.to_builtins(found)).encode() != line:
        raise ValueError(_SPELLING)
    return found


def read_line(line: bytes) -> Line:
    """Return what a line holds, once everything in it has been checked.

    Raises
    ------
    ValueError
        With a short reason, without the place.
    """
    if len(line) > MAX_LINE:
        raise ValueError(f"is longer than {MAX_LINE} bytes")
    row = _object(line)
    key = row.get("key")
    if not isinstance(key, str):
        raise ValueError("has no key")  # noqa: TRY004 - one exception type for all of it
    found, due = _identified(row) if key.startswith(f"{IDENTITY}:") else _entry(row)
    if found.key != due:
        raise ValueError("its key is not that of its content: it was edited; record it again")
    again = write_line(found).encode()
    if again != line:
        edited = again[: -_CHECK - 2] == line[: -_CHECK - 2]
        raise ValueError(
            "its check is not that of its content: it was edited; record it again"
            if edited
            else _SPELLING
        )
    return found


_SPELLING = "is not spelt as closecall spells it: it was edited or put together by another program"


def _identified(row: dict[str, Any]) -> tuple[Identified, str]:
    """Return an identity and the key it has to have."""
    found: Identified = _converted(row, Identified)
    return found, f"{IDENTITY}:{digest_of(found.identity)}"


def _entry(row: dict[str, Any]) -> tuple[Entry, str]:
    """Return an entry and the key it has to have; refuse a reply that is none of its kind."""
    entry: Entry = _converted(row, Entry)
    return entry, key_of(require_sound(entry), entry.identity, entry.request)


def require_sound(entry: Entry) -> Kind:
    """Return an entry's kind, once its request and its reply are those of the kind.

    Raises
    ------
    ValueError
        With a short reason, without the place.
    """
    kind = next((kind for kind in KINDS if kind == entry.kind), None)
    if kind is None:
        raise ValueError(
            f"is of the kind {entry.kind[:20]!r}, which is none of {', '.join(KINDS)}"
        )
    reply: Any = _converted(entry.reply, _REPLIES[kind], "reply")
    if kind == "embedding":
        _converted(entry.request, VectorRequest, "request")
        if (reply.vector is None) == (reply.too_long is None):
            raise ValueError("reply: has either a vector or a reason why there is none")
        if reply.vector is not None:
            read_vector(reply.vector)
    if kind == "chat":
        _converted(entry.request.get("messages", []), list[dict[str, JSON]], "request: messages")
    if canonical(entry.request) != entry.request:
        raise ValueError("request: holds a text that is not in its canonical form (NFC, LF)")
    return kind


def _object(line: bytes) -> dict[str, Any]:
    row, flaws = decode_row(line)
    if row is None or flaws:
        field, message = flaws[0]
        raise ValueError(f"{field}: {message}" if field else message)
    return row


def _converted(row: Any, kind: Any, where: str = "") -> Any:
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {error}" if where else f"{error}") from error
