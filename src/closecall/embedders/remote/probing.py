"""One short text, to learn what a provider is: the first request of an embedder."""

from __future__ import annotations

import threading
from typing import NamedTuple

from closecall.embedders.base import Vector
from closecall.embedders.remote.asking import Asking, Expected
from closecall.embedders.remote.problems import Kind, Problem
from closecall.embedders.remote.replies import Reply
from closecall.embedders.remote.retry import Waiting
from closecall.embedders.remote.settings import Settings
from closecall.errors import ConfigurationError

TEXT = "Is this text close enough to that one?"
"""What is sent; it says nothing of anybody's data."""


class Probe(NamedTuple):
    """What a provider is, as one request found it; nothing in it is secret.

    ``server_model`` is what the server calls its model, empty where it does not say.
    """

    provider: str
    host: str
    path: str
    model: str
    server_model: str
    dims: int
    latency_s: float
    api_version: str = ""
    deployment: str = ""


class Found(NamedTuple):
    """What the first reply told; ``asked_for`` is the encoding that was not refused."""

    vector: Vector
    model: str
    encoding: str
    asked_for: str
    latency_s: float

    def probe(self, settings: Settings) -> Probe:
        """Return it with what was asked, for a person to read."""
        azure = settings.provider.azure
        return Probe(
            provider=settings.provider.tag,
            host=settings.host,
            path=settings.path,
            model=(settings.served or self.model) if azure else settings.model,
            server_model=self.model,
            dims=self.vector.size,
            latency_s=self.latency_s,
            api_version=settings.api_version,
            deployment=settings.model if azure else "",
        )


def find_out(asking: Asking, waiting: Waiting) -> Found:
    """Send one short text and return what came of it.

    Raises
    ------
    ConfigurationError
        The provider cannot be reached, refuses, or sends what is no embedding; or it serves
        another model, or another width, than the settings say.
    """
    settings = asking.connection.settings
    name = f"{settings.model}@{settings.provider.tag}"
    reason = ""
    for encoding in settings.provider.encodings:
        start = waiting.clock.now()
        got = asking.reply([TEXT], Expected(encoding), threading.Event(), waiting)
        latency = waiting.clock.now() - start
        if isinstance(got, Reply):
            row = got.rows[0]
            if isinstance(row, str):
                raise ConfigurationError(f"{name}: {row}")
            _as_set(settings, got.model, row.size)
            return Found(row, got.model, got.encoding, encoding, latency)
        # The first refusal says more than what follows from another form of the same request.
        reason = reason or got.reason
        if not (isinstance(got, Problem) and got.kind in {Kind.SPLIT, Kind.SETTING}):
            break
        if got.kind is Kind.SETTING and not got.form:
            break
    raise ConfigurationError(f"{name}: {reason}")


def _as_set(settings: Settings, model: str, dims: int) -> None:
    if settings.served and model and model != settings.served:
        raise ConfigurationError(
            f"the deployment {settings.model} serves the model {model!r:.80}, and "
            f"{settings.provider.served} names another; a deployment's name need not be its "
            "model's"
        )
    if settings.dimensions is not None and dims != settings.dimensions:
        raise ConfigurationError(
            f"{settings.model}@{settings.provider.tag}: {settings.dimensions} dimensions were "
            f"asked for and {dims} came; unset AI_EMBEDDING_DIMENSIONS"
        )
