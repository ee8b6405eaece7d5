"""A cache file in a folder of its own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cache_data import TEXTS, instrument, rows

from closecall.cache import VectorCache


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.sqlite3"


@pytest.fixture
def cache(path):
    with VectorCache(path) as opened:
        yield opened


@pytest.fixture
def filled(path):
    """A closed cache file of 60 vectors under the default instrument."""
    with VectorCache(path) as opened:
        opened.put_many(instrument(), rows(instrument(), TEXTS))
    return path
