"""Embedders of a provider on this machine; no real waiting."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_provider import FakeProvider

from closecall.embedders.remote.embedder import RemoteEmbedder
from closecall.embedders.remote.providers import provider_named
from closecall.embedders.remote.retry import Clock, Patience
from closecall.embedders.remote.settings import read_settings


class Time:
    """A clock that only moves when somebody waits by it; it notes the waits."""

    def __init__(self):
        self.at = 1000.0
        self.waits = []

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.at += seconds

    @property
    def clock(self):
        return Clock(now=lambda: self.at, wall=lambda: self.at, draw=lambda: 1.0, sleep=self.sleep)


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def serve():
    """Start a provider; it ends with the test."""
    running = []

    def start(style="openai", **options):
        provider = FakeProvider(style, **options)
        provider.__enter__()
        running.append(provider)
        return provider

    yield start
    for provider in running:
        provider.__exit__()


@pytest.fixture
def connect(time):
    """Make an embedder of a running provider; its connections end with the test."""
    made = []

    def make(provider, *, more=None, patience=None, in_flight=1, **options):
        environ = provider.environment() | (more or {})
        settings = read_settings(provider_named(provider.style), environ=environ)
        embedder = RemoteEmbedder(
            settings,
            patience=patience or Patience(),
            clock=time.clock,
            in_flight=in_flight,
            **options,
        )
        made.append(embedder)
        return embedder

    yield make
    for embedder in made:
        embedder.close()
