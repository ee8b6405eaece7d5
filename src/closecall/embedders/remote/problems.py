"""What a failed request means: exceptions of the official client, and what servers say.

Nothing of an exception is kept but words, with the key taken out of them.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from closecall.embedders.remote.bounding import PastBoundsError
from closecall.embedders.remote.redaction import redact
from closecall.embedders.remote.retry import asked_wait
from closecall.embedders.remote.settings import EMBEDDINGS, Settings

_SAID = 300
_LOOKED_AT = 4000
_OUT_OF_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_SETTING_PARAMETERS = {"model", "dimensions", "encoding_format", "api-version"}
_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2", "h11", "anyio", "ssl", "socket"}

_REFUSED = {400, 413, 422}
_PASSING = {408, 409, 425, 429}
_NOT_IMPLEMENTED = 501
_BROKEN = 500


class Kind(Enum):
    """What to do about a request that failed."""

    AGAIN = "send it again"
    SPLIT = "a text of it is at fault: send it in parts"
    SETTING = "no request can succeed"
    OVER = "give this request up"


class Problem(NamedTuple):
    """Why a request has no reply; ``wait_s`` is what the server asks to wait, if it does.

    ``limited``: a rate limit, which holds for every request. ``broken``: the server failed over
    the request (500), which one text of it may have caused. ``form``: the form asked for the
    vectors may be what is refused. ``late``: no reply came in time. ``status``, ``param`` and
    ``code`` are the server's own, where it answered and says them.
    """

    kind: Kind
    reason: str
    wait_s: float | None = None
    limited: bool = False
    broken: bool = False
    form: bool = False
    late: bool = False
    status: int | None = None
    param: str = ""
    code: str = ""


def problem_of(error: Exception, settings: Settings, wall: float) -> Problem:
    """Return what an exception of the client means.

    Parameters
    ----------
    error
        Whatever was raised while a request was sent or its reply read.
    settings
        Of the provider.
    wall
        Seconds since 1970, to read by which date to wait until.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        said = _Said.of(error.body, settings)
        found = _refusal(error.status_code, said, settings) or _failure(
            error.status_code, said, headers, wall
        )
        return found._replace(status=error.status_code, param=said.param, code=said.code)
    chain = _chain(error)
    past = next((one for one in chain if isinstance(one, PastBoundsError)), None)
    if past is not None:
        return Problem(Kind.OVER, cleaned(str(past), settings), late=past.late)
    if any(isinstance(one, ssl.SSLCertVerificationError) for one in chain):
        return Problem(
            Kind.SETTING,
            f"the certificate of {settings.host} is not trusted; where a proxy inspects TLS, name "
            "its certificates with SSL_CERT_FILE",
        )
    if any("timeout" in type(one).__name__.lower() for one in chain):
        return Problem(Kind.AGAIN, f"{settings.host} did not answer in time", late=True)
    why = cleaned(f"{type(chain[-1]).__name__}: {chain[-1]}", settings)
    if isinstance(error, openai.APIConnectionError | OSError) or any(
        type(one).__module__.partition(".")[0] in _TRANSPORTS for one in chain
    ):
        local = settings.provider.tag == "ollama" and settings.loopback
        hint = "; is Ollama running? Start it with: ollama serve" if local else ""
        return Problem(Kind.AGAIN, f"no whole reply from {settings.host} ({why}){hint}")
    return Problem(Kind.OVER, why)


def _refusal(status: int, said: _Said, settings: Settings) -> Problem | None:
    """Return what a status means that would be the same for every request; None: another."""
    provider, host = settings.provider, settings.host
    words = said.words(status)
    setting = {
        # Servers repeat the key in what they say of it, so that is left out.
        401: f"HTTP 401: {host} does not accept the key; check {provider.key}",
        402: f"{words}. The account behind {provider.key} is used up",
        403: f"HTTP 403: {host} does not allow this key to use {settings.model}; check "
        f"{provider.key} and what it may do",
        404: f"{words}. {_not_found(settings)}",
    }.get(status)
    if status < 400:  # noqa: PLR2004
        setting = (
            f"HTTP {status}: {host} sends requests on to another address, and texts are not sent "
            f"after them; set {provider.endpoint} to where it leads"
        )
    elif said.code in _OUT_OF_MONEY:
        setting = f"{words}. The account behind {provider.key} is used up"
    elif status in _REFUSED and (
        said.param in _SETTING_PARAMETERS or said.code == "OperationNotSupported"
    ):
        setting = f"{words}. {_wrong_setting(settings)}"
    if setting is None:
        return None
    return Problem(Kind.SETTING, setting, form=said.param == "encoding_format")


def _failure(status: int, said: _Said, headers: Mapping[str, str], wall: float) -> Problem:
    """Return what a status means that is about this request, or this moment."""
    words = said.words(status)
    if status in _REFUSED:
        return Problem(Kind.SPLIT, words)
    if status in _PASSING or (status >= _BROKEN and status != _NOT_IMPLEMENTED):
        return Problem(
            Kind.AGAIN,
            words,
            wait_s=asked_wait(headers, wall),
            limited=status in {429, 503},
            broken=status == _BROKEN,
        )
    return Problem(Kind.SETTING, words)


class _Said(NamedTuple):
    """What the body of an error says, whatever its form."""

    message: str = ""
    code: str = ""
    param: str = ""

    def words(self, status: int) -> str:
        return f"HTTP {status}{f': {self.message}' if self.message else ''}"

    @classmethod
    def of(cls, body: object, settings: Settings) -> _Said:
        if isinstance(body, str):
            try:
                body = json.loads(body)
            except (ValueError, RecursionError):
                # A page of a proxy says nothing that helps.
                return cls("" if "<" in str(body)[:200] else cleaned(str(body), settings))
        if isinstance(body, Mapping):
            inner = body.get("error", body)
            if isinstance(inner, Mapping):
                message = inner.get("message") or inner.get("detail") or ""
                param = inner.get("param") or ""
                if isinstance(message, list):
                    # One entry a wrong field; beside the words it repeats what was sent.
                    entries = [one for one in message if isinstance(one, Mapping)]
                    message = "; ".join(str(one.get("msg", "")) for one in entries)
                    param = param or next((_field(one.get("loc")) for one in entries), "")
                return cls(
                    cleaned(str(message), settings),
                    str(inner.get("code") or ""),
                    str(param),
                )
            return cls(cleaned(str(inner), settings))
        return cls()


def _field(place: object) -> str:
    """Return the field at fault where a server gives the way to it, such as ["body", "seed"]."""
    return str(place[-1]) if isinstance(place, list) and place else ""


def cleaned(text: str, settings: Settings) -> str:
    """Return words fit to be shown: without the key, on one line, not too many."""
    short = " ".join(redact(text[:_LOOKED_AT], settings.key).split())
    short = "".join(c if c.isprintable() else "?" for c in short)
    return short if len(short) <= _SAID else f"{short[:_SAID]}…"


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and what caused it, the first cause last."""
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) and cause not in found:
        found.append(cause)
    return found


def _not_found(settings: Settings) -> str:
    provider = settings.provider
    if provider.azure:
        return (
            f"There is no deployment {settings.model} at {settings.host}, or not for api-version "
            f"{settings.api_version}. {provider.model} is the name you gave the deployment, which "
            "need not be the model's name"
        )
    if provider.tag == "ollama":
        return f"Fetch the model with: ollama pull {settings.model}"
    return (
        f"{settings.host} has no {settings.use.what} {settings.model} at {settings.path}; check "
        f"{provider.model} and {provider.endpoint}"
    )


def _wrong_setting(settings: Settings) -> str:
    provider = settings.provider
    what = "the deployment's model" if provider.azure else "the model"
    if settings.use is not EMBEDDINGS:
        return f"Check {provider.model}: {what} must be a {settings.use.what}"
    return (
        f"Check {provider.model}: {what} must be one for embeddings, and only some can be asked "
        "for a width (AI_EMBEDDING_DIMENSIONS)"
    )
