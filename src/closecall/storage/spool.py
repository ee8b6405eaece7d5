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
from collections.abc import Iterator
from contextlib import contextmanager
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
_LOCK, _NOTE, _WORK, _COMING = "lock", "claim.json", "work", "coming"

_MOST = 4096
"""Bytes of a claim; what is larger is none."""


class TakenOverError(StorageError):
    """The claim is another's by now, so nothing more is written there."""


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
        self._token = ""
        self._lock = _locked(self._home, self.store.place)
        try:
            with _used(self._home):
                self.left_over = self._claimed(take_over=take_over)
                self.folder.mkdir(parents=True, exist_ok=True)
        except BaseException:
            if not exists(self._home / _NOTE) and not _holds(self.folder):
                shutil.rmtree(self._home, ignore_errors=True)
            self.leave()
            raise

    def release(self) -> None:
        """Give the claim back and remove the folder; all of it is at the URL.

        A claim that another has taken over stays.
        """
        theirs = self._held()
        if theirs is not None and theirs.token == self._token:
            self.store.remove(self._name)
        shutil.rmtree(self._home, ignore_errors=True)
        self.leave()

    def leave(self) -> None:
        """Let go, and keep claim and folder for the process that goes on. Twice does no harm."""
        if self._lock >= 0:
            locking.unlock(self._lock)
            os.close(self._lock)
            self._lock = -1

    def fetch(self, name: str, most: int) -> None:
        """Fetch an object into the folder: whole or not at all, also where this is killed.

        One of more than ``most`` bytes is refused.
        """
        coming, path = self._home / _COMING, self.folder / name
        fetch(self.store, name, coming, most)
        with _used(self._home):
            path.parent.mkdir(parents=True, exist_ok=True)
            coming.replace(path)

    def require_held(self) -> None:
        """Refuse to go on where another took the claim over, or took it away.

        Raises
        ------
        TakenOverError
            Who has it, and where the work of this process lies.
        """
        theirs = self._held()
        if theirs is None or theirs.token != self._token:
            raise TakenOverError(
                f"{self.store.place}: was taken over meanwhile by "
                f"{theirs or 'another process, which has left it'}, so nothing of this process "
                f"was written there. Its own work lies in {self.folder}; it is put aside, and not "
                "deleted, when this machine writes there again"
            )

    def push(self, name: str) -> None:
        """Put a file of the folder to the URL."""
        self.store.write(name, self.folder / name)

    def _claimed(self, *, take_over: bool) -> bool:
        """Hold the claim; return whether work of our own was left here under it."""
        note = self._home / _NOTE
        ours, theirs = _read(note), self._held()
        if ours is not None and theirs is not None and ours.token == theirs.token:
            self._token = ours.token
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
        self._token = claim.token
        return False

    def _busy(self, who: Claim | None) -> StorageError:
        return StorageError(
            f"{self.store.place}: is being written by {who or 'another process'}. Wait until it "
            f"is done; if it has died, go on from what it pushed with: {TAKE_OVER}"
        )

    def _held(self) -> Claim | None:
        """Return the claim that lies at the URL; who holds one that is none cannot be told."""
        if not self.store.exists(self._name):
            return None
        try:
            with self.store.open(self._name) as file:
                data = file.read(_MOST + 1)
        except StorageError:
            if self.store.exists(self._name):
                raise
            return None  # given back in this moment
        try:
            if len(data) <= _MOST:
                return msgspec.json.decode(data, type=Claim)
        except (msgspec.DecodeError, RecursionError):
            pass
        return Claim("a host that cannot be told", 0, "a time that cannot be told", "")

    def _put_aside(self, ours: Claim | None) -> None:
        """Move work away that another machine has gone on without; it is never deleted."""
        if _holds(self.folder):
            mark = secrets.token_hex(4) if ours is None else ours.token[:8]
            self.folder.rename(self._home.with_name(f"{self._home.name}-aside-{mark}"))


@contextmanager
def _used(home: Path) -> Iterator[None]:
    """Say which folder it is that cannot be used."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{home}: cannot be used: {error.strerror or error}") from error


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
    """Return the open file of the lock; one that its last holder took away does not count."""
    path = home / _LOCK
    while True:
        with _used(home):
            home.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            locking.lock(descriptor)
        except locking.BusyError:
            os.close(descriptor)
            raise StorageError(
                f"{place}: another process of this machine is writing it; wait until it is done"
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise StorageError(
                f"{path}: cannot be locked: {error.strerror or error}; change to a folder on a "
                "file system that can lock"
            ) from error
        try:
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _read(note: Path) -> Claim | None:
    try:
        return msgspec.json.decode(note.read_bytes(), type=Claim)
    except (OSError, msgspec.DecodeError):
        return None
