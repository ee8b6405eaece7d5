"""A chat model as the subject: the case's input is the question, its reply is the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from closecall.chat.base import ChatFailure, ChatModel, ChatReply, ChatRequest
from closecall.errors import DataError, UsageError
from closecall.plain import read_plain
from closecall.records import JSON, Case, Unmeasured, is_whole_text
from closecall.subjects.base import Answer, SubjectIdentity, no_answer
from closecall.subjects.conversation import messages_of

MOST_PROMPT = 1 << 20
"""Bytes of a file with a system prompt."""

_LENGTH = "length"
_HOTTEST = 2.0


class ChatSubject:
    """Asks a chat model each case's question.

    The references and the label of a case are never sent, and its context only on request.

    Parameters
    ----------
    chat
        The model.
    system_prompt
        Said before every question; a conversation with a system's turn of its own keeps that.
    temperature, seed
        Part of every request; None: not sent, so that the server's own counts. With ``seed``, a
        repeated run asks with the next one; see ``for_run``.
    max_tokens
        Most tokens of an answer; None: as the server has it.
    context
        Put the case's context before the question.

    Raises
    ------
    UsageError
        A number is out of range.
    """

    def __init__(
        self,
        chat: ChatModel,
        *,
        system_prompt: str | None = None,
        temperature: float | None = 0.0,
        seed: int | None = 0,
        max_tokens: int | None = None,
        context: bool = False,
    ) -> None:
        if temperature is not None and not 0 <= temperature <= _HOTTEST:
            raise UsageError(f"temperature must lie from 0 to 2, got {temperature!r}")
        if max_tokens is not None and max_tokens < 1:
            raise UsageError(f"max_tokens must be at least 1, got {max_tokens}")
        self._chat = chat
        self._system_prompt = system_prompt
        self._temperature = temperature
        self._seed = seed
        self._max_tokens = max_tokens
        self._context = context
        model = chat.identity
        facts: dict[str, JSON] = {
            "provider": model.provider,
            "host": model.host,
            "model": model.model,
            "model_digest": model.digest,
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "context": context,
            "system_prompt_sha256": None
            if system_prompt is None
            else hashlib.sha256(system_prompt.encode()).hexdigest(),
        }
        self._identity = SubjectIdentity(kind="chat", name=model.name, facts=facts)

    @property
    def identity(self) -> SubjectIdentity:
        """The model and how it is asked."""
        return self._identity

    @property
    def adjustments(self) -> dict[str, str]:
        """How parameters were sent otherwise than asked so far; see ``RemoteChat``."""
        found: dict[str, str] = getattr(self._chat, "adjustments", {})
        return found

    def for_run(self, number: int) -> ChatSubject:
        """Return the subject of a repeated run, 0 the first: the same with another seed.

        A server that heeds the seed would say the same every time otherwise, and so would a
        recording of it.
        """
        if number == 0 or self._seed is None:
            return self
        return ChatSubject(
            self._chat,
            system_prompt=self._system_prompt,
            temperature=self._temperature,
            seed=self._seed + number,
            max_tokens=self._max_tokens,
            context=self._context,
        )

    def with_chat(self, wrapped: Callable[[ChatModel], ChatModel]) -> ChatSubject:
        """Return the same subject with something around its model that leaves its identity."""
        return ChatSubject(
            wrapped(self._chat),
            system_prompt=self._system_prompt,
            temperature=self._temperature,
            seed=self._seed,
            max_tokens=self._max_tokens,
            context=self._context,
        )

    def answer(self, cases: Sequence[Case]) -> list[Answer | Unmeasured]:
        """Return the model's reply to each case, or why there is none.

        An answer cut off at the most tokens is an answer, with ``finish`` ``length``; where
        nothing was said before, there is none.

        Raises
        ------
        ConfigurationError
            No request can succeed.
        """
        asked = [self._request(case) for case in cases]
        requests = [one for one in asked if isinstance(one, ChatRequest)]
        replies = iter(self._chat.complete(requests) if requests else ())
        return [_answer(next(replies)) if isinstance(one, ChatRequest) else one for one in asked]

    def _request(self, case: Case) -> ChatRequest | Unmeasured:
        messages = messages_of(case, self._system_prompt, context=self._context)
        if isinstance(messages, Unmeasured):
            return messages
        return ChatRequest(
            messages=messages,
            temperature=self._temperature,
            seed=self._seed,
            max_tokens=self._max_tokens,
        )


def read_system_prompt(path: Path) -> str:
    """Return the text of a file with a system prompt, without white space around it.

    Raises
    ------
    DataError
        It cannot be read, is not UTF-8, or is blank.
    """
    try:
        text = read_plain(path, MOST_PROMPT).decode("utf-8-sig").strip()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 (byte {error.start})") from error
    except ValueError as error:  # a NUL in the name
        raise DataError(f"{path}: cannot be read ({error})") from error
    if not text:
        raise DataError(f"{path}: is blank; a system prompt says something")
    return text


def _answer(reply: ChatReply | ChatFailure) -> Answer | Unmeasured:
    if isinstance(reply, ChatFailure):
        return no_answer(reply.reason)
    if not is_whole_text(reply.content):
        return no_answer("it holds half of a surrogate pair, which is not a character")
    if reply.finish == _LENGTH and not reply.content.strip() and not reply.tool_calls:
        return no_answer(
            "all tokens it may take were spent before its first word, as reasoning models do; "
            "allow it more with --max-tokens"
        )
    return Answer(
        text=reply.content,
        tool_calls=reply.tool_calls,
        usage=reply.usage,
        latency_ms=reply.latency_ms,
        finish=reply.finish,
    )
