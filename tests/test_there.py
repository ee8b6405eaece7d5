"""What lies at a path: absent and not to be told are two things, on every Python."""

import errno
import os

import pytest

from closecall.there import exists, is_dir, is_file, resolved

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and names are other elsewhere")


def kinds(path):
    return is_file(path), is_dir(path), exists(path)


def test_files_folders_and_links_to_them(tmp_path):
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_bytes(b"")
    folder.mkdir()
    for name, place in (("a", file), ("b", folder), ("c", "nowhere")):
        (tmp_path / name).symlink_to(place)
    assert kinds(file) == kinds(str(tmp_path / "a")) == (True, False, True)
    assert kinds(folder) == kinds(tmp_path / "b") == (False, True, True)
    os.mkfifo(tmp_path / "pipe")
    assert kinds(tmp_path / "pipe") == (False, False, True)


def test_what_is_absent(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "ring").symlink_to("ring")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("none", "file/below", "ring", "ring/below", "dangling", "a\0b"):
        assert kinds(tmp_path / name) == (False, False, False), name


@pytest.mark.parametrize("told", [is_file, is_dir, exists])
def test_what_cannot_be_told_is_an_error(told, tmp_path):
    with pytest.raises(OSError, match=os.strerror(errno.ENAMETOOLONG)):
        told(tmp_path / ("a" * 300))


def test_a_path_is_resolved_though_nothing_is_there(tmp_path):
    (tmp_path / "link").symlink_to("folder/file")
    whole = tmp_path.resolve() / "folder" / "file"
    assert resolved(tmp_path / "link") == whole
    whole.parent.mkdir()
    whole.write_bytes(b"")
    assert resolved(str(tmp_path / "link")) == whole


@pytest.mark.parametrize("name", ["one", "two", "one/below", "to_one"])
def test_links_in_a_circle_are_an_error(name, tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "to_one").symlink_to("one")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        resolved(tmp_path / name)
