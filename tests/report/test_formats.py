"""Formats by name and suffix; a report file appears whole or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest

from closecall.errors import UsageError
from closecall.report import csv_report
from closecall.report.formats import FORMATS, SUFFIXES, format_of, save, write


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.json", "json"),
        ("a.JSON", "json"),
        ("a.jsonl", "jsonl"),
        ("a.b.csv", "csv"),
        ("a.md", "markdown"),
        ("a.markdown", "markdown"),
        ("a.xml", "junit"),
        ("a.html", "html"),
        ("a.HTM", "html"),
        ("a.txt", "table"),
    ],
)
def test_a_suffix_stands_for_a_format(name, form):
    assert format_of(Path(name)) == form


@pytest.mark.parametrize("name", ["report", "report.pdf", ".json", "report.json.gz"])
def test_an_unknown_suffix_is_refused_with_those_there_are(name):
    with pytest.raises(UsageError) as caught:
        format_of(Path(name))
    for known in (*SUFFIXES, *FORMATS):
        assert known in str(caught.value)


def test_an_unknown_format_is_refused(run, tmp_path):
    with pytest.raises(UsageError, match="no format 'pdf'; formats: table, json"):
        save(run, "pdf", tmp_path / "r.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_saved_report_is_the_report_in_utf_8_with_plain_line_ends(run, render, tmp_path, form):
    path = tmp_path / "new" / "folder" / "report"
    save(run, form, path)
    assert path.read_bytes() == render(run, form).encode("utf-8")
    assert b"\r\n" not in path.read_bytes()
    assert [p.name for p in path.parent.iterdir()] == ["report"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_renders_hostile_and_empty_runs(hostile, absent, render, form):
    for run in (hostile, absent):
        text = render(run, form)
        assert text.endswith("\n")
        # The page's own script may use the word; what it is about stands before it.
        assert "nan" not in (text.rpartition("<script>")[0] or text).lower().split()


def test_a_report_that_fails_half_way_leaves_the_old_file_and_nothing_else(
    run, tmp_path, monkeypatch
):
    path = tmp_path / "r.csv"
    path.write_text("old", encoding="utf-8")

    def half(run, out):
        out.write("half a report")
        raise RuntimeError("no")

    monkeypatch.setattr(csv_report, "write", half)
    with pytest.raises(RuntimeError):
        save(run, "csv", path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"]


def test_a_full_disk_is_said_in_words_and_leaves_the_old_file(run, tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    path.write_text("old", encoding="utf-8")

    def full(run, out):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(csv_report, "write", full)
    with pytest.raises(UsageError, match=r"cannot write .*r\.csv: No space left"):
        save(run, "csv", path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"]


def test_a_place_that_cannot_be_is_said_in_words(run, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot write"):
        save(run, "json", tmp_path / "file" / "r.json")


@pytest.mark.skipif(os.name != "posix", reason="permission bits are a POSIX matter")
def test_a_report_has_the_permissions_of_any_new_file(run, tmp_path):
    save(run, "json", tmp_path / "r.json")
    (tmp_path / "plain").touch()
    mode = stat.S_IMODE((tmp_path / "r.json").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_a_pipe_or_device_is_written_to_and_never_replaced(run, render, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    save(run, "csv", pipe)
    reader.join(60)
    assert read == [render(run, "csv").encode()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_stays_a_link(run, render, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "r.csv"
    link.symlink_to(tmp_path / "real" / "r.csv")
    save(run, "csv", link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "r.csv").read_bytes() == render(run, "csv").encode()


def test_the_longest_file_name_can_be_saved(run, tmp_path):
    path = tmp_path / ("r" * 250 + ".csv")
    save(run, "csv", path)
    assert path.stat().st_size > 0


def test_write_refuses_an_unknown_format(run, tmp_path):
    with pytest.raises(UsageError), (tmp_path / "x").open("w", encoding="utf-8") as out:
        write(run, "pdf", out)
