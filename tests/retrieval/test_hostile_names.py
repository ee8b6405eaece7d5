"""Names of collections and corpora that no file can have."""

from pathlib import Path

import pytest

from closecall.errors import ClosecallError
from closecall.retrieval.passages import Passages
from closecall.retrieval.reading import open_collection


@pytest.mark.parametrize("name", ["x" * 5_000, "x" * 5_000 + ".jsonl", "a\0b.jsonl", "\udcff.csv"])
@pytest.mark.parametrize("read", [Passages, lambda path: open_collection([path] * 3), lambda path: open_collection([path])])  # fmt: skip
def test_a_name_that_no_file_has_is_refused(tmp_path, name, read):
    with pytest.raises(ClosecallError):
        read(tmp_path / Path(name))
