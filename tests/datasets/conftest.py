"""A file of any content, and what became of it."""

from pathlib import Path

import pytest

from closecall.datasets import open_dataset


@pytest.fixture
def write(tmp_path):
    def _write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return _write


@pytest.fixture
def read(write):
    """Write a file and return its cases."""

    def _read(name, content, **options):
        dataset = open_dataset(write(name, content), **options)
        scan = dataset.scan()
        cases = list(dataset)
        assert len(cases) == scan.cases
        return cases

    return _read


@pytest.fixture
def eval_files(shared_data) -> Path:
    return shared_data / "eval_files"
