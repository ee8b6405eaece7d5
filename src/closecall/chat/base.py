"""The contract of a chat model, below every implementation of it.

Whoever writes one gives ``identity`` and ``complete``. What may fail is a value, not an
exception: one request that fails costs no other its reply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import msgspec

from closecall.embedders.metering import MOST_TOKENS, as_count
from closecall.errors import UsageError
from closecall.instrument import canonical_json
from closecall.records import JSON

Speaker: TypeAlias = Literal["system", "user", "assistant", "tool"]


TokenCount: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool that an assistant asks for; ``arguments`` is JSON, as it came."""

    name: str
    arguments: str = "{}"
    id: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation. ``call_id`` names the call that a tool's message answers."""

    role: Speaker
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a chat model.

    ``temperature`` and ``seed`` None: not sent. ``max_tokens`` bounds the reply. ``schema`` is a
    JSON schema that the reply has to follow, where the server can see to that; ``tools`` are
    definitions as the OpenAI protocol has them.
    """

    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    seed: int | None = 0
    max_tokens: int | None = None
    schema: dict[str, JSON] | None = None
    tools: tuple[dict[str, JSON], ...] = ()


class ChatUsage(NamedTuple):
    """Tokens as the provider reports them, 0 to 2^32; None where it does not, which is no zero."""

    prompt_tokens: TokenCount | None = None
    completion_tokens: TokenCount | None = None


def require_counts(owner: str, usage: ChatUsage) -> None:
    """Refuse a usage that is none: anybody's code may have made it.

    Raises
    ------
    UsageError
        It is no ``ChatUsage``, or a number in it is neither None nor from 0 to 2^32.
    """
    if not isinstance(usage, ChatUsage):
        raise UsageError(f"{owner}.usage must be a ChatUsage, got {type(usage).__name__}")
    for name, count in zip(ChatUsage._fields, usage, strict=True):
        if count is not None and as_count(count) is None:
            raise UsageError(
                f"{owner}.usage: {name} must be None or a whole number from 0 to "
                f"{MOST_TOKENS}, not a {type(count).__name__} that is neither"
            )


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model replied. ``finish`` is why it ended: ``stop``, ``length``, ``tool_calls``, ...

    ``model`` is what the server calls itself. ``latency_ms`` is the time the request took;
    0 for a recorded one.

    Raises
    ------
    UsageError
        A number of tokens is none.
    """

    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    model: str = ""
    usage: ChatUsage = ChatUsage()
    latency_ms: float | None = None

    def __post_init__(self) -> None:
        require_counts("ChatReply", self.usage)


class ChatFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request has no reply.

    ``kind``: ``refused`` (the request itself is at fault, a 4xx), ``unreachable``, ``timeout``,
    ``rate_limited``, ``broken`` (the reply cannot be read), ``budget`` (not sent, because what
    may be spent is spent), ``missing`` (a replay has no recording of it). ``reason`` says it to a
    person and holds no key.
    """

    reason: str
    kind: str
    status: int | None = None


class ChatIdentity(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything besides the request that can change a reply, as far as a client can know it."""

    provider: str
    host: str
    model: str
    options: dict[str, str] = {}

    @cached_property
    def digest(self) -> str:
        """Sha256 (hex, 64 characters) over the identity in one fixed spelling."""
        return hashlib.sha256(canonical_json(msgspec.to_builtins(self))).hexdigest()

    @property
    def name(self) -> str:
        """What to call it: ``model@provider``."""
        return f"{self.model}@{self.provider}"


@runtime_checkable
class ChatModel(Protocol):
    """Replies to conversations."""

    @property
    def identity(self) -> ChatIdentity:
        """Which model this is; never changes during its life."""
        ...

    def complete(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply | ChatFailure]:
        """Return one reply or failure a request, in the order asked.

        Requests may go out side by side.

        Raises
        ------
        ConfigurationError
            The model cannot be used at all: a wrong key, no such model, no network allowed.
        """
        ...
