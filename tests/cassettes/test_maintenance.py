"""What a cassette holds, what changed, what is dropped, and where a text is recorded."""

import datetime as dt

import pytest
from recorded_things import (
    CHAT,
    MORNING,
    SPEC,
    Chat,
    Remote,
    lines,
    never,
    record,
    request,
)

from closecall.cassettes import open_cassette
from closecall.cassettes.explaining import explain
from closecall.cassettes.maintenance import diff, prune, stats
from closecall.cassettes.verifying import verify
from closecall.errors import CassetteError, UsageError

LATER = MORNING + dt.timedelta(days=30)


@pytest.fixture
def recorded(folder):
    record(folder, ["one", "two"], [request("a")])
    record(folder, ["three"], scenario="other", now=LATER)
    return folder


def test_stats_count_by_file_and_by_who_replied(recorded):
    found = stats(recorded)
    assert (found.files, found.entries) == (2, 4)
    assert found.bytes == sum(path.stat().st_size for path in recorded.iterdir())
    chat, vectors, other = found.held
    assert (chat.kind, chat.name, chat.names) == ("chat", "gpt-x@openai", (CHAT,))
    assert (chat.entries, chat.tokens, chat.untold, chat.latency_ms) == (1, 10, 0, 41.5)
    assert (vectors.kind, vectors.entries, vectors.tokens) == ("embedding", 2, 2)
    assert (other.file, other.oldest) == ("other.jsonl", "2031-03-02T09:00:00Z")
    assert sum(one.bytes for one in found.held) < found.bytes


def test_tokens_nobody_told_are_no_zero(folder):
    class Plain:
        instrument = Remote().instrument

        def embed(self, texts, role="text"):
            return Remote().embed(texts)

    with open_cassette(folder, "record") as cassette:
        cassette.embedder(Plain, SPEC).embed(["one"])
    (found,) = stats(folder).held
    assert (found.tokens, found.untold, found.latency_ms) == (0, 1, None)


def test_diff_says_what_was_added_removed_and_answered_otherwise(recorded, tmp_path):
    now = tmp_path / "now"
    record(now, ["one", "four"], [request("a"), request("b")], reply=lambda _: "Another reply.")
    found = [(one.what, one.file, one.about) for one in diff(recorded, now)]
    assert sorted(found) == [
        ("added", "default.jsonl", "b"),
        ("added", "default.jsonl", "four"),
        ("changed", "default.jsonl", "a"),
        ("removed", "default.jsonl", "two"),
        ("removed", "other.jsonl", "three"),
    ]
    (changed,) = (one for one in diff(recorded, now) if one.what == "changed")
    assert changed.difference.startswith('content: character 1: "You said: a" recorded, "Another')


def test_a_recording_of_the_same_does_not_differ(recorded, tmp_path):
    record(tmp_path / "again", ["one", "two"], [request("a")], now=LATER)
    record(tmp_path / "again", ["three"], scenario="other")
    assert list(diff(recorded, tmp_path / "again")) == []


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ({"kind": "embedding"}, ["chat"]),
        ({"kind": "chat"}, ["embedding", "embedding", "embedding"]),
        ({"model": CHAT}, ["embedding", "embedding", "embedding"]),
        ({"model": "text-embedding-3-small@api.openai.com"}, ["chat"]),
        ({"kind": "embedding", "older_than": 29 * 86_400}, ["chat", "embedding"]),
        ({"older_than": 29 * 86_400}, ["embedding"]),
        ({"older_than": 40 * 86_400}, ["chat", "embedding", "embedding", "embedding"]),
        ({"model": "nobody"}, ["chat", "embedding", "embedding", "embedding"]),
    ],
)
def test_prune_drops_what_meets_every_condition(wanted, left, recorded):
    said = prune(recorded, **wanted, now=lambda: LATER, really=False)
    assert stats(recorded).entries == 4
    done = prune(recorded, **wanted, now=lambda: LATER)
    assert (done.entries, done.entries_left) == (said.entries, said.entries_left)
    assert done.entries_left == len(left)
    kinds = [h.kind for h in stats(recorded).held for _ in range(h.entries)]
    assert sorted(kinds) == left
    assert not verify(recorded).problems


def test_prune_needs_a_condition_it_knows(recorded):
    with pytest.raises(UsageError, match="say what to drop"):
        prune(recorded)
    with pytest.raises(UsageError, match="kind must be one of"):
        prune(recorded, kind="pictures")


def test_prune_leaves_a_file_alone_that_loses_nothing(recorded):
    before = lines(recorded, "other.jsonl"), (recorded / "other.jsonl").stat().st_mtime_ns
    prune(recorded, kind="chat")
    assert (
        lines(recorded, "other.jsonl"),
        (recorded / "other.jsonl").stat().st_mtime_ns,
    ) == before


def test_explain_finds_a_text_wherever_it_stands(folder):
    record(
        folder,
        ["Your parcel left on Monday."],
        [request("Where is my parcel?", system="You are brief.")],
    )
    (found, *_) = explain(folder, "Where is my parcel?")
    assert (found.kind, found.field, found.likeness, found.difference) == (
        "chat",
        "messages[1].content",
        1.0,
        "",
    )
    (found,) = explain(folder, "Your parcel left on Tuesday.", count=1)
    assert found.kind == "embedding"
    assert found.difference.startswith('text: character 21: "Your parcel left on Monday."')
    assert 0.8 < found.likeness < 1


def test_verify_lists_every_problem_with_its_place(recorded):
    path = recorded / "default.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"recorded":"2031', b'"recorded":"2030'))
    found = verify(recorded)
    assert [problem.partition(": ")[0].rpartition(":")[2] for problem in found.problems] == [
        "2",
        "3",
        "4",
    ]
    path.rename(recorded / "renamed.jsonl")
    assert any("whose file is named default.jsonl" in one for one in verify(recorded).problems)


def test_a_folder_that_is_not_there(folder):
    for look in (stats, verify, lambda at: explain(at, "x"), lambda at: list(diff(at, at))):
        with pytest.raises(UsageError, match="no cassette"):
            look(folder)


def test_counts_say_what_became_of_requests(folder):
    with open_cassette(folder, "record") as cassette:
        cassette.chat(Chat).complete([request("a"), request("b")])
        cassette.chat(Chat).complete([request("a")])
        assert (cassette.counts.recorded, cassette.counts.unchanged) == (2, 1)
    with open_cassette(folder, "replay") as cassette:
        cassette.chat(never).complete([request("a"), request("c"), request("c")])
        assert (cassette.counts.replayed, cassette.counts.missed) == (1, 2)
        assert cassette.missing().count == 1


def test_a_file_that_is_a_ring_of_links_is_refused_by_name(recorded):
    (recorded / "other.jsonl").unlink()
    (recorded / "other.jsonl").symlink_to("other.jsonl")
    with pytest.raises(CassetteError, match=r"other\.jsonl: cannot be read"):
        stats(recorded)
