"""Files of other evaluators, written as they write them; and the cases that come of them."""

import json

import pytest

from closecall.datasets import open_dataset
from closecall.importing import case_line, open_import


@pytest.fixture
def write(tmp_path):
    """Write a file: text as it is, a list as JSON lines where the name says so, else JSON."""

    def written(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif name.endswith("jsonl"):
            lines = [json.dumps(row, ensure_ascii=False) for row in content]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
        return path

    return written


@pytest.fixture
def taken(tmp_path):
    """Import a file, write it and read it as ``closecall eval`` does: the same cases come back."""

    def over(path, source=None, **options):
        found = open_import(path, source, **options)
        cases = list(found)
        out = tmp_path / "taken.jsonl"
        out.write_text("".join(f"{case_line(case)}\n" for case in cases), encoding="utf-8")
        again = list(open_dataset(out))
        for one, other in zip(cases, again, strict=True):
            for field in ("id", "input", "response", "references", "context", "label", "group"):
                assert getattr(one, field) == getattr(other, field)
            assert one.tags == other.tags
        return found, again

    return over
