"""The embedder of a remote provider."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain, islice

import numpy as np

from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import Counted, Usage, Vectors
from closecall.embedders.metering import Gate
from closecall.embedders.remote.asking import Asking, Call, Expected, Row
from closecall.embedders.remote.batching import batches
from closecall.embedders.remote.connection import Connection
from closecall.embedders.remote.probing import Probe, find_out
from closecall.embedders.remote.reading import Got, Known, known_from, put_together, unfit
from closecall.embedders.remote.retry import Clock, Patience, Waiting
from closecall.embedders.remote.settings import Settings
from closecall.embedders.remote.tails import Tails
from closecall.embedders.windows import DEFAULT_OVERLAP, checked_policy
from closecall.errors import EmbeddingError, TextTooLongError, UsageError
from closecall.instrument import CHUNK, Instrument, canonical_text
from closecall.records import Role, Tokens

WAIT = Patience()
FIRST_WAIT = Patience(attempts=3, deadline_s=60.0)
"""For the first request, which finds out whether the provider can be reached at all."""


class RemoteEmbedder(Awaitable):
    """Turns texts into vectors by asking a provider. Making one sends and loads nothing.

    The first use of ``instrument``, ``load`` or ``embed`` sends one short text, to learn the
    width of a vector and what the server calls its model: both are part of the identity, which
    then never changes. A reply of another width or model is refused.

    Texts that cannot be embedded are named in an ``EmbeddingError``. What the others got is kept
    until the next call, so that asking for them again without the bad ones sends nothing.

    Long texts: where the model's window is known, texts that may pass it are treated by the
    window policy, their length being estimated from above, since the tokenizer is the provider's.
    Where it is not known, texts are sent whole. A text of which the server says that it read
    fewer tokens than it has words was cut there; and where the server may cut texts, the longest
    are asked for a second time with another end, which tells as well. Such a text is refused, or
    under the policy ``truncate`` flagged by its tokens. Requests go out side by side; calls from
    several threads are safe.

    Parameters
    ----------
    settings
        Which provider and model; see ``read_settings``.
    window
        ``chunk``, ``truncate`` or ``error``.
    in_flight
        Most requests at a time; None: what suits the provider.
    patience, clock
        How long to go on after failures; time and chance, for tests.

    Raises
    ------
    MissingExtraError
        The client is not installed.
    UsageError
        An argument is wrong.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        window: str = CHUNK,
        in_flight: int | None = None,
        patience: Patience | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._window, _ = checked_policy(window, None, DEFAULT_OVERLAP * 4)
        if in_flight is not None and in_flight < 1:
            raise UsageError(f"in_flight must be at least 1, got {in_flight}")
        self._settings = settings
        self._in_flight = in_flight or settings.provider.in_flight
        clock = clock or Clock()
        usual = patience or WAIT
        self._connection = Connection(settings, usual, clock.wall)
        self._asking = Asking(self._connection, Waiting(usual, clock))
        self._tails = Tails(self._asking)
        first = (patience or FIRST_WAIT)._replace(
            attempts=min(usual.attempts, FIRST_WAIT.attempts)
        )
        self._first = Waiting(first, clock)
        self._lock = threading.Lock()
        self._known: Known | None = None
        self._kept: dict[str, Got] = {}

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._settings.model!r}@{self._settings.provider.tag})"

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder; its first use may send one short text.

        Raises
        ------
        ConfigurationError
            The provider cannot be reached or refuses, or the network is forbidden.
        """
        return self._ready().instrument

    @property
    def usage(self) -> Usage:
        """What the provider reported of its use so far, the first request included."""
        return self._asking.usage

    def load(self) -> None:
        """Ask for one short text now, so that what would fail every text is found first.

        Raises
        ------
        ConfigurationError
            See ``instrument``.
        """
        self._ready()

    def probe(self) -> Probe:
        """Return what one more request finds out about the provider, for a person to read.

        Raises
        ------
        ConfigurationError
            See ``instrument``.
        """
        return find_out(self._asking, self._first).probe(self._settings)

    @property
    def billed(self) -> tuple[str, str]:
        """The provider and the model that its prices go by; nothing is sent to find out."""
        return self._settings.provider.tag, self._settings.model

    def gated_by(self, gate: Gate) -> None:
        """Send every request from now on through a gate, which counts it and may close."""
        self._asking.gate = gate

    def close(self) -> None:
        """Close the connections there are."""
        self._connection.close()

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector per text, in the order asked: float32, (n, d), finite, not zero.

        Raises
        ------
        UsageError
            ``texts`` is not a sequence of str.
        EmbeddingError
            Some texts, named in ``indices``, have no vector.
        TextTooLongError
            Texts may be longer than the window, and the policy is ``error``.
        ConfigurationError
            No request can succeed: a key is refused, a deployment is missing, ...
        """
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens where they are known: of a text that was sent alone.

        Of a text that was cut, under the policy ``truncate``, ``total`` is a lower bound. Where
        the server does not say what it read, words are counted, and ``seen`` is an upper bound.
        """
        Role(role)
        wanted = _checked(texts)
        known = self._ready()
        got = self._take_kept(wanted)
        missing = list(dict.fromkeys(text for text in wanted if text not in got))
        if missing:
            got |= self._fetch(missing, known)
        self._refuse(wanted, got)
        vectors = np.empty((len(wanted), known.instrument.dims), dtype=np.float32)
        tokens: list[Tokens | None] = []
        for at, text in enumerate(wanted):
            one = got[text]
            vectors[at] = one.vector
            tokens.append(one.tokens)
        return Counted(vectors, tokens)

    def _ready(self) -> Known:
        with self._lock:
            if self._known is None:
                found = find_out(self._asking, self._first)
                self._known = known_from(self._settings, found, self._window)
            return self._known

    def _take_kept(self, texts: Sequence[str]) -> dict[str, Got]:
        """Return what the last call left for these texts, and forget the rest."""
        with self._lock:
            kept, self._kept = self._kept, {}
        return {text: kept[text] for text in texts if text in kept}

    def _refuse(self, texts: Sequence[str], got: dict[str, Got]) -> None:
        """Raise for the texts that failed for the first reason there is; keep all others."""
        reason = next((got[text].reason for text in texts if got[text].reason), "")
        if not reason:
            return
        at = [index for index, text in enumerate(texts) if got[text].reason == reason]
        with self._lock:
            self._kept = {text: one for text, one in got.items() if one.reason != reason}
        kind = TextTooLongError if got[texts[at[0]]].too_long else EmbeddingError
        shown = ", ".join(f"texts[{index}]" for index in at[:5])
        more = f" and {len(at) - 5} more" if at[5:] else ""
        raise kind(f"{shown}{more}: {reason}", at, reason=reason)

    def _fetch(self, texts: Sequence[str], known: Known) -> dict[str, Got]:
        """Return what becomes of texts that are all different."""
        got = {text: unfit(text, known) for text in texts}
        plans = {text: known.plan(text) for text, one in got.items() if one is None}
        wanted = list(dict.fromkeys(part.text for plan in plans.values() for part in plan))
        rows = self._ask(wanted, known.expected)
        if not (known.instrument.max_tokens or self._settings.provider.refuses_long):
            rows = self._tails.checked(rows, known.expected)
        done = {text: put_together(text, plan, rows, known) for text, plan in plans.items()}
        return done | {text: one for text, one in got.items() if one is not None}

    def _ask(self, texts: Sequence[str], expected: Expected) -> dict[str, Row | str]:
        """Return a vector or a reason for each text, with several requests under way."""
        asking, provider = self._asking, self._settings.provider
        plan = batches(
            texts, lambda: asking.fits, provider.max_tokens, alone=not provider.refuses_long
        )
        call = Call()

        def run(batch: Sequence[str]) -> dict[str, Row | str]:
            return dict(zip(batch, asking.rows(batch, expected, call), strict=True))

        first = list(islice(plan, 2))
        if len(first) < 2:  # noqa: PLR2004 - one request needs no thread
            return run(first[0]) if first else {}
        rows: dict[str, Row | str] = {}
        pool = ThreadPoolExecutor(self._in_flight, thread_name_prefix="closecall-remote")
        try:
            under_way: set[Future[dict[str, Row | str]]] = set()
            for batch in chain(first, plan):
                under_way.add(pool.submit(run, batch))
                if len(under_way) >= self._in_flight:
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        rows |= future.result()
            for future in under_way:
                rows |= future.result()
        except BaseException:
            call.stopped.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return rows


def _checked(texts: Sequence[str]) -> list[str]:
    """Return the texts in canonical form, or refuse what is no sequence of str."""
    if isinstance(texts, str | bytes):
        raise UsageError("texts must be a list of str, got a single text; put it in a list")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"texts[{index}] must be str, got {type(text).__name__}")
    return [canonical_text(text) for text in texts]
