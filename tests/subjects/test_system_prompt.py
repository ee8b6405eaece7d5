"""A file with a system prompt: a text, and nothing that has no end."""

import os

import pytest

from closecall.errors import DataError
from closecall.subjects.chat import MOST_PROMPT, read_system_prompt


def test_what_is_no_text_of_a_person_is_refused_by_its_name(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "long.txt").write_text("x" * (MOST_PROMPT + 1))
    (tmp_path / "blank.txt").write_text(" \n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(DataError, match=path.name):
            read_system_prompt(path)


def test_a_prompt_of_the_greatest_length_is_read(tmp_path):
    (tmp_path / "a.txt").write_text("x" * MOST_PROMPT + "")
    assert read_system_prompt(tmp_path / "a.txt") == "x" * MOST_PROMPT
