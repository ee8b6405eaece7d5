"""A hub of models: what a repository holds at a commit, and the bytes of its files.

Two calls of the Hugging Face hub's interface are used: ``/api/models/REPO/revision/REVISION`` for
the list of files with their hashes, and ``/REPO/resolve/COMMIT/FILE`` for a file. ``HF_ENDPOINT``
names a mirror; ``HF_TOKEN`` is sent to that host and no other.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from closecall.errors import ConfigurationError, ModelError, UsageError
from closecall.models.bodies import Body, announced_bytes
from closecall.models.known import is_repo
from closecall.models.web import TIMEOUT_S, Origin, Passing, Web, is_loopback, origin_of

ENDPOINT = "https://huggingface.co"
ENDPOINT_VARIABLE = "HF_ENDPOINT"
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 - a variable's name

_LISTING_BYTES = 32_000_000
_LISTING_S = 120.0
_CHUNK = 65_536
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_BEYOND = 1 << 63
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TOKEN = re.compile(r"[!-~]{1,500}")
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_OK, _PARTIAL, _RANGE = 200, 206, 416
_UNKNOWN, _REFUSED, _ABSENT = 401, 403, 404


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a repository: path, size in bytes, and its sha256 or git's hash of it."""

    path: str
    size: int
    sha256: str = ""
    blob: str = ""


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository holds at a commit. ``licence`` is the hub's own word for it."""

    repo: str
    commit: str
    files: tuple[RemoteFile, ...]
    licence: str = ""


class Hub:
    """Asks one hub; nothing is asked before the first call.

    Parameters
    ----------
    what
        What it is asked for, as the start of a sentence.
    timeout
        Seconds without a byte after which a connection is given up.
    environ
        Where the endpoint and the token are looked up.

    Raises
    ------
    ConfigurationError
        If a variable holds something that cannot be used.
    """

    def __init__(
        self,
        what: str,
        *,
        timeout: float = TIMEOUT_S,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.endpoint, home = _endpoint(environ.get(ENDPOINT_VARIABLE, ""))
        token = environ.get(TOKEN_VARIABLE, "").strip()
        if token and not _TOKEN.fullmatch(token):
            raise ConfigurationError(f"{TOKEN_VARIABLE}: holds something that is no token")
        self._has_token = bool(token)
        self._web = Web(what, token, home, timeout=timeout, environ=environ)

    def repository(self, repo: str, revision: str = "main") -> Repository:
        """Return what a repository holds at a branch, tag or commit.

        Raises
        ------
        UsageError
            If the revision cannot be one.
        Passing
            If the hub cannot answer now.
        ModelError
            If there is none, it may not be read, or the answer is not a hub's.
        """
        if not is_repo(repo):
            raise UsageError(f"expected ORGANISATION/NAME, got {repo!r}")
        if not _REVISION.fullmatch(revision) or ".." in revision:
            raise UsageError(f"--revision takes a branch, a tag or a commit, got {revision!r}")
        url = f"{self.endpoint}/api/models/{repo}/revision/{quote(revision, safe='')}?blobs=true"
        with closing(self._web.get(url, {"Accept": "application/json"})) as reply:
            if reply.status != _OK:
                raise self._refusal(reply, repo, revision)
            document = self._document(reply)
        found = _read_listing(document, repo)
        if _COMMIT.fullmatch(revision) and found.commit != revision:
            raise ModelError(f"{repo}: asked for commit {revision}, got {found.commit}")
        return found

    def open_file(
        self, repo: str, commit: str, path: str, start: int
    ) -> tuple[http.client.HTTPResponse, int]:
        """Return a file's bytes to be read, and where in the file they begin: ``start`` or 0.

        Raises
        ------
        Passing
            If the hub cannot answer now.
        ModelError
            If there is no such file or it may not be read.
        """
        url = f"{self.endpoint}/{repo}/resolve/{commit}/{quote(path)}"
        reply = self._web.get(url, {"Range": f"bytes={start}-"} if start else {})
        if reply.status == _PARTIAL and start:
            given = reply.headers.get("Content-Range", "")
            if re.match(rf"bytes {start}-", given):
                return reply, start
            reply.close()
            raise Passing(f"{path}: asked for bytes from {start}, got {given[:60]!r}")
        if reply.status == _OK:
            return reply, 0
        with closing(reply):
            if reply.status == _RANGE:
                raise Passing(f"{path}: the hub has no bytes from {start} on")
            raise self._refusal(reply, repo, commit, path)

    def _document(self, reply: http.client.HTTPResponse) -> Any:
        host = urlsplit(self.endpoint).hostname
        body, until = bytearray(), time.monotonic() + _LISTING_S
        coming = Body(reply, f"{host}: its list of files", _LISTING_BYTES)
        try:
            while (part := coming.read(_CHUNK)) is not None:
                body += part
                if len(body) > _LISTING_BYTES or time.monotonic() > until:
                    raise ModelError(f"{host}: its list of files does not end")
        except (OSError, http.client.HTTPException) as error:
            raise Passing(f"{host}: broke off: {error or type(error).__name__}") from None
        announced = announced_bytes(reply)
        if announced is not None and coming.came < announced:
            raise Passing(f"{host}: broke off after {coming.came} of {announced} bytes")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            kind = reply.headers.get("Content-Type", "no type at all")[:60]
            raise ModelError(
                f"{host}: the answer is no list of files but {kind}: a page of a proxy that "
                f"wants a login, or {ENDPOINT_VARIABLE} names no hub"
            ) from None

    def _refusal(
        self, reply: http.client.HTTPResponse, repo: str, revision: str, path: str = ""
    ) -> Exception:
        """Return what a status means, in words that say what to do."""
        said = self._web.hidden(reply.headers.get("X-Error-Message", ""))
        code = reply.headers.get("X-Error-Code", "")
        status = reply.status
        what = f"{repo}/{path}" if path else repo
        words = f": {said}" if said else ""
        if status in _BUSY:
            return Passing(f"{what}: the hub answered {status}{words}", _after(reply))
        page = f"{self.endpoint}/{repo}"
        if code == "GatedRepo" or status == _REFUSED:
            return ModelError(
                f"{what}: the hub refuses it ({status}){words}. Accept its terms at {page} and "
                f"put a token that may read it into {TOKEN_VARIABLE}"
            )
        if code == "RevisionNotFound":
            return ModelError(f"{repo}: has no revision {revision}")
        if status == _UNKNOWN:
            have = "its token is not accepted, or" if self._has_token else "it is private, or"
            return ModelError(
                f"{what}: the hub answered 401: {have} there is no such model{words}. Check the "
                f"name at {page}; a token goes into {TOKEN_VARIABLE}"
            )
        if status == _ABSENT:
            return ModelError(
                f"{what}: the hub has no such model, or no revision {revision}{words}"
            )
        return ModelError(f"{what}: the hub answered {status}{words}")


def _endpoint(given: str) -> tuple[str, Origin]:
    """Return the endpoint's address without a slash at its end, and what a token belongs to."""
    text = given.strip().rstrip("/") or ENDPOINT
    try:
        parts, origin = urlsplit(text), origin_of(text)
    except ValueError:
        raise ConfigurationError(
            f"{ENDPOINT_VARIABLE} must be an address such as {ENDPOINT}"
        ) from None
    if origin.scheme != "https" and not (origin.scheme == "http" and is_loopback(origin.host)):
        raise ConfigurationError(
            f"{ENDPOINT_VARIABLE} must begin with https:// (http:// only on this machine)"
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(
            f"{ENDPOINT_VARIABLE} must hold no password and no query; a token goes into "
            f"{TOKEN_VARIABLE}"
        )
    return text, origin


def _after(reply: http.client.HTTPResponse) -> float | None:
    """Return the seconds a server asks to wait; a date is not read, and so not obeyed."""
    given = reply.headers.get("Retry-After", "").strip()
    return float(given) if given.isascii() and given.isdigit() and len(given) < 7 else None  # noqa: PLR2004


def _read_listing(document: Any, repo: str) -> Repository:
    try:
        files = tuple(_read_file(entry) for entry in document["siblings"])
        commit = _hash(document["sha"], _COMMIT, "sha")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelError(f"{repo}: the hub's list of files cannot be read: {error}") from None
    about = document.get("cardData")
    licence = about.get("license") if isinstance(about, dict) else ""
    return Repository(
        repo=repo,
        commit=commit,
        files=files,
        licence=licence if isinstance(licence, str) else "",
    )


def _read_file(entry: Any) -> RemoteFile:
    path, size = entry["rfilename"], entry.get("size")
    large = entry.get("lfs") or {}
    sha256, blob = large.get("sha256") or "", entry.get("blobId") or ""
    size = large.get("size", size)
    if not isinstance(path, str) or isinstance(size, bool) or not isinstance(size, int | None):
        raise TypeError("siblings")
    if size is not None and size >= _BEYOND:
        raise ValueError("siblings: a file of more bytes than there can be")
    if sha256:
        _hash(sha256, _SHA256, "lfs.sha256")
    if blob:
        _hash(blob, _COMMIT, "blobId")
    # git's hash of a large file is that of a stand-in, and says nothing of its bytes.
    return RemoteFile(
        path=path,
        size=-1 if size is None else size,
        sha256=sha256,
        blob="" if large else blob,
    )


def _hash(value: Any, pattern: re.Pattern[str], field: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(field)
    return value
