"""The door to one scenario's recordings, in one of three modes."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from closecall.cassettes.choosing import choose
from closecall.cassettes.entries import Entry, Identified, Kind, identified, key_of
from closecall.cassettes.misses import SHOWN, described, miss_error
from closecall.cassettes.nearest import Asked
from closecall.cassettes.same import same_reply
from closecall.cassettes.secrets import Secrets
from closecall.cassettes.spelling import spelt
from closecall.cassettes.tape import Tape
from closecall.cassettes.vectors import Floats
from closecall.embedders.remote.redaction import Secret, redact
from closecall.errors import CassetteError, ConfigurationError, ReplayMissError, UsageError
from closecall.records import JSON

if TYPE_CHECKING:
    from closecall.chat.base import ChatModel
    from closecall.embedders.base import Embedder

TIME = "%Y-%m-%dT%H:%M:%SZ"


class Mode(StrEnum):
    """What is done with a request.

    ``record``: it is asked, whatever is recorded, and the reply takes the place of another one.
    ``replay``: it is never asked. ``record-missing``: it is asked where nothing is recorded.
    """

    RECORD = "record"
    REPLAY = "replay"
    MISSING = "record-missing"


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of requests.

    ``replayed``: not asked. ``recorded``: asked, and the reply is new. ``unchanged``: asked, and
    the reply is the one recorded before. ``missed``: neither recorded nor asked.
    """

    replayed: int = 0
    recorded: int = 0
    unchanged: int = 0
    missed: int = 0


class Cassette:
    """One scenario's recordings; made by ``open_cassette``.

    ``embedder`` and ``chat`` put it in front of what would answer, and
    ``closecall.subjects.recorded`` in front of a subject. Several threads
    may use it, one process may record a scenario at a time.
    """

    def __init__(
        self,
        tape: Tape,
        mode: Mode,
        *,
        floats: Floats,
        ttl: float | None,
        local: bool,
        secrets: Secrets,
        since: dt.datetime | None,
        now: Callable[[], dt.datetime],
    ) -> None:
        self.mode = mode
        self.floats = floats
        self.local = local
        self.tape = tape
        self._ttl = ttl
        self._secrets = secrets
        self._since = None if since is None else since.replace(microsecond=0)
        self._now = now
        self._lock = threading.RLock()
        self._counts = Counts()
        self._missed: dict[str, str] = {}
        self._asked: set[str] = set()
        self._taken: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self.tape.path

    @property
    def counts(self) -> Counts:
        """What became of the requests so far; of repeated ones, each time counts."""
        return self._counts

    def embedder(
        self, make: Callable[[], Embedder], spec: str | None = None, *, window: str | None = None
    ) -> Embedder:
        """Return the embedder to use in place of the one ``make`` would make.

        A local model is used as it is, see ``worth_recording``. On replay a recorded embedder is
        never made; with ``record-missing`` it is made at the first miss, and refused if it is no
        longer the one recorded.

        Parameters
        ----------
        make
            Makes the live embedder.
        spec
            The name it was asked for by, as ``load_embedder`` takes it; None: the default.
        window
            The window policy asked for; it tells recordings of one model apart.

        Raises
        ------
        ReplayMissError
            On replay, nothing of this embedder is recorded.
        UsageError
            Recordings of several embedders go by this name.
        """
        from closecall.cassettes.embedder import recorded_embedder

        return recorded_embedder(self, make, spec, window)

    def chat(self, make: Callable[[], ChatModel], spec: str | None = None) -> ChatModel:
        """Return the chat model to use in place of the one ``make`` would make; as ``embedder``.

        Raises
        ------
        ReplayMissError
            On replay, nothing of this model is recorded.
        UsageError
            Recordings of several models go by this name.
        """
        from closecall.cassettes.chat import recorded_chat

        return recorded_chat(self, make, spec)

    def known(self, of: Kind, spec: str | None, window: str | None = None) -> Identified | None:
        """Return who was recorded under a name; None if nobody was.

        Raises
        ------
        UsageError
            Several go by it.
        """
        return choose(self.tape, of, _without_key(spec), window)

    def find(self, kind: Kind, digest: str, request: dict[str, JSON]) -> Entry | None:
        """Return what is recorded of a request in canonical form; None: it has to be asked.

        A whole recording asks each request once: a second reply would take the place of the
        first, and a replay would say what the recorded run did not. That holds for one that was
        interrupted and goes on as well.
        """
        key = key_of(kind, digest, request)
        with self._lock:
            self._asked.add(key)
            entry = self.tape.get(key)
            if entry is None or self._expired(entry):
                return None
            if self.mode is Mode.RECORD and key not in self._taken and not self._ours(entry):
                return None
            self._count(**{"unchanged" if self.mode is Mode.RECORD else "replayed": 1})
            return entry

    def require_no_secret(self, kind: Kind, request: dict[str, JSON]) -> None:
        """Refuse a request that could not be recorded, before it is asked.

        Raises
        ------
        ConfigurationError
            It holds the value of a variable that holds a key.
        """
        self._secrets.refuse(spelt(request), f"a request to the {_WHO[kind]}")

    def keep(
        self,
        asked: Asked,
        reply: dict[str, JSON],
        spec: str | None = None,
    ) -> Entry:
        """Record a reply and return what is recorded.

        Where an earlier recording has the same reply (``same_reply``), that one stays as it is, to
        the byte, unless it is too old.

        Raises
        ------
        ConfigurationError
            It holds the value of a variable that holds a key.
        CassetteError
            It cannot be kept.
        """
        entry = Entry(
            key=key_of(asked.kind, asked.digest, asked.request),
            identity=asked.digest,
            name=asked.name,
            request=asked.request,
            reply=reply,
            recorded=self._now().astimezone(dt.UTC).strftime(TIME),
        )
        self._secrets.refuse(
            spelt([entry.name, entry.request, reply]), f"a reply of the {_WHO[asked.kind]}"
        )
        with self._lock:
            self._taken.add(entry.key)
            self._introduce(asked, spec)
            before = self.tape.get(entry.key)
            if (
                before is not None
                and not self._expired(before)
                and same_reply(asked.kind, before.reply, reply)
            ):
                self._count(unchanged=1)
                return before
            self.tape.put(entry)
            self._count(recorded=1)
            return entry

    def miss(self, asked: Asked) -> str:
        """Note that a replay lacks a request, and return why in words; the first few in full."""
        key = key_of(asked.kind, asked.digest, asked.request)
        with self._lock:
            self._count(missed=1)
            said = self._missed.get(key)
            if said is None:
                said = f"{asked.kind} of {asked.name}: not recorded"
                if len(self._missed) < SHOWN:
                    old = self.tape.get(key)
                    said = described(self.tape, asked, key, old, self._ttl)
                self._missed[key] = said
            return said

    def missing(self) -> ReplayMissError | None:
        """Return the error for everything missed so far; None where nothing was.

        Chat models and subjects report a miss as a failure of its one request, so that a run goes
        on; raise this when the run is over.
        """
        with self._lock:
            if not self._missed:
                return None
            shown = list(self._missed.values())[:SHOWN]
            return miss_error(self.path, shown, len(self._missed))

    def forget_unasked(self) -> int:
        """Drop the recordings that nothing asked for since this cassette was opened.

        For the end of a whole recording, so that no request of an earlier one stays for ever.

        Returns
        -------
        int
            How many were dropped; ``close`` writes the file without them.
        """
        if self.mode is Mode.REPLAY:
            raise UsageError("a replay changes no recording")
        with self._lock:
            kept = {one.key for one in self.tape.identities.values()}
            unasked = set(self.tape.sorted_keys()) - self._asked - kept
            self.tape.drop(unasked)
            return len(unasked)

    def close(self) -> None:
        """Write what was recorded into the file. A second call does nothing.

        Raises
        ------
        CassetteError
            It cannot be written; what was recorded is safe in the journal beside the file.
        """
        self.tape.close()

    def _introduce(self, asked: Asked, spec: str | None) -> None:
        """Record who replied, once, with every name it was asked for by."""
        before = self.tape.identities.get(asked.digest)
        names = set() if before is None else set(before.names)
        called = _without_key(spec)
        line = identified(
            asked.kind, asked.name, asked.identity, names | ({called} if called else set())
        )
        if before is None or line.names != before.names:
            self._secrets.refuse(
                spelt([line.identity, line.names]), f"the identity of the {_WHO[asked.kind]}"
            )
            self.tape.put(line)
        if called:
            self._rename_others(line, called)

    def _rename_others(self, line: Identified, called: str) -> None:
        """Leave a name to who answers to it now, so that a replay has no two to choose from.

        Another window policy is another embedder on purpose; a replay is told which.
        """
        for other in list(self.tape.identities.values()):
            if (
                other.of == line.of
                and other.key != line.key
                and called in other.names
                and other.identity.get("window") == line.identity.get("window")
            ):
                names = tuple(name for name in other.names if name != called)
                self.tape.put(msgspec.structs.replace(other, names=names))

    def _ours(self, entry: Entry) -> bool:
        """Return whether the recording that is gone on with has made an entry."""
        if self._since is None:
            return False
        return recorded_at(entry, self.tape.place(entry.key)) >= self._since

    def _expired(self, entry: Entry) -> bool:
        if self._ttl is None:
            return False
        age = self._now() - recorded_at(entry, self.tape.place(entry.key))
        return age.total_seconds() > self._ttl

    def _count(self, **more: int) -> None:
        now = {name: getattr(self._counts, name) + count for name, count in more.items()}
        self._counts = msgspec.structs.replace(self._counts, **now)


def _without_key(spec: str | None) -> str | None:
    """Return a name without what looks like a key, as in a command's arguments."""
    return None if spec is None else redact(spec, Secret(""))


_WHO: dict[Kind, str] = {"embedding": "embedder", "chat": "chat model", "subject": "subject"}


def recorded_at(entry: Entry, place: str) -> dt.datetime:
    """Return when an entry was recorded.

    Raises
    ------
    CassetteError
        Its time is not spelt as it should be.
    """
    try:
        return dt.datetime.strptime(entry.recorded, TIME).replace(tzinfo=dt.UTC)
    except ValueError:
        raise CassetteError(
            f"{place}: recorded: expected a time such as 2031-01-31T09:00:00Z, "
            f"got {entry.recorded[:40]!r}"
        ) from None


@contextmanager
def stopping() -> Iterator[None]:
    """Let what is wrong with a cassette end a run: it is no fault of a text or a request."""
    try:
        yield
    except CassetteError as error:
        raise ConfigurationError(f"{error}") from error
