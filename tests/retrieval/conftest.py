"""A small library of made-up notices, with questions and grades."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from made_collections import NOTICES, QUESTIONS, made


@pytest.fixture
def write_text(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def write_rows(write_text):
    def written(name, *rows):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        return write_text(name, "\n".join(lines) + "\n")

    return written


@pytest.fixture
def shop():
    """The notices as a collection."""
    return made(NOTICES, QUESTIONS)


@pytest.fixture
def many():
    """Sixty questions to as many documents, two in three of them easy by their words."""
    notices, questions, about = {}, {}, {}
    for at in range(60):
        words = f"item{at} shelf{at % 7} colour{at % 5}"
        notices[f"d{at:02}"] = ("", f"{words} is kept there")
        asked = f"where is item{at}" if at % 3 else f"what stands on shelf{at % 7}"
        questions[f"q{at:02}"] = (asked, {f"d{at:02}": 1})
        about[f"q{at:02}"] = {
            "group": f"g{at % 12}",
            "tags": ("easy",) if at % 3 else ("hard", "odd"),
            "metadata": {"kind": "item" if at % 3 else "shelf", "level": at % 2},
        }
    return made(notices, questions, **about)
