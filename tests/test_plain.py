"""Files that are files: nothing else is read under their names, or waited for."""

import os

import pytest

from closecall.plain import open_plain, read_plain

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such things elsewhere")


def test_a_file_and_a_link_to_it_are_read(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"some\r\nbytes")
    (tmp_path / "b").symlink_to(path)
    assert read_plain(path) == read_plain(tmp_path / "b", 11) == b"some\r\nbytes"
    with open_plain(path) as file:
        assert file.read(4) == b"some"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a file but a pipe or a device"):
        read_plain(tmp_path / "pipe")


def test_a_device_without_an_end_is_not_read():
    with pytest.raises(OSError, match="not a file but a pipe or a device"):
        read_plain("/dev/zero")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError):
        read_plain(tmp_path)


def test_a_ring_of_links_and_nothing_at_all(tmp_path):
    (tmp_path / "ring").symlink_to("ring")
    with pytest.raises(OSError, match="ring"):
        read_plain(tmp_path / "ring")
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "none")


def test_more_than_is_allowed(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_plain(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes, too large"):
        read_plain(tmp_path / "a", 4)


def test_what_may_be_read_takes_no_memory_that_is_not_needed(tmp_path):
    """A buffer of the bound's size would not fit into any memory."""
    (tmp_path / "a").write_bytes(b"12345")
    assert read_plain(tmp_path / "a", 1 << 60) == b"12345"


def test_a_growing_file_stays_within_the_bound():
    with pytest.raises(OSError, match="more than 0 bytes"):
        read_plain("/proc/self/status", 0)
