"""One answer a text out of a provider that refuses, stalls, limits and errs.

A request is sent again as ``retry`` says. What is refused for a text of it is sent in halves until
the text is found. A reply that cannot be used, or a row of one, is asked for once more.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from closecall.embedders.base import Usage, Vector
from closecall.embedders.metering import BUDGET_REACHED, OPEN, Gate, Size, Used
from closecall.embedders.remote.connection import Connection
from closecall.embedders.remote.problems import Kind, Problem, cleaned
from closecall.embedders.remote.replies import BadReply, Reply, read_reply
from closecall.embedders.remote.retry import Waiting
from closecall.embedders.remote.sizes import least_tokens
from closecall.errors import ConfigurationError

MAX_REFUSED = 32
"""Texts of a call refused each on its own, none accepted, after which the rest is not sent."""


class Row(NamedTuple):
    """One text's vector; ``tokens`` as reported where the text had a request of its own.

    ``short``: the server says that it read fewer tokens than the text has words.
    """

    vector: Vector
    tokens: int | None = None
    short: bool = False


class Expected(NamedTuple):
    """What replies are held to: form asked for, width and the server's model once known."""

    encoding: str
    dims: int | None = None
    model: str = ""


class Asking:
    """Asks a provider for vectors; safe to use from several threads.

    Parameters
    ----------
    connection, waiting
        How to reach it, and how long to wait.

    Attributes
    ----------
    gate
        What every request passes, and what counts its tokens.
    """

    def __init__(self, connection: Connection, waiting: Waiting) -> None:
        self.connection = connection
        self.waiting = waiting
        self._lock = threading.Lock()
        self._usage = Usage()
        self.gate: Gate = OPEN
        self._fits = connection.settings.provider.max_texts

    @property
    def usage(self) -> Usage:
        """What was reported so far."""
        return self._usage

    @property
    def fits(self) -> int:
        """How many texts a request may have, as far as is known."""
        return self._fits

    def rows(self, texts: Sequence[str], expected: Expected, call: Call) -> list[Row | str]:
        """Return a vector or a reason for each text, in order.

        Parameters
        ----------
        texts, expected
            What to send, and what replies are held to.
        call
            What the requests of one call have in common.

        Raises
        ------
        ConfigurationError
            No request can succeed.
        """
        work = _Work(texts, expected, call)
        self._fill(work, range(len(texts)))
        return work.found

    def reply(
        self,
        texts: Sequence[str],
        expected: Expected,
        stopped: threading.Event,
        waiting: Waiting | None = None,
    ) -> Reply | BadReply | Problem:
        """Return the reply to one request, sent again while that may help.

        Parameters
        ----------
        texts, expected
            What to send, and what the reply is held to.
        stopped
            Ends the waits when it is set.
        waiting
            How long to go on; None: as for all requests.
        """
        size = Size(sum(map(least_tokens, texts)))
        if not self.gate.enter(size, stopped):
            return Problem(Kind.OVER, BUDGET_REACHED)
        try:
            return self._reply(texts, expected, stopped, waiting or self.waiting, size)
        finally:
            self.gate.leave(size)

    def _reply(
        self,
        texts: Sequence[str],
        expected: Expected,
        stopped: threading.Event,
        waiting: Waiting,
        size: Size,
    ) -> Reply | BadReply | Problem:
        patience, now = waiting.patience, waiting.clock.now
        deadline = now() + patience.deadline_s
        last: BadReply | Problem | None = None
        bad, attempt = False, 0
        while attempt < patience.attempts and waiting.turn(deadline, stopped):
            found = self.connection.post(
                texts, expected.encoding, deadline - now(), stopped.is_set
            )
            if isinstance(found, bytes):
                read = self._without_key(read_reply(found, len(texts), expected.dims))
                self._count(read, size)
                if isinstance(read, Reply) or read.split or bad:
                    return read
                last, bad = read, True
                continue
            last = found
            if found.status is None:
                self.gate.spend(Used(), size)  # nobody knows whether it was read
            if found.kind is not Kind.AGAIN:
                break
            wait = waiting.delay(attempt, found.wait_s)
            asked = found.wait_s is not None
            if asked and now() + wait >= deadline:
                late = (
                    f"it asks to wait {found.wait_s:.0f} s, and {deadline - now():.0f} s are left"
                )
                return found._replace(kind=Kind.OVER, reason=f"{found.reason} ({late})")
            # Being told to wait is no failure: the deadline alone bounds how often it happens.
            attempt += not (asked and wait >= 1)
            if asked and found.limited:
                waiting.hold(wait)
            elif attempt < patience.attempts:
                waiting.pause(min(wait, max(0.0, deadline - now())), stopped)
        if last is not None:
            return last
        why = "the work was stopped" if stopped.is_set() else "it asks to wait past the deadline"
        return Problem(Kind.OVER, why)

    def _fill(self, work: _Work, at: Sequence[int]) -> bool:
        """Put a row or a reason for the texts at these places; return whether none was refused."""
        call = work.call
        if call.refused >= MAX_REFUSED and not call.accepted:
            work.fail(
                at, f"not sent, as {call.refused} texts before it were refused: {call.reason}"
            )
            return False
        got = self.reply([work.texts[place] for place in at], work.expected, call.stopped)
        if isinstance(got, Reply):
            call.accepted += len(at)
            return self._take(work, at, got)
        split = got.split if isinstance(got, BadReply) else got.kind is Kind.SPLIT
        if isinstance(got, Problem):
            if got.kind is Kind.SETTING:
                raise ConfigurationError(f"{self._name()}: {got.reason}")
            split = split or (got.broken and got.kind is Kind.AGAIN)
        if split and len(at) > 1:
            half = (len(at) + 1) // 2
            # Both are sent, whatever becomes of the first.
            fine = [self._fill(work, part) for part in (at[:half], at[half:])]
            if all(fine):
                # No text was at fault, so it was their number: later requests have fewer.
                with self._lock:
                    self._fits = min(self._fits, half)
            return all(fine)
        if split:
            call.refused += 1
            call.reason = got.reason
        work.fail(at, got.reason)
        return False

    def _take(self, work: _Work, at: Sequence[int], got: Reply, *, second: bool = False) -> bool:
        """Put the rows of a reply in place, and ask once more for unsound ones."""
        if work.expected.model and got.model and got.model != work.expected.model:
            now, before = f"{got.model!r:.80}", f"{work.expected.model!r:.80}"
            work.fail(at, f"it answered with the model {now}, and before with {before}")
            return False
        least = sum(least_tokens(work.texts[place]) for place in at)
        short = got.prompt_tokens is not None and got.prompt_tokens < least
        if short and len(at) > 1:
            # One of them was cut, and alone it says which.
            for place in at:
                self._fill(work, [place])
            return False
        tokens = got.prompt_tokens if len(at) == 1 else None
        bad = []
        for place, row in zip(at, got.rows, strict=True):
            work.found[place] = row if isinstance(row, str) else Row(row, tokens, short)
            if isinstance(row, str):
                bad.append(place)
        if bad and not second:
            again = self.reply(
                [work.texts[place] for place in bad], work.expected, work.call.stopped
            )
            if isinstance(again, Reply):
                return self._take(work, bad, again, second=True)
        for place in bad:
            work.found[place] = f"{work.found[place]}, twice"
        return not bad

    def _count(self, read: Reply | BadReply, size: Size) -> None:
        tokens = read.prompt_tokens if isinstance(read, Reply) else None
        self.gate.spend(Used(tokens, 0), size)
        with self._lock:
            before = self._usage
            self._usage = Usage(
                before.replies + 1,
                before.unreported + (tokens is None),
                before.reported + (tokens or 0),
            )

    def _without_key(self, read: Reply | BadReply) -> Reply | BadReply:
        """Return a reply whose words are fit to be shown: a server may call its model anything."""
        if isinstance(read, BadReply):
            return read
        return read._replace(model=cleaned(read.model, self.connection.settings))

    def _name(self) -> str:
        settings = self.connection.settings
        return f"{settings.model}@{settings.provider.tag}"


class Call:
    """What became of the texts of one call so far; ``stopped`` ends its work when it is set."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.accepted = 0
        self.refused = 0
        self.reason = ""


class _Work:
    """The texts of one request and what became of each."""

    def __init__(self, texts: Sequence[str], expected: Expected, call: Call) -> None:
        self.texts = texts
        self.expected = expected
        self.call = call
        self.found: list[Row | str] = ["it was not asked for"] * len(texts)

    def fail(self, at: Sequence[int], reason: str) -> None:
        for place in at:
            self.found[place] = reason
