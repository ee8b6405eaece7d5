"""Chat models by name, as the command line and ``load_chat_model`` take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from closecall.chat.settings import chat_settings, endpoint_settings

if TYPE_CHECKING:
    from closecall.chat.remote import RemoteChat

Notice = Callable[[str], None]


def load_chat_model(
    spec: str | None = None,
    *,
    judge: bool = False,
    in_flight: int | None = None,
    on_notice: Notice | None = None,
) -> RemoteChat:
    """Return the chat model a name stands for. Nothing is sent yet.

    Parameters
    ----------
    spec
        ``openai:MODEL``, ``azure:DEPLOYMENT``, ``foundry:MODEL``, ``bitdeer:MODEL``,
        ``openai-compatible:MODEL``, ``ollama:MODEL``; what stands after the colon may be left out
        where the environment (``OPENAI_MODEL``, ...) or a default says it, and ``openai#2`` is
        the one ``OPENAI_MODEL_2`` names. None: the provider ``AI_INFERENCE_PROVIDER`` selects; a
        key in the environment selects nothing.
    judge
        It judges answers, so the three variables ``AZURE_OPENAI_JUDGE_ENDPOINT``, ``_API_KEY``
        and ``_DEPLOYMENT`` count before the selector, if all three are set.
    in_flight
        Most requests at a time; None: what suits the provider.
    on_notice
        Called with each thing worth telling a person that is not an error, from any thread.

    Raises
    ------
    ConfigurationError
        No provider is selected, or its settings are missing or wrong; it never turns into another.
    UnknownNameError
        No provider of that name.
    MissingExtraError
        The client is not installed.
    """
    from closecall.chat.remote import RemoteChat

    settings = chat_settings(spec, judge=judge, on_notice=on_notice)
    return RemoteChat(settings, in_flight=in_flight, on_notice=on_notice)


def endpoint_chat(
    url: str,
    model: str,
    *,
    key_env: str | None = None,
    in_flight: int | None = None,
    on_notice: Notice | None = None,
) -> RemoteChat:
    """Return the chat model behind an address of the OpenAI protocol. Nothing is sent yet.

    Parameters
    ----------
    url, model
        The address up to ``/v1``, and the model to ask for. The address is https, or http on
        this machine.
    key_env
        The variable with the key. None: ``CLOSECALL_SUBJECT_API_KEY``, else
        ``OPENAI_COMPATIBLE_API_KEY`` unless that is set for another server; without either, none
        is sent.
    in_flight, on_notice
        As of ``load_chat_model``.

    Raises
    ------
    ConfigurationError
        The address or the model cannot be used, or ``key_env`` is not set.
    MissingExtraError
        The client is not installed.
    """
    from closecall.chat.remote import RemoteChat

    settings = endpoint_settings(url, model, key_env=key_env)
    return RemoteChat(settings, in_flight=in_flight, on_notice=on_notice)
