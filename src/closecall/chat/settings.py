"""From a name or the environment to the settings of one chat model; nothing is guessed or sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from closecall.chat.providers import CHAT, JUDGE, SIDES, for_chat, judge_provider, variables
from closecall.embedders.remote.providers import PROVIDERS, SELECTOR, Provider, provider_named
from closecall.embedders.remote.settings import Settings, read_settings
from closecall.errors import ConfigurationError, UnknownNameError, UsageError

SUBJECT_KEY = "CLOSECALL_SUBJECT_API_KEY"
"""The variable with the key for an endpoint that is named on the command line."""

_COMPATIBLE = "openai-compatible"
_ENDPOINT, _MODEL = "--endpoint", "--model"


def chat_settings(
    spec: str | None = None,
    *,
    judge: bool = False,
    environ: Mapping[str, str] = os.environ,
    on_notice: Callable[[str], None] | None = None,
) -> Settings:
    """Return the settings of the chat model a name stands for.

    Parameters
    ----------
    spec
        ``PROVIDER:MODEL``, ``PROVIDER`` for the model the environment or a default says,
        ``PROVIDER#2`` or ``#3`` for the second or third model of the environment
        (``OPENAI_MODEL_2``, ...). None: the provider that ``AI_INFERENCE_PROVIDER`` selects.
    judge
        It judges answers: without ``spec``, the three variables of a judge on Azure count before
        the selector, where all three are set.
    environ
        The variables.
    on_notice
        Called with what a person should know and that is no error.

    Raises
    ------
    ConfigurationError
        Nothing selects a provider, or variables are missing or wrong.
    UnknownNameError
        No provider of that name.
    UsageError
        The name is empty.
    """
    if spec is not None:
        return _named(spec.strip(), environ)
    if judge:
        missing = [name for name in JUDGE if not environ.get(name, "").strip()]
        if not missing:
            azure = judge_provider(_provider("azure"))
            return read_settings(azure, "", environ, asked_by="a judge is set", use=CHAT)
        if len(missing) < len(JUDGE) and on_notice is not None:
            on_notice(
                f"the judge of AZURE_OPENAI_JUDGE_... is not used, as {' and '.join(missing)} "
                f"{'is' if len(missing) == 1 else 'are'} not set; {SELECTOR} selects the judge"
            )
    return read_settings(for_chat(_selected(environ)), "", environ, use=CHAT)


def endpoint_settings(
    url: str,
    model: str,
    *,
    key_env: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Return the settings of a chat model behind an address that a person typed.

    Parameters
    ----------
    url, model
        The address up to ``/v1``, https or on this machine, and the model to ask for.
    key_env
        The variable with the key. None: ``CLOSECALL_SUBJECT_API_KEY``, else
        ``OPENAI_COMPATIBLE_API_KEY``, the latter only if ``OPENAI_COMPATIBLE_ENDPOINT`` does not
        name another server: a key goes to the server it is for. Without a key none is needed.
    environ
        The variables.

    Raises
    ------
    ConfigurationError
        The address or the model is none, or ``key_env`` is not set.
    """
    compatible = _provider(_COMPATIBLE)
    name = key_env or SUBJECT_KEY
    key = environ.get(name, "").strip()
    if key_env and not key:
        raise ConfigurationError(f"{key_env}, which is to hold the key of --endpoint, is not set")
    if not key and _same_server(url, environ.get(compatible.endpoint, "")):
        name, key = compatible.key, environ.get(compatible.key, "").strip()
    # The words of errors name what was typed instead of a variable.
    typed = compatible._replace(endpoint=_ENDPOINT, key=name if key else SUBJECT_KEY, model=_MODEL)
    given = {_ENDPOINT: url, _MODEL: model} | ({name: key} if key else {})
    return read_settings(typed, "", given, asked_by="an endpoint is to be asked", use=CHAT)


def _named(spec: str, environ: Mapping[str, str]) -> Settings:
    if not spec:
        raise UsageError("the chat model's name is empty; try openai:gpt-4o-mini")
    kind, colon, model = spec.partition(":")
    kind, hash_, number = kind.partition("#")
    found = provider_named(kind)
    if found is None:
        tags = ", ".join(sorted(SIDES))
        raise UnknownNameError(
            f"{kind!r:.60} is no provider of chat models; name one as PROVIDER:MODEL. Providers: "
            f"{tags}"
        )
    which = _number(found, number, model) if hash_ else 1
    provider = for_chat(found, which)
    model = model.strip()
    if not colon and which > 1 and not environ.get(provider.model, "").strip():
        model = SIDES[found.tag].numbered[which - 2]
    asked_by = f"a chat model of {found.tag} was asked for"
    return read_settings(provider, model, environ, asked_by=asked_by, use=CHAT)


def _number(provider: Provider, text: str, model: str) -> int:
    """Return which of a provider's models is meant; a number beside a name says nothing."""
    most = 1 + len(SIDES[provider.tag].numbered)
    allowed = [str(n) for n in range(1, most + 1)]
    if text not in allowed or model:
        raise UsageError(
            f"{provider.tag}# takes a number ({', '.join(allowed)}) and no name of a model, as in "
            f"{provider.tag}#{most}"
        )
    return int(text)


def _selected(environ: Mapping[str, str]) -> Provider:
    name = environ.get(SELECTOR, "").strip()
    found = provider_named(name) if name else None
    if found is not None:
        return found
    why = "names none" if name else "is not set"
    each = "\n".join(
        f"  {one.tag}: {variables(one)}" for one in sorted(PROVIDERS, key=lambda one: one.tag)
    )
    raise ConfigurationError(
        f"a judge or a subject needs a provider of chat models, and {SELECTOR} {why}. Name a "
        f"model, as in ollama:NAME, or set {SELECTOR} to a provider and what it needs:\n{each}"
    )


def _provider(tag: str) -> Provider:
    return next(one for one in PROVIDERS if one.tag == tag)


def _same_server(url: str, other: str) -> bool:
    if not other.strip():
        return True
    try:
        one, two = urlsplit(url.strip()), urlsplit(other.strip())
    except ValueError:
        return False
    return (one.scheme, one.netloc.lower()) == (two.scheme, two.netloc.lower())
