"""Places by URL: which there are, and what none may hold."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from closecall.errors import ConfigurationError, UsageError
from closecall.offline import VARIABLE, offline
from closecall.there import exists

S3 = "s3"
AZURE = ("az", "abfs", "abfss")
GOOGLE = ("gs", "gcs")
MEMORY = "memory"
"""fsspec's own, in the memory of this process; for tests."""
SCHEMES = (S3, *AZURE, *GOOGLE, MEMORY)

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_MANGLED = re.compile(rf"(?:{'|'.join(SCHEMES)}):/(?!/)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"\A[^:]*:\d{1,5}\Z")
_LISTED = "s3://, az://, abfs://, abfss://, gs:// and gcs://"


class Location(NamedTuple):
    """A URL that was looked at: its scheme, and itself without a slash at the end."""

    scheme: str
    url: str

    @property
    def name(self) -> str:
        """The last part of it, such as a file's name."""
        return self.url.rpartition("/")[2]


def is_url(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is on object storage; if not, it is a path of this machine.

    Raises
    ------
    UsageError
        It is a URL of another kind, or one that a ``Path`` has taken a slash from.
    """
    text = os.fspath(place)
    found = _URL.match(text)
    if found is None:
        if _MANGLED.match(text) and not exists(Path(text)):
            raise UsageError(
                f"{text}: a URL has two slashes after its scheme, and a Path keeps one; give it "
                "as text"
            )
        return False
    if found[1].lower() in SCHEMES:
        return True
    raise UsageError(
        f"{_shown(text)}: {found[1].lower()}:// is none of {_LISTED}. A file of this machine is "
        "given by its path"
    )


def located(place: str | os.PathLike[str]) -> Location:
    """Return a URL, sound and free of secrets.

    Raises
    ------
    UsageError
        It holds a user, a password, a query or a signature, or names no bucket.
    ConfigurationError
        The network is forbidden.
    """
    text = os.fspath(place)
    found = _URL.match(text)
    if found is None or not is_url(place):
        raise UsageError(f"{_shown(text)}: is no URL of object storage: {_LISTED}")
    scheme, rest = found[1].lower(), found[2].rstrip("/")
    shown = _shown(text)
    if "?" in rest or "#" in rest:
        raise UsageError(
            f"{shown}: a URL may not hold a query or a signature. Leave out what follows the ? or "
            "#; credentials come from the environment"
        )
    host, _, _ = rest.partition("/")
    user, at, _ = host.rpartition("@")
    # In Azure's own spelling, CONTAINER@ACCOUNT.dfs.core.windows.net, no secret stands there.
    if at and (scheme not in AZURE or ":" in user or "@" in user):
        raise UsageError(
            f"{shown}: a URL may hold no user or key. Leave out what stands before the @; "
            "credentials come from the environment"
        )
    if scheme != MEMORY and _may_hold_key(host):
        raise UsageError(
            f"{shown}: no bucket has a colon in its name, and a URL may hold no user or key; "
            "credentials come from the environment"
        )
    if not host:
        raise UsageError(f"{shown}: names no bucket; write {scheme}://BUCKET/NAME")
    parts = rest.split("/")
    if _CONTROL.search(rest) or "::" in rest or any(part in {"", ".", ".."} for part in parts):
        raise UsageError(f"{shown}: is no plain URL: no empty part, no .. and no ::")
    if scheme != MEMORY and offline():
        raise ConfigurationError(
            f"{shown} is on the network, and --offline or {VARIABLE} forbids it. Leave that out, "
            "or give a file of this machine"
        )
    return Location(scheme, f"{scheme}://{rest}")


def _shown(text: str) -> str:
    """Return a URL as it may be shown: what could be a secret is taken out."""
    scheme, mark, rest = text.partition("://")
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    if _may_hold_key(host) and "@" in path:
        host, slash, path = rest.rpartition("@")[2].partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def _may_hold_key(host: str) -> bool:
    """Whether a name has a colon: a key with a slash in it ends there, before its @."""
    return ":" in host and not host.startswith("arn:") and _PORT.search(host) is None
