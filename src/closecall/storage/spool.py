"""A folder of this machine in which what belongs to a URL is worked on, by one process anywhere.

Two machines must not write one place. So whoever works on it first creates a claim beside it, an
object that only one can create, and takes it away at the end. A process that dies leaves its claim
and its folder behind: on the same machine the next one goes on in that folder, which holds more
than was pushed; another machine is told who holds the claim, and may take it over.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import time
from pathlib import Path

import msgspec

from closecall.errors import StorageError
from closecall.storage import locking
from closecall.storage.fetching import fetch
from closecall.storage.places import located
from closecall.storage.remote import UrlStore, open_remote
from closecall.there import exists

TAKE_OVER = "--take-over"
_HOME = Path(".closecall", "spool")
_LOCK, _NOTE, _WORK = "lock", "claim.json", "work"


class Claim(msgspec.Struct, frozen=True):
    """Who works on a place: the host, its process, since when (UTC), and a word of its own."""

    host: str
    pid: int
    since: str
    token: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


class Spool:
    """A place by URL, held by this process until ``release`` or ``leave``.

    Attributes
    ----------
    store
        Of the URL.
    folder
        On this machine, where the work is done; made.
    left_over
        Whether an earlier process of this machine left its work there: it is newer than what the
        URL holds.
    """

    def __init__(
        self, url: str, claim: str, *, take_over: bool = False, home: Path | None = None
    ) -> None:
        """Claim a place.

        Parameters
        ----------
        url
            The place, on object storage.
        claim
            Name of the claim in it.
        take_over
            Take the claim from whoever holds it. Right only where that one has died.
        home
            Where spool folders lie; None: ``.closecall/spool`` here.

        Raises
        ------
        StorageError
            Another holds the claim, or the place cannot be reached.
        """
        self.store: UrlStore = open_remote(located(url))
        self._name = claim
        self._home = (_own_folder() if home is None else home) / _digest(self.store.place, claim)
        self.folder = self._home / _WORK
        self._lock = _locked(self._home, self.store.place)
        try:
            self.left_over = self._claimed(take_over=take_over)
            self.folder.mkdir(parents=True, exist_ok=True)
        except BaseException:
            if not exists(self._home / _NOTE) and not _holds(self.folder):
                shutil.rmtree(self._home, ignore_errors=True)
            self.leave()
            raise

    def release(self) -> None:
        """Give the claim back and remove the folder; all of it is at the URL."""
        self.store.remove(self._name)
        shutil.rmtree(self._home, ignore_errors=True)
        self.leave()

    def leave(self) -> None:
        """Let go, and keep claim and folder for the process that goes on. Twice does no harm."""
        if self._lock >= 0:
            locking.unlock(self._lock)
            os.close(self._lock)
            self._lock = -1

    def fetch(self, name: str) -> None:
        """Fetch an object into the folder."""
        fetch(self.store, name, self.folder / name)

    def push(self, name: str) -> None:
        """Put a file of the folder to the URL."""
        self.store.write(name, self.folder / name)

    def _claimed(self, *, take_over: bool) -> bool:
        """Hold the claim; return whether work of our own was left here under it."""
        note = self._home / _NOTE
        ours, theirs = _read(note), self._held()
        if ours is not None and theirs is not None and ours.token == theirs.token:
            return True
        # Looked at first too: some servers take no notice of the condition of a creation.
        if theirs is not None and not take_over:
            raise self._busy(theirs)
        self._put_aside(ours)
        claim = Claim(
            socket.gethostname(),
            os.getpid(),
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            secrets.token_hex(8),
        )
        data = msgspec.json.encode(claim)
        note.write_bytes(data)  # first: a claim that nobody knows to be its own could not be left
        if take_over:
            self.store.write(self._name, data)
        elif not self.store.create(self._name, data):
            note.unlink()
            raise self._busy(self._held())
        return False

    def _busy(self, who: Claim | None) -> StorageError:
        return StorageError(
            f"{self.store.place}: is being written by {who or 'another process'}. Wait until it "
            f"is done; if it has died, go on from what it pushed with: {TAKE_OVER}"
        )

    def _held(self) -> Claim | None:
        """Return the claim that lies at the URL."""
        if not self.store.exists(self._name):
            return None
        try:
            return msgspec.json.decode(self.store.read(self._name), type=Claim)
        except msgspec.DecodeError:
            return Claim("a host that cannot be told", 0, "a time that cannot be told", "")

    def _put_aside(self, ours: Claim | None) -> None:
        """Move work away that another machine has gone on without; it is never deleted."""
        if _holds(self.folder):
            mark = secrets.token_hex(4) if ours is None else ours.token[:8]
            self.folder.rename(self._home.with_name(f"{self._home.name}-aside-{mark}"))


def _holds(folder: Path) -> bool:
    return exists(folder) and any(folder.iterdir())


def _digest(place: str, claim: str) -> str:
    return hashlib.sha256(f"{place}/{claim}".encode()).hexdigest()[:16]


def _own_folder() -> Path:
    """Return where spool folders lie, made; it keeps itself out of version control."""
    try:
        _HOME.mkdir(parents=True, exist_ok=True)
        ignore = _HOME.parent / ".gitignore"
        if not exists(ignore):
            ignore.write_bytes(b"# Written by closecall.\n*\n")
    except OSError as error:
        raise StorageError(
            f"{_HOME} cannot be made here ({error.strerror or error}), and what goes to a URL is "
            "first written there; change to a folder that can be written"
        ) from error
    return _HOME.absolute()


def _locked(home: Path, place: str) -> int:
    try:
        home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StorageError(f"{home}: cannot be used: {error.strerror or error}") from error
    try:
        locking.lock(descriptor)
    except (locking.BusyError, OSError):
        os.close(descriptor)
        raise StorageError(
            f"{place}: another process of this machine is writing it; wait until it is done"
        ) from None
    return descriptor


def _read(note: Path) -> Claim | None:
    try:
        return msgspec.json.decode(note.read_bytes(), type=Claim)
    except (OSError, msgspec.DecodeError):
        return None
