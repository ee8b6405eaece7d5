"""One file at a time from the hub to a folder, gone on with where it broke off."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from closecall.errors import ModelError, ModelIntegrityError
from closecall.models.bodies import Body, announced_bytes
from closecall.models.hub import Hub, RemoteFile, Repository
from closecall.models.patience import Patience, patiently
from closecall.models.web import Passing
from closecall.there import exists, is_file

_CHUNK = 1 << 18
_PART = ".part"


class Fetcher:
    """Fetches files of one repository into one folder.

    Bytes go to ``FILE.part`` as they come; the file gets its name once its hash is right. A part
    that is there is gone on with. Nothing else may write to the folder.

    Parameters
    ----------
    hub, repository
        Where the files come from.
    folder
        Where they go.
    patience
        How often something that fails in passing is tried again.
    came
        Called with the number of bytes that a file now has more (or less) than before.
    """

    def __init__(
        self,
        hub: Hub,
        repository: Repository,
        folder: Path,
        *,
        patience: Patience,
        came: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._hub = hub
        self._repository = repository
        self._folder = folder
        self._patience = patience
        self._came = came
        self.fetched = 0
        """Bytes that came over the network."""

    def fetch(self, file: RemoteFile) -> Path:
        """Return the path of the whole file, whose hash is right.

        Raises
        ------
        ModelIntegrityError
            If its bytes are not those the hub gives the hash of, even fetched afresh.
        ModelError
            If it cannot be had or written.
        """
        target = self._folder / file.path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(target.name + _PART)
            for path in (target, part):
                if path.is_symlink():  # what it leads to is not ours to write
                    path.unlink()
            if is_file(target) and is_whole(target, file):
                self._came(file.size)
                return target
            resumed = _size(part) > 0
            self._come(part, file)
            right = is_whole(part, file)
            if not right and resumed:  # what was there may have been damaged
                part.unlink()
                self._came(-file.size)
                self._come(part, file)
                right = is_whole(part, file)
            if not right:
                part.unlink()
                raise ModelIntegrityError(
                    f"{self._repository.repo}/{file.path}: what came is not what the hub says it "
                    f"is: expected {_spelled(file)}. Something between the hub and this machine "
                    "changed it; try another network, or another HF_ENDPOINT"
                )
            part.replace(target)
        except OSError as error:
            raise ModelError(
                f"{target}: cannot be written: {error.strerror or error}. What came so far is kept"
            ) from error
        return target

    def _come(self, part: Path, file: RemoteFile) -> None:
        """Fetch until the part has its full length, trying again as often as is sensible."""
        if _size(part) > file.size:
            part.unlink()
        self._came(_size(part))
        if not exists(part):
            part.touch()
        while _size(part) < file.size:
            patiently(lambda: self._read_on(part, file), self._patience, lambda: _size(part))

    def _read_on(self, part: Path, file: RemoteFile) -> None:
        """Fetch the rest of the file in one request."""
        have = _size(part)
        repo, commit = self._repository.repo, self._repository.commit
        reply, start = self._hub.open_file(repo, commit, file.path, have)
        with closing(reply), part.open("r+b") as stream:
            body = Body(reply, file.path, file.size - start)
            if body.packed and start:  # of the packed bytes, or of the others: nobody says
                stream.truncate(0)
                self._came(-have)
                raise Passing(f"{file.path}: the rest of it came packed")
            if not body.packed:
                _require_length(reply, file, start)
            stream.truncate(start)
            self._came(start - have)
            stream.seek(start)
            left = file.size - start
            while left:
                try:
                    data = body.read(min(_CHUNK, left))
                except (OSError, http.client.HTTPException) as error:
                    reason = str(error) or type(error).__name__
                    raise Passing(f"{file.path}: broke off: {reason}") from None
                if data is None:
                    raise Passing(f"{file.path}: broke off with {left:,} bytes to come")
                if len(data) > left:  # parts of odd sizes, and no length of the whole
                    raise ModelError(f"{file.path}: more comes than the hub says it has")
                stream.write(data)
                stream.flush()  # whoever is killed while no more comes keeps it
                left -= len(data)
                self.fetched += len(data)
                self._came(len(data))


def is_whole(path: Path, file: RemoteFile) -> bool:
    """Return whether a file's bytes are those the hub gives the hash of."""
    if _size(path) != file.size:
        return False
    # git's hash of a file is over its length and its bytes.
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(usedforsecurity=False)
    if not file.sha256:
        digest.update(f"blob {file.size}\0".encode())
    with path.open("rb") as stream:
        while data := stream.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest() == (file.sha256 or file.blob)


def bytes_here(folder: Path, file: RemoteFile) -> int:
    """Return how many bytes of a file are in the folder already, whole or in part."""
    target = folder / file.path
    return max(_size(target), _size(target.with_name(target.name + _PART)))


def _require_length(reply: http.client.HTTPResponse, file: RemoteFile, start: int) -> None:
    """Refuse a reply that announces another length."""
    announced = announced_bytes(reply)
    if announced is not None and announced != file.size - start:
        raise ModelError(
            f"{file.path}: the hub says {file.size:,} bytes, its storage {announced:,} from "
            f"byte {start:,} on"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _spelled(file: RemoteFile) -> str:
    return f"sha256 {file.sha256}" if file.sha256 else f"git blob {file.blob}"
