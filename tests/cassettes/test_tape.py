"""A file that was edited, cut, mixed up or is in use is refused, with its place."""

import json
import os
import re

import pytest
from recorded_things import SPEC, Chat, Remote, lines, never, record, request

from closecall.cassettes import open_cassette
from closecall.cassettes.entries import MAX_LINE
from closecall.cassettes.tape import Tape
from closecall.cassettes.verifying import verify
from closecall.errors import CassetteError, ConfigurationError

TEXTS = ["one", "two", "three"]
REQUESTS = [request("Where is my parcel?"), request("How heavy is it?")]


@pytest.fixture
def recorded(folder):
    """Header, two chats, three embeddings, two identities: lines 1 to 8."""
    record(folder, TEXTS, REQUESTS)
    return folder


def change(folder, number, edit):
    every = lines(folder)
    every[number - 1] = edit(every[number - 1])
    (folder / "default.jsonl").write_bytes(b"".join(line + b"\n" for line in every))


def refused(folder, said):
    """Refused by whoever opens it, and found by who verifies it, at one place."""
    with pytest.raises(CassetteError) as caught:
        open_cassette(folder, "replay")
    assert re.search(said, str(caught.value)), str(caught.value)
    place = str(caught.value).partition(": ")[0]
    assert any(problem.startswith(place) for problem in verify(folder).problems)
    return str(caught.value)


EDITS = [
    (2, b"brief", b"Brief", "its key is not that of its content"),
    (2, b"You said", b"You sAid", "its check is not that of its content"),
    (4, b'"vector":"f32:', b'"vector":"f32:AAAA', "bytes is no row of 32-bit|check"),
    (4, b'"vector":"f32:', b'"vector":"f64:', "starts with f32: or f16:"),
    (4, b'"vector":"f32:', b'"vector":"f32:*', "not base64"),
    (4, b'"role":"text"', b'"role":"tset"', "Invalid enum value"),
    (4, b'"recorded":"2031', b'"recorded":"then', "recorded"),
    (4, b'"recorded":"2031', b'"recorded":"2032', "its check"),
    (4, b'"key":', b'"key": ', "is not spelt as closecall spells it"),
    (4, b'"key":"', b'"note":"x","key":"', "unknown field `note`"),
    (4, b'"key":"embedding', b'"key":"picture', "none of embedding, chat, subject"),
    (4, b'{"key":', b'{"kee":', "has no key"),
    (4, b'"name":', b'"name":"twice","name":', "stands twice"),
    (4, b'"seen":1', b'"seen":NaN', "NaN is not JSON"),
    (4, b'{"key"', b'["key"', "not valid JSON"),
    (7, b'"of":"chat"', b'"of":"cats"', "Invalid enum value"),
    (7, b'"model":"gpt-x"', b'"model":"gpt-y"', "its key is not that of its content"),
    (1, b'"cassette":1', b'"cassette":2', "version 2; this closecall reads 1"),
    (1, b'"default"', b'"another"', "holds the scenario 'another', not 'default'"),
    (1, b'"cassette"', b'"tape"', "unknown field|missing required"),
]


@pytest.mark.parametrize(("number", "before", "after", "said"), EDITS)
def test_an_edited_line_is_refused_with_its_place(number, before, after, said, recorded):
    assert before in lines(recorded)[number - 1]
    change(recorded, number, lambda line: line.replace(before, after, 1))
    assert f"default.jsonl:{number}: " in refused(recorded, said)


def test_every_flipped_byte_is_found(recorded):
    data = (recorded / "default.jsonl").read_bytes()
    for at in range(0, len(data), 23):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        (recorded / "default.jsonl").write_bytes(damaged)
        with pytest.raises(CassetteError, match=r"default\.jsonl"):
            open_cassette(recorded, "replay")
        assert verify(recorded).problems


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda every: [*every[:3], every[4], every[3], *every[5:]], ":5: stands before its turn"),
        (lambda every: [*every[:4], every[3], *every[4:]], ":5: the key .* stands twice"),
        (lambda every: every[:-1], ":4: the line that says who replied is missing"),
        (lambda every: every[1:], ":1: "),
        (lambda every: [*every[:2], b"", *every[2:]], ":3: "),
        (lambda every: [*every, b"<<<<<<< ours"], ":9: not valid JSON"),
    ],
)
def test_lines_that_are_mixed_up_are_refused(edit, said, recorded):
    every = edit(lines(recorded))
    (recorded / "default.jsonl").write_bytes(b"".join(line + b"\n" for line in every))
    refused(recorded, said)


def test_a_file_that_is_cut_short_or_empty_is_refused(recorded):
    path = recorded / "default.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    refused(recorded, ":8: has no line end")
    path.write_bytes(b"")
    refused(recorded, "is empty")
    path.unlink()
    path.mkdir()
    refused(recorded, "is no file")


def test_a_line_longer_than_allowed_is_not_read_whole(recorded):
    change(recorded, 4, lambda line: line + b" " * MAX_LINE)
    refused(recorded, f":4: .*longer than {MAX_LINE} bytes")


def test_a_reply_too_long_for_a_line_is_refused_and_nothing_else_is_lost(recorded):
    with open_cassette(recorded, "record") as cassette:
        model = Chat(reply=lambda _: "x" * MAX_LINE)
        with pytest.raises(ConfigurationError, match="cannot hold a recording"):
            cassette.chat(lambda: model).complete([request("more")])
    assert verify(recorded).entries == 5


def test_a_checkout_with_crlf_is_read_and_written_again_with_lf(recorded):
    path = recorded / "default.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"\n", b"\r\n"))
    with open_cassette(recorded, "replay") as cassette:
        cassette.embedder(never, SPEC).embed(TEXTS)
    assert not verify(recorded).problems
    record(recorded, ["four"])
    assert b"\r" not in path.read_bytes()
    assert set(before.split(b"\n")) <= set(path.read_bytes().split(b"\n"))


def test_two_cassettes_merge_as_sorted_lines(recorded, tmp_path):
    record(tmp_path / "other", ["four"], [request("five")])
    both = sorted({*lines(recorded), *lines(tmp_path / "other")})
    (recorded / "default.jsonl").write_bytes(b"".join(line + b"\n" for line in both))
    with open_cassette(recorded, "replay") as cassette:
        cassette.embedder(never, SPEC).embed([*TEXTS, "four"])
    assert verify(recorded).entries == 7


# --- one writer ----------------------------------------------------------------------------------


def test_a_second_recording_of_one_scenario_is_refused_while_the_first_goes_on(recorded):
    with open_cassette(recorded, "record"):
        with pytest.raises(CassetteError, match="another process is recording this scenario"):
            open_cassette(recorded, "record-missing")
        open_cassette(recorded, "record", scenario="another").close()
        open_cassette(recorded, "replay").close()
    open_cassette(recorded, "record").close()


def test_a_recording_that_changes_nothing_leaves_nothing(recorded):
    stat = (recorded / "default.jsonl").stat()
    open_cassette(recorded, "record").close()
    open_cassette(recorded, "record-missing", scenario="never").close()
    assert [path.name for path in recorded.iterdir()] == ["default.jsonl"]
    assert (recorded / "default.jsonl").stat().st_mtime_ns == stat.st_mtime_ns


def test_what_is_recorded_is_in_the_journal_at_once(folder):
    with open_cassette(folder, "record") as cassette:
        cassette.embedder(Remote, SPEC).embed(TEXTS)
        journal = folder / "default.jsonl.part"
        assert len(journal.read_bytes().split(b"\n")) == 5
        with open_cassette(folder, "replay") as reading:
            reading.embedder(never, SPEC).embed(TEXTS)
    assert not journal.exists()


def test_a_last_line_cut_in_the_middle_is_dropped_and_the_rest_kept(folder):
    path, journal = folder / "default.jsonl", folder / "default.jsonl.part"
    with open_cassette(folder, "record") as cassette:
        cassette.embedder(Remote, SPEC).embed(["four", "five"])
        data = journal.read_bytes()
    path.unlink()
    journal.write_bytes(data[:-9])
    with Tape(path) as tape:
        assert [entry.request["text"] for entry in tape.entries()] == ["four"]
    assert any("cut short" in problem for problem in verify(folder).problems)
    made = record(folder, ["four", "five"], mode="record-missing")
    assert made.embedder.texts == ["five"]
    assert [path.name for path in folder.iterdir()] == ["default.jsonl"]
    assert verify(folder).entries == 2


def test_a_journal_that_was_edited_is_refused(recorded):
    journal = recorded / "default.jsonl.part"
    journal.write_bytes(lines(recorded)[3].replace(b"f32:", b"f32:AAAA") + b"\n")
    with pytest.raises(CassetteError, match=r"default\.jsonl\.part:1: "):
        open_cassette(recorded, "record")
    with pytest.raises(CassetteError, match=r"default\.jsonl\.part:1: "):
        open_cassette(recorded, "replay")


def test_a_write_that_fails_ends_the_run_and_keeps_what_was_there(recorded, monkeypatch):
    kept, room = os.write, [5]

    def full(descriptor, data):
        if room[0] <= 0:
            raise OSError(28, "No space left on device")
        room[0] -= 1
        return kept(descriptor, data[: len(data) // 2 + 1])

    with open_cassette(recorded, "record") as cassette:
        embedder = cassette.embedder(Remote, SPEC)
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(ConfigurationError, match="No space left on device"):
            embedder.embed([f"text {n}" for n in range(50)])
        monkeypatch.undo()
    found = verify(recorded)
    assert not found.problems
    assert found.entries >= 5


def test_a_file_that_cannot_be_written_leaves_everything_in_the_journal(recorded, monkeypatch):
    before = (recorded / "default.jsonl").read_bytes()
    cassette = open_cassette(recorded, "record")
    cassette.embedder(Remote, SPEC).embed(["four"])

    def broken(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(CassetteError, match=r"No space left.*safe in default\.jsonl\.part"):
        cassette.close()
    monkeypatch.undo()
    assert (recorded / "default.jsonl").read_bytes() == before
    with open_cassette(recorded, "replay") as reading:
        reading.embedder(never, SPEC).embed(["four"])
    open_cassette(recorded, "record").close()
    assert verify(recorded).entries == 6
    assert not verify(recorded).problems


def test_a_replay_writes_nothing(recorded):
    recorded.chmod(0o500)
    before = {path: path.read_bytes() for path in recorded.iterdir()}
    try:
        with open_cassette(recorded, "replay") as cassette:
            cassette.embedder(never, SPEC).embed(TEXTS)
            with pytest.raises(CassetteError, match="for reading only"):
                cassette.tape.put(next(cassette.tape.entries()))
    finally:
        recorded.chmod(0o700)
    assert {path: path.read_bytes() for path in recorded.iterdir()} == before


def test_an_identity_nobody_names_any_more_goes(folder):
    record(folder, ["one"], [request("x")])
    with Tape(folder / "default.jsonl", writing=True) as tape:
        tape.drop({key for key in tape.sorted_keys() if key.startswith("chat:")})
    kinds = [json.loads(line)["key"].partition(":")[0] for line in lines(folder)[1:]]
    assert kinds == ["embedding", "identity"]
