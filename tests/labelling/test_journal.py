"""The journal: nothing that was pressed is lost, and nobody writes into another's file."""

import errno
import os

import pytest
from label_helpers import ACCEPT, REJECT, lines, row

from closecall.errors import DataError
from closecall.labelling.journal import Journal, JournalError, read_journal


@pytest.fixture
def three(table):
    made = table([row(at) for at in range(5)])
    session = made.sit()
    session.label(ACCEPT)
    session.note("why [b]not[/b] \n")
    session.label(REJECT)
    made.close()
    return made


def test_every_key_is_a_line_with_all_that_it_takes(three):
    head, *events = lines(three.path)
    assert head == {"closecall_labels": 1, "file": "cases.jsonl"}
    assert [(one["number"], one["event"], one["id"]) for one in events] == [
        (1, "accept", "case-000"),
        (2, "note", "case-001"),
        (3, "reject", "case-001"),
    ]
    assert events[1]["note"] == "why [b]not[/b]"
    for one in events:
        assert one["annotator"] == "first"
        assert one["order"] == "file"
        assert one["at"].endswith("Z")
        assert len(one["item"]) == 32


def test_a_key_is_on_the_disk_before_the_next(three, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(three.path.read_bytes()), real(fd)))
    session = three.sit()
    session.label(ACCEPT)
    assert synced[-1] == three.path.read_bytes()
    assert synced[-1].count(b"\n") == 5


def test_cut_anywhere_it_opens_with_the_whole_lines_before(three):
    whole = three.path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        three.path.write_bytes(whole[:cut])
        with Journal(three.path, "cases.jsonl") as journal:
            # A line that lacks nothing but its end is whole.
            held = sum(end - 1 <= cut for end in ends) - 1
            assert len(journal.events) == max(held, 0)
            assert journal.next_number == max(held, 0) + 1
        after = three.path.read_bytes()
        assert after.endswith(b"\n")
        assert len(read_journal(three.path)) == max(held, 0)


def test_reading_leaves_a_cut_line_where_it_is(three):
    whole = three.path.read_bytes()
    three.path.write_bytes(whole[:-9])
    assert len(read_journal(three.path)) == 2
    assert three.path.read_bytes() == whole[:-9]


def test_a_second_writer_is_refused(three):
    with (
        Journal(three.path, "cases.jsonl"),
        pytest.raises(JournalError, match="another process is labelling into this journal"),
    ):
        Journal(three.path, "cases.jsonl")
    Journal(three.path, "cases.jsonl").close()


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed there")
@pytest.mark.parametrize("there", [True, False])
def test_a_journal_that_is_a_link_is_not_followed(tmp_path, there):
    target, link = tmp_path / "letters.txt", tmp_path / "a.labels.jsonl"
    if there:
        target.write_bytes(b"")
    link.symlink_to(target)
    with pytest.raises(JournalError, match=r"cannot write .*a\.labels\.jsonl: .*It is a link"):
        Journal(link, "cases.jsonl")
    assert not there or target.read_bytes() == b""
    assert target.exists() == there


@pytest.mark.parametrize(
    "content",
    [
        b"id,question\n1,what\n",
        b'{"id": 1}\n',
        b"\x00\xff\n",
        b"only a note to myself",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path, content):
    path = tmp_path / "mine.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match="no journal of labels"):
        Journal(path, "cases.jsonl")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"accept"', '"applaud"'), r":2: is damaged"),
        (lambda text: text.replace('"number":2', '"number":1'), r":3: number: 1 does not follow"),
        (lambda text: text.replace('labels":1', 'labels":9'), r":1: .*version 9"),
    ],
)
def test_damage_before_the_end_is_named_by_its_line(three, change, said):
    before = change(three.path.read_text(encoding="utf-8"))
    three.path.write_text(before, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        Journal(three.path, "cases.jsonl")
    assert three.path.read_text(encoding="utf-8") == before


def test_on_a_full_disk_nothing_half_is_left_and_labelling_can_go_on(three, monkeypatch):
    session = three.sit()
    before = three.path.read_bytes()
    real, full = os.write, [True]

    def write(descriptor, data):
        if full[0] and len(data) > 20:
            return real(descriptor, bytes(data[:20]))
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(JournalError, match=r"No space left on device.*every label before"):
        session.label(ACCEPT)
    assert three.path.read_bytes() == before
    assert session.current.case.id == "case-002"
    full[0] = False
    session.label(ACCEPT)
    assert lines(three.path)[-1]["number"] == 4


def test_a_folder_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(JournalError, match=r"Read-only file system.* with -o PATH"):
        Journal(tmp_path / "cases.labels.jsonl", "cases.jsonl")


def test_a_folder_or_a_pipe_is_no_place_for_labels(tmp_path):
    with pytest.raises(JournalError, match="no file that labels can be kept in"):
        Journal(tmp_path, "cases.jsonl")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(JournalError, match="no file that labels can be kept in"):
            Journal(tmp_path / "pipe", "cases.jsonl")


def test_a_journal_takes_no_more_memory_than_it_has_bytes(tmp_path, monkeypatch):
    """A buffer for the largest there may be would not fit into small machines."""
    path = tmp_path / "cases.csv.labels.jsonl"
    with Journal(path, "cases.csv"):
        pass
    monkeypatch.setattr("closecall.labelling.journal.MOST_BYTES", 1 << 60)
    assert read_journal(path) == ()
    with Journal(path, "cases.csv") as journal:
        assert journal.events == ()
