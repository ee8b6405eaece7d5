"""Sittings on small files."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from label_helpers import Table


@pytest.fixture
def table(tmp_path):
    made = []

    def call(rows, **options):
        made.append(Table(tmp_path, rows, **options))
        return made[-1]

    yield call
    for one in made:
        one.close()
