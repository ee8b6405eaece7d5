"""What went wrong on object storage, told without a word of the service's own.

The services' messages hold addresses, signed queries and headers. So none is ever passed on, nor
is the exception itself: only what kind of failure it was, and its code where that is plainly one.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from closecall.storage.places import AZURE, GOOGLE, S3

_CODE = re.compile(r"(?:[A-Z][a-z]{1,20}){2,8}")
_CREDENTIALS = frozenset(
    {
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
        "ProfileNotFound",
        "ClientAuthenticationError",
        "CredentialUnavailableError",
        "DefaultCredentialsError",
        "RefreshError",
    }
)
_FINAL = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ImportError,
)
_PASSING = frozenset({408, 409, 429})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_REFUSED = frozenset({401, 403})
_FAILED, _SERVER = 400, 500
_ABSENT, _CHANGED = 404, 412
_SEEN = 10
"""Links of a chain of exceptions that are looked at."""

HINTS = {
    S3: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    **dict.fromkeys(
        AZURE,
        "Set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME and "
        "AZURE_STORAGE_ACCOUNT_KEY",
    ),
    **dict.fromkeys(
        GOOGLE,
        "Set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login",
    ),
}


class Fault(NamedTuple):
    """One failure: a reason in our words, and what it means for what was tried."""

    reason: str
    passing: bool = False
    absent: bool = False
    exists: bool = False
    credentials: bool = False


def fault_of(error: Exception) -> Fault:
    """Return what an exception of fsspec or of a service comes to."""
    chain = list(_chain(error))
    names = {type(one).__name__ for one in chain}
    status = next((found for one in chain if (found := _status(one))), 0)
    code = next((word for one in chain if (word := _code(one))), "")
    told = f" ({code})" if code else ""
    answer = _answer(chain, names, status, code, told)
    if answer is not None:
        return answer
    what = f"the server said {status}{told}" if status else f"{type(error).__name__}{told}"
    final = isinstance(error, _FINAL) or (_FAILED <= status < _SERVER and status not in _PASSING)
    return Fault(what, passing=not final)


def _answer(
    chain: list[BaseException], names: set[str], status: int, code: str, told: str
) -> Fault | None:
    """Return a failure whose meaning is known; None for any other."""

    def is_one(*kinds: type[BaseException]) -> bool:
        return any(isinstance(one, kinds) for one in chain)

    found: Fault | None = None
    if names & _CREDENTIALS:
        found = Fault(f"no credentials were found, or they were refused{told}", credentials=True)
    elif is_one(FileExistsError):
        found = Fault("there is such an object already", exists=True)
    elif status == _CHANGED:
        found = Fault(f"the object is not the one it was{told}", exists=True)
    elif is_one(FileNotFoundError) or status == _ABSENT:
        what = "bucket" if code in {"NoSuchBucket", "ContainerNotFound"} else "object"
        found = Fault(f"there is no such {what}", absent=True)
    elif is_one(PermissionError) or status in _REFUSED:
        found = Fault(f"access was refused{told}", credentials=True)
    elif any(isinstance(one, OSError) and one.errno in _FULL for one in chain):
        found = Fault("no room is left on this machine")
    return found


def hint(fault: Fault, scheme: str) -> str:
    """Return what to do about it, as a sentence of its own; empty where there is nothing."""
    if fault.credentials:
        return f". {HINTS.get(scheme, 'Look at the credentials')}"
    return ". Try again" if fault.passing else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those it was made from; what else was going on says nothing."""
    at: BaseException | None = error
    for _ in range(_SEEN):
        if at is None:
            return
        yield at
        at = at.__cause__


def _status(error: BaseException) -> int:
    """Return the status of a reply, 0 where it cannot be told."""
    response: Any = getattr(error, "response", None)
    found: Any = None
    if isinstance(response, dict):
        found = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    names: tuple[str, ...] = ("status_code", "status", "code")
    if type(error).__module__.startswith("aiohttp.http"):
        names = ()  # what it could not parse has a code of its own, of no server's
    for name in names:
        found = found if isinstance(found, int) else getattr(error, name, None)
    return found if isinstance(found, int) and _FAILED <= found <= 599 else 0  # noqa: PLR2004


def _code(error: BaseException) -> str:
    """Return a service's word for what went wrong, such as NoSuchBucket."""
    response: Any = getattr(error, "response", None)
    found: Any = getattr(error, "error_code", None)
    if isinstance(response, dict):
        found = response.get("Error", {}).get("Code")
    text = str(getattr(found, "value", found))
    return text if _CODE.fullmatch(text) else ""
