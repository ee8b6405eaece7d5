"""Score files of anybody's, and what is wrong with them."""

import os

import pytest

from closecall.errors import DatasetError
from closecall.report.charts.score_file import of_file


@pytest.mark.parametrize("label", ["[1]", '{"a": 1}', "1", "true", '"yes"'])
def test_a_label_of_another_kind_is_told_with_its_line(tmp_path, label):
    path = tmp_path / "scores.jsonl"
    path.write_text(f'{{"label": "accept", "value": 1}}\n{{"label": {label}, "value": 1}}\n')
    with pytest.raises(DatasetError, match=r"scores\.jsonl:2: label: got"):
        of_file(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "scores.csv")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    for name in ("scores.csv", "zero.jsonl"):
        with pytest.raises(DatasetError, match=name):
            of_file(tmp_path / name)


@pytest.mark.parametrize("name", ["x" * 5_000 + ".csv", "a\0b.csv"])
def test_a_name_that_no_file_has_is_refused(tmp_path, name):
    with pytest.raises(DatasetError):
        of_file(tmp_path / name)
