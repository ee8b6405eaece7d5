"""No provider of the machine leaks into these tests."""

import os

import pytest


@pytest.fixture(autouse=True)
def _no_providers(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("FOUNDRY_", "BITDEER_", "OLLAMA_")):
            monkeypatch.delenv(name)
