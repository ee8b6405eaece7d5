"""Files that are there whole or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest

from closecall.atomic import whole_file
from closecall.errors import UsageError

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links as POSIX has them")


def write(path, text="new\n"):
    with whole_file(path) as file:
        file.write(text)


def test_a_text_is_written_as_it_is(tmp_path):
    path = tmp_path / "a.txt"
    write(path, "naïve\r\n\N{GRINNING FACE}\n")
    assert path.read_bytes() == "naïve\r\n\N{GRINNING FACE}\n".encode()
    write(str(path), "")
    assert path.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [path]


def test_missing_folders_are_made(tmp_path):
    write(tmp_path / "one" / "two" / "a.txt")
    assert (tmp_path / "one" / "two" / "a.txt").read_text(encoding="utf-8") == "new\n"


class Stop(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [ValueError, KeyboardInterrupt, Stop], ids=lambda error: error.__name__
)
@pytest.mark.parametrize("before", [None, b"old\n"], ids=["nothing", "something"])
def test_whatever_ends_the_block_leaves_things_as_they_were(tmp_path, error, before):
    path = tmp_path / "a.txt"
    if before is not None:
        path.write_bytes(before)

    def interrupted():
        with whole_file(path) as file:
            file.write("half of it")
            file.flush()
            raise error

    with pytest.raises(error):
        interrupted()
    assert (path.read_bytes() if path.exists() else None) == before
    assert len(list(tmp_path.iterdir())) == (before is not None)


def test_nobody_sees_half_of_it(tmp_path):
    path = tmp_path / "a.txt"
    write(path, "old")
    with whole_file(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"


def test_a_text_that_utf8_cannot_hold_replaces_nothing(tmp_path):
    path = tmp_path / "a.txt"
    write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half a character: \ud83d")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["folder", "file/a.txt", "a\0.txt"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot write") as caught:
        write(tmp_path / place)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write(path, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            if name == "replace":
                patch.setattr(Path, "replace", full)
            with pytest.raises(UsageError, match="No space left on device"):
                write(path)
        assert path.read_text(encoding="utf-8") == "old"
        assert list(tmp_path.iterdir()) == [path]


def test_a_very_long_name_is_no_obstacle(tmp_path):
    path = tmp_path / ("\N{GRINNING FACE}" * 63)
    write(path)
    assert path.read_text(encoding="utf-8") == "new\n"


@posix
def test_a_new_file_has_the_usual_permissions_and_an_old_one_its_own(tmp_path):
    path = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        write(path, "again")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


@posix
def test_a_file_that_may_not_be_written_is_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write(path, "old")
    path.chmod(0o444)
    # Whoever runs the tests may be allowed everything.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="Permission denied"):
        write(path)
    assert path.read_text(encoding="utf-8") == "old"


@posix
def test_a_link_stays_and_what_it_points_at_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    write(tmp_path / "real" / "a.txt", "old")
    link = tmp_path / "link.txt"
    link.symlink_to("real/a.txt")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text(encoding="utf-8") == "new\n"
    dangling = tmp_path / "dangling.txt"
    dangling.symlink_to("real/b.txt")
    write(dangling)
    assert (tmp_path / "real" / "b.txt").exists()


@posix
def test_links_in_a_circle_are_named(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    with pytest.raises(UsageError, match=r"cannot write .*one"):
        write(one)
    assert one.is_symlink()


@posix
def test_a_pipe_and_a_device_are_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(
        target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True
    )
    reader.start()
    write(pipe)
    reader.join(timeout=60)
    assert got == ["new\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write("/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
