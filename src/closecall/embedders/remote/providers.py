"""The providers: facts of each, as data.

The variables are those of the table in README. A provider differs from its neighbours only in
what stands here.
"""

from __future__ import annotations

from typing import NamedTuple

SELECTOR = "AI_INFERENCE_PROVIDER"
"""The variable that selects a provider where no embedder is named."""

LOCAL = "local"
"""What the selector says to stay on this machine."""

API_VERSION = "2024-10-21"
"""The version of the Azure OpenAI protocol asked for where no other is set."""

NO_KEY = "no-key-needed"
"""What is sent as the key to a host that wants none; the protocol has no request without."""

BASE64, FLOAT = "base64", "float"


class Provider(NamedTuple):
    """What one provider needs, and how much of it may be asked at once.

    ``endpoint``, ``key``, ``model`` and ``version`` are names of variables. A default stands for
    a variable that is not set; a ``default_model`` holds on the provider's own endpoint only.
    ``max_texts`` and ``max_tokens`` bound one request, ``in_flight`` the requests side by side.
    ``encodings`` are tried in order. ``refuses_long``: a text longer than the model's window is
    an error there; other servers may cut it without a word. ``served`` names the variable with
    the model a deployment is to serve.
    """

    tag: str
    endpoint: str
    key: str
    model: str
    default_endpoint: str = ""
    default_model: str = ""
    key_needed: bool = True
    spellings: tuple[str, ...] = ()
    azure: bool = False
    version: str = ""
    served: str = ""
    max_texts: int = 32
    max_tokens: int = 32_000
    in_flight: int = 4
    encodings: tuple[str, ...] = (BASE64, FLOAT)
    refuses_long: bool = False


PROVIDERS = (
    Provider(
        tag="azure",
        endpoint="AZURE_OPENAI_ENDPOINT",
        key="AZURE_OPENAI_API_KEY",
        model="AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
        spellings=("azure-openai", "azureopenai"),
        azure=True,
        version="AZURE_OPENAI_API_VERSION",
        served="AZURE_OPENAI_EMBEDDING_MODEL",
        max_texts=2048,
        max_tokens=300_000,
        refuses_long=True,
    ),
    Provider(
        tag="bitdeer",
        endpoint="BITDEER_ENDPOINT",
        key="BITDEER_API_KEY",
        model="BITDEER_EMBEDDING_MODEL",
        default_endpoint="https://api-inference.bitdeer.ai/v1",
        default_model="BAAI/bge-m3",
    ),
    Provider(
        tag="openai",
        endpoint="OPENAI_BASE_URL",
        key="OPENAI_API_KEY",
        model="OPENAI_EMBEDDING_MODEL",
        default_endpoint="https://api.openai.com/v1",
        default_model="text-embedding-3-small",
        max_texts=2048,
        max_tokens=300_000,
        refuses_long=True,
    ),
    Provider(
        tag="foundry",
        endpoint="FOUNDRY_ENDPOINT",
        key="FOUNDRY_API_KEY",
        model="FOUNDRY_EMBEDDING_MODEL",
        spellings=("azure-foundry", "azure-ai-foundry"),
        azure=True,
        version="FOUNDRY_API_VERSION",
        max_texts=96,
        max_tokens=300_000,
    ),
    Provider(
        tag="openai-compatible",
        endpoint="OPENAI_COMPATIBLE_ENDPOINT",
        key="OPENAI_COMPATIBLE_API_KEY",
        model="OPENAI_COMPATIBLE_EMBEDDING_MODEL",
        key_needed=False,
        spellings=("openai_compatible", "compatible", "openai-compat"),
    ),
    Provider(
        tag="ollama",
        endpoint="OLLAMA_HOST",
        key="OLLAMA_API_KEY",
        model="OLLAMA_EMBEDDING_MODEL",
        default_endpoint="http://127.0.0.1:11434/v1",
        key_needed=False,
        in_flight=2,
    ),
)

MAX_TOKENS = {
    ("azure", "text-embedding-3-large"): 8191,
    ("azure", "text-embedding-3-small"): 8191,
    ("azure", "text-embedding-ada-002"): 8191,
    ("bitdeer", "BAAI/bge-m3"): 8192,
    ("openai", "text-embedding-3-large"): 8191,
    ("openai", "text-embedding-3-small"): 8191,
    ("openai", "text-embedding-ada-002"): 8191,
}
"""The window of a model as its provider publishes it; of any other it is not known."""


def provider_named(name: str) -> Provider | None:
    """Return the provider of this tag or tolerated spelling; None where there is none."""
    wanted = name.strip().lower()
    return next(
        (one for one in PROVIDERS if wanted == one.tag or wanted in one.spellings),
        None,
    )


def tags() -> list[str]:
    """Return the tags of all providers, sorted."""
    return sorted(one.tag for one in PROVIDERS)
