"""What a chat model of each provider is called in the environment, as data.

Endpoints, keys and selector are those of the embeddings; only the model has variables of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from closecall.embedders.remote.providers import Provider
from closecall.embedders.remote.settings import Use

CHAT = Use(
    what="chat model",
    doing="chat",
    path="chat/completions",
    named="",
    way_out="",
    instead="ollama:MODEL",
)
"""What a provider is asked for here; see ``Use``."""


class ChatSide(NamedTuple):
    """The variable that names a provider's chat model, and what stands for it where it is not set.

    ``default`` holds on the provider's own endpoint only. ``numbered`` are defaults of the second
    and third model (the variable with ``_2`` and ``_3``), empty where those have none.
    """

    model: str
    default: str = ""
    numbered: tuple[str, ...] = ()


SIDES = {
    "azure": ChatSide("AZURE_OPENAI_DEPLOYMENT", numbered=("gpt-4o-mini", "gpt-4.1")),
    "bitdeer": ChatSide("BITDEER_MODEL", "zai-org/GLM-5.3-Flash", ("", "")),
    "foundry": ChatSide("FOUNDRY_MODEL", numbered=("", "")),
    "ollama": ChatSide("OLLAMA_MODEL"),
    "openai": ChatSide("OPENAI_MODEL", "gpt-4o-mini", ("", "")),
    "openai-compatible": ChatSide("OPENAI_COMPATIBLE_MODEL", numbered=("", "")),
}
"""By the provider's tag."""

JUDGE = (
    "AZURE_OPENAI_JUDGE_ENDPOINT",
    "AZURE_OPENAI_JUDGE_API_KEY",
    "AZURE_OPENAI_JUDGE_DEPLOYMENT",
)
"""Endpoint, key and deployment of a judge on Azure, which count only when all three are set."""


def for_chat(provider: Provider, number: int = 1) -> Provider:
    """Return a provider as a chat model needs it.

    Parameters
    ----------
    provider
        One of the table.
    number
        Which of its models; what ``numbered`` does not cover has no variable.
    """
    side = SIDES[provider.tag]
    name = side.model if number == 1 else f"{side.model}_{number}"
    default = side.default if number == 1 else ""
    return provider._replace(model=name, default_model=default, served="")


def judge_provider(azure: Provider) -> Provider:
    """Return Azure with the variables of a judge instead of the usual ones."""
    endpoint, key, deployment = JUDGE
    return azure._replace(endpoint=endpoint, key=key, model=deployment, served="")


def variables(provider: Provider) -> str:
    """Return what has to be set for a chat model of a provider, for a person to read."""
    side = SIDES[provider.tag]
    needed = [
        *([] if provider.default_endpoint else [provider.endpoint]),
        *([provider.key] if provider.key_needed else []),
        *([] if side.default else [side.model]),
    ]
    may = [side.model] if side.default else []
    return ", ".join(needed) + (f" (and {may[0]}, else {side.default})" if may else "")
