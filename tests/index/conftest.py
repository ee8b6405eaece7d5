"""Lets the tests of this folder import its helper modules, and those of runs."""

import sys
from pathlib import Path

import faiss
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads that wait for each other on a busy machine make small searches slow."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)
