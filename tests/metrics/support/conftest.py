"""A pair model made of words, for metrics asked for by name as well."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from word_reader import WordReader


@pytest.fixture
def reader():
    return WordReader()


@pytest.fixture
def named(monkeypatch, reader):
    """The same model behind ``answer_support`` and ``context_support`` as names."""
    monkeypatch.setattr("closecall.metrics.support.base.bundled", lambda: reader)
    return reader
