"""From the environment to the settings of one provider, or an error that names the variables.

An error names variables and never a value: a value may be a key in the wrong place.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from closecall.embedders.remote.providers import (
    API_VERSION,
    LOCAL,
    NO_KEY,
    SELECTOR,
    Provider,
    provider_named,
    tags,
)
from closecall.embedders.remote.redaction import Secret
from closecall.errors import ConfigurationError

DIMENSIONS = "AI_EMBEDDING_DIMENSIONS"
"""The variable with the width of vector to ask for."""

MAX_TOKENS = "AI_EMBEDDING_MAX_TOKENS"
"""The variable with the model's window in tokens, where it is not known."""

_MOST = 1_000_000
# Of another host behind a provider's variables no more is known than of any.
_UNKNOWN_HOST: dict[str, Any] = {"max_texts": 32, "max_tokens": 32_000, "refuses_long": False}
_OLLAMA_PORT = 11434
_KEY_IN_PATH = re.compile(r"\b(?:sk|pk|rk)-[\w.~-]{16,}")
"""A key that went into the address, as where the line between two variables was lost."""
_SHORTEST_KEY = 16
"""Characters from which on a key is not part of a name by chance; local servers take any word."""
_VERSION = re.compile(r"[A-Za-z0-9._-]{1,40}")


class Use(NamedTuple):
    """What a provider is asked for, as addresses and the words of errors have it.

    ``named`` stands before the name of a model where a person may give one; ``way_out`` ends the
    error where something is missing, and ``instead`` is what needs no network.
    """

    what: str
    doing: str
    path: str
    named: str
    way_out: str
    instead: str


EMBEDDINGS = Use(
    what="embedding model",
    doing="embedding",
    path="embeddings",
    named="--embedder ",
    way_out=", or choose the bundled model with --embedder minilm",
    instead="--embedder minilm",
)


class Settings(NamedTuple):
    """All that is needed to ask one provider; made by ``read_settings``.

    ``endpoint`` has no slash at its end. ``model`` is what a request asks for: on Azure the name
    of a deployment, and ``served`` the model it should hold, empty where anything will do.
    ``max_tokens`` is 0 where nothing was said. ``own``: the endpoint is the provider's own, so
    that what is published of it holds.
    """

    provider: Provider
    endpoint: str
    host: str
    loopback: bool
    own: bool
    key: Secret
    model: str
    api_version: str = ""
    served: str = ""
    dimensions: int | None = None
    max_tokens: int = 0
    organization: str = ""
    project: str = ""
    use: Use = EMBEDDINGS

    @property
    def path(self) -> str:
        """The path requests go to, as a server sees it."""
        base = urlsplit(self.endpoint).path
        if self.provider.azure:
            base += f"/openai/deployments/{quote(self.model, safe='')}"
        return f"{base}/{self.use.path}"


def selected_provider(environ: Mapping[str, str] = os.environ) -> Provider | None:
    """Return the provider ``AI_INFERENCE_PROVIDER`` selects; None: the model on this machine.

    A key in the environment selects nothing.

    Raises
    ------
    ConfigurationError
        The variable names no provider.
    """
    name = _value(environ, SELECTOR)
    if not name or name.lower() == LOCAL:
        return None
    provider = provider_named(name)
    if provider is None:
        raise ConfigurationError(
            f"{SELECTOR} names no provider; allowed: {LOCAL}, {', '.join(tags())}. Set it to one "
            "of these, or choose the bundled model with --embedder minilm"
        )
    return provider


def read_settings(
    provider: Provider,
    model: str = "",
    environ: Mapping[str, str] = os.environ,
    *,
    asked_by: str = "",
    use: Use = EMBEDDINGS,
) -> Settings:
    """Return the settings of a provider; nothing is sent.

    Values are trimmed, and a blank one counts as not set.

    Parameters
    ----------
    provider
        Which one.
    model
        The model, or on Azure the deployment; empty: from the environment, else the default.
    environ
        The variables.
    asked_by
        What chose the provider, for the error; empty: the selector.
    use
        What the provider is to be asked for.

    Raises
    ------
    ConfigurationError
        Variables are missing (all are named at once) or one holds what it must not.
    """
    endpoint = _value(environ, provider.endpoint)
    key = _value(environ, provider.key)
    wanted = model.strip() or _value(environ, provider.model)
    if provider.tag == "ollama" and endpoint:
        endpoint = _ollama_url(endpoint)
    url = (
        _checked_url(provider, endpoint, use) if endpoint else urlsplit(provider.default_endpoint)
    )
    own = not endpoint or _same(url, urlsplit(provider.default_endpoint))
    if not wanted and own:
        wanted = provider.default_model
    missing = [
        name
        for name, there in (
            (provider.endpoint, endpoint or provider.default_endpoint),
            (provider.key, key or not provider.key_needed),
            (provider.model, wanted),
        )
        if not there
    ]
    if missing:
        raise ConfigurationError(_missing(provider, missing, asked_by, use))
    _check_header(provider.key, key)
    own = own or not provider.default_endpoint
    # The client would take these two from the environment by itself, for any host.
    ours = own and provider.tag == "openai"
    served = _value(environ, provider.served) if provider.served else ""
    organization = _value(environ, "OPENAI_ORG_ID") if ours else ""
    project = _value(environ, "OPENAI_PROJECT_ID") if ours else ""
    shown = {
        provider.endpoint: endpoint,
        f"{provider.model}, or the name after {provider.tag}:,": wanted,
        provider.served: served,
        "OPENAI_ORG_ID": organization,
        "OPENAI_PROJECT_ID": project,
    }
    for name, text in shown.items():
        if len(key) >= _SHORTEST_KEY and key in text:
            raise ConfigurationError(
                f"{name} holds the key that {provider.key} holds, and is shown and kept in runs. "
                "Leave the key out of it"
            )
    return Settings(
        provider=provider if own else provider._replace(**_UNKNOWN_HOST),
        endpoint=url.geturl().rstrip("/"),
        host=url.netloc,
        own=own,
        loopback=_is_loopback(url.hostname or ""),
        key=Secret(key or NO_KEY),
        model=_checked_model(provider, wanted),
        api_version=_api_version(provider, environ),
        served=served,
        dimensions=_number(environ, DIMENSIONS) if use is EMBEDDINGS else None,
        max_tokens=(_number(environ, MAX_TOKENS) or 0) if use is EMBEDDINGS else 0,
        organization=organization,
        project=project,
        use=use,
    )


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


def _missing(provider: Provider, missing: list[str], asked_by: str, use: Use) -> str:
    who = asked_by or f"{SELECTOR} selects {provider.tag}"
    names = ", ".join(missing[:-1]) + (" and " if missing[1:] else "") + missing[-1]
    are = "are" if len(missing) > 1 else "is"
    model = ""
    if provider.model in missing:
        what = "deployment" if provider.azure else "model"
        where = ", as the endpoint is not the provider's own" if provider.default_model else ""
        model = f" The {what} can also be named: {use.named}{provider.tag}:NAME{where}."
    return f"{who}, but {names} {are} not set.{model} Set what is missing{use.way_out}"


def _checked_url(provider: Provider, text: str, use: Use) -> SplitResult:
    """Return the endpoint in its parts, or refuse it by the name of its variable."""
    name = provider.endpoint
    try:
        url = urlsplit(text)
        port_is_number = url.port is None or url.port > 0
    except ValueError:
        raise ConfigurationError(
            f"{name} is not an address such as {_example(provider)}"
        ) from None
    if (
        not url.hostname
        or not port_is_number
        or any(c.isspace() or not c.isprintable() for c in text)
    ):
        raise ConfigurationError(f"{name} is not an address such as {_example(provider)}")
    if url.scheme != "https" and not (url.scheme == "http" and _is_loopback(url.hostname)):
        raise ConfigurationError(
            f"{name} must begin with https:// (http:// is for this machine only: localhost, "
            "127.0.0.1, [::1])"
        )
    if "@" in url.netloc:
        raise ConfigurationError(f"{name} must hold no user name or password")
    if "?" in text or "#" in text:
        raise ConfigurationError(
            f"{name} must hold the address only, without what follows '?' or '#'; for example "
            f"{_example(provider)}"
        )
    if _KEY_IN_PATH.search(url.path):
        raise ConfigurationError(
            f"{name} holds what looks like a key, and an address is shown and kept in runs. Put "
            f"the key into {provider.key} and only the address here, as in {_example(provider)}"
        )
    path = url.path.rstrip("/").removesuffix("/openai" if provider.azure else "")
    if path.endswith(("/embeddings", "/chat/completions")) or (
        provider.azure and ("/deployments" in path or path.endswith("/openai/v1"))
    ):
        raise ConfigurationError(
            f"{name} must hold the address before '{'openai' if provider.azure else use.path}'"
            f"; for example {_example(provider)}"
        )
    return url._replace(path=path)


def _example(provider: Provider) -> str:
    if provider.azure:
        return "https://my-resource.openai.azure.com"
    return provider.default_endpoint or "https://models.example.com/v1"


def _same(one: SplitResult, other: SplitResult) -> bool:
    return (one.scheme, one.netloc.lower(), one.path.rstrip("/")) == (
        other.scheme,
        other.netloc,
        other.path.rstrip("/"),
    )


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ollama_url(text: str) -> str:
    """Return the address in ``OLLAMA_HOST`` as Ollama's own tools read it, with ``/v1``.

    A scheme, a port or the host may be left out; an address to listen on everywhere stands for
    this machine.
    """
    scheme, mark, rest = text.partition("://")
    if not mark:
        scheme, rest = "http", text
    place, _, path = rest.partition("/")
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, port = place, ""
    if not port and not mark:
        port = str(_OLLAMA_PORT)
    if host in {"", "0.0.0.0", "[::]"}:  # noqa: S104 - where it listens, not where we do
        host = "127.0.0.1"
    path = path.rstrip("/")
    path = path if path.endswith("v1") else f"{path}/v1".lstrip("/")
    return f"{scheme}://{host}{':' if port else ''}{port}/{path}"


def _checked_model(provider: Provider, model: str) -> str:
    """Refuse a name that cannot be one; it may become part of the address."""
    bad = any(c.isspace() or not c.isprintable() for c in model) or len(model) > 200  # noqa: PLR2004
    if bad or (provider.azure and model in {".", ".."}):
        what = "deployment" if provider.azure else "model"
        raise ConfigurationError(
            f"{provider.model}, or the name after {provider.tag}:, is no name of a {what}"
        )
    return model


def _check_header(name: str, value: str) -> None:
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise ConfigurationError(
            f"{name} holds a character that no key has (a space, a line end or a letter beyond "
            "ASCII); copy the key again"
        )


def _api_version(provider: Provider, environ: Mapping[str, str]) -> str:
    if not provider.azure:
        return ""
    version = _value(environ, provider.version) or API_VERSION
    if not _VERSION.fullmatch(version):
        raise ConfigurationError(f"{provider.version} must be a version such as {API_VERSION}")
    return version


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = _value(environ, name)
    if not text:
        return None
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_MOST))
    if not digits or not 1 <= int(text) <= _MOST:
        raise ConfigurationError(f"{name} must be a whole number from 1 to {_MOST}")
    return int(text)
