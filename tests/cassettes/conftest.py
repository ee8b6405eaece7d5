"""A folder for a cassette, not made yet."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "recordings"
