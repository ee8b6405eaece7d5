"""What is recorded comes back, and the file is the same however often it is recorded."""

import datetime as dt
import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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
from closecall.cassettes.entries import read_line
from closecall.chat.base import ChatFailure, ChatReply, ChatRequest, Message, ToolCall
from closecall.embedders.base import TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import (
    CassetteError,
    ConfigurationError,
    EmbeddingError,
    NoCutoffError,
    ReplayMissError,
    TextTooLongError,
    UsageError,
)
from closecall.instrument import canonical_text
from closecall.offline import sealed
from closecall.records import Role

TEXTS = ["Your parcel left on Monday.", "It weighs two kilos.", "Grüße 日本 🎈"]
REQUESTS = [request("Where is my parcel?"), request("How heavy is it?", temperature=0.5)]

whole = st.text(st.characters(exclude_categories=["Cs"]))


def replay(folder, **options):
    return open_cassette(folder, "replay", **options)


# --- there and back ------------------------------------------------------------------------------


def test_a_replay_gives_what_was_recorded_and_asks_nobody(folder):
    made = record(folder, TEXTS, REQUESTS)
    with sealed() as tried, replay(folder) as cassette:
        embedder = cassette.embedder(never, SPEC)
        assert embedder.instrument == made.embedder.instrument
        found = embedder.embed_counted(TEXTS)
        live = made.embedder.embed_counted(TEXTS)
        np.testing.assert_array_equal(found.vectors, live.vectors)
        assert found.tokens == live.tokens
        replies = cassette.chat(never, CHAT).complete(REQUESTS)
        assert [one.content for one in replies] == [
            "You said: Where is my parcel?",
            "You said: How heavy is it?",
        ]
        assert replies[0].usage == (7, 3)
        assert replies[0].model == "gpt-x-2031-01-01"
        assert replies[0].tool_calls[0].name == "look"
        assert cassette.counts.replayed == 5
        assert cassette.missing() is None
    assert tried == []


def test_the_latency_of_a_recording_is_kept_and_that_of_a_replay_is_zero(folder):
    with open_cassette(folder, "record") as cassette:
        (live,) = cassette.chat(Chat).complete(REQUESTS[:1])
    assert live.latency_ms == 41.5
    with replay(folder) as cassette:
        (found,) = cassette.chat(never).complete(REQUESTS[:1])
    assert found.latency_ms == 0.0
    (entry,) = (read_line(line) for line in lines(folder) if line.startswith(b'{"key":"chat:'))
    assert entry.reply["latency_ms"] == 41.5


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(texts=st.lists(whole, min_size=1, max_size=5), role=st.sampled_from(list(Role)))
def test_any_text_comes_back(tmp_path_factory, texts, role):
    folder = tmp_path_factory.mktemp("any")
    embedder = Remote(prefixes={"query": "query: "})
    with open_cassette(folder, "record") as cassette:
        before = cassette.embedder(lambda: embedder, SPEC).embed(texts, role)
    with replay(folder) as cassette:
        np.testing.assert_array_equal(cassette.embedder(never, SPEC).embed(texts, role), before)


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | whole,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(whole, inner, max_size=3),
    max_leaves=8,
)
turns = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=whole,
    tool_calls=st.lists(
        st.builds(ToolCall, name=whole, arguments=whole, id=whole), max_size=2
    ).map(tuple),
    call_id=whole,
)
asked = st.builds(
    ChatRequest,
    messages=st.lists(turns, min_size=1, max_size=3).map(tuple),
    temperature=st.none() | st.sampled_from([0, 0.0, 0.7, 1, 1e-7]),
    seed=st.none() | st.integers(0, 2**40),
    max_tokens=st.none() | st.integers(1, 10_000),
    schema=st.none() | st.dictionaries(whole, values, max_size=3),
    tools=st.lists(st.dictionaries(whole, values, max_size=2), max_size=2).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(question=asked, content=whole)
def test_any_request_and_reply_come_back_under_the_same_bytes(tmp_path_factory, question, content):
    folder = tmp_path_factory.mktemp("any")
    model = Chat(reply=lambda _: ChatReply(content=content))
    for _ in range(2):
        with open_cassette(folder, "record", now=lambda: MORNING) as cassette:
            cassette.chat(lambda: model).complete([question])
    with replay(folder) as cassette:
        (found,) = cassette.chat(never).complete([question])
    assert found.content == content
    for line in lines(folder)[1:]:
        read_line(line)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (request("a"), request("b")),
        (request("a"), request("a", temperature=0.1)),
        (request("a"), request("a", temperature=None)),
        (request("a"), request("a", seed=None)),
        (request("a"), request("a", seed=1)),
        (request("a"), request("a", max_tokens=5)),
        (request("a"), request("a", schema={"type": "object"})),
        (request("a"), request("a", tools=({"type": "function"},))),
        (request("a"), request("a", system="You are long-winded.")),
    ],
)
def test_whatever_is_in_a_request_is_in_its_key(one, other, folder):
    record(folder, requests=[one])
    with replay(folder) as cassette:
        (found,) = cassette.chat(never).complete([other])
    assert found.kind == "missing"


def test_each_line_end_and_normal_form_is_one_request(folder):
    record(folder, ["one\r\ntwo caf\u00e9"], [request("one\r\ntwo", "cafe\u0301")])
    with replay(folder) as cassette:
        cassette.embedder(never, SPEC).embed(["one\ntwo cafe\u0301", "one\rtwo caf\u00e9"])
        (found,) = cassette.chat(never).complete([request("one\ntwo", "caf\u00e9")])
    assert isinstance(found, ChatReply)


def test_roles_that_the_model_tells_apart_are_two_requests(folder):
    embedder = Remote(prefixes={"query": "query: "})
    with open_cassette(folder, "record") as cassette:
        cassette.embedder(lambda: embedder, SPEC).embed(TEXTS, Role.QUERY)
    with replay(folder) as cassette:
        embedder = cassette.embedder(never, SPEC)
        embedder.embed(TEXTS, Role.QUERY)
        with pytest.raises(ReplayMissError, match="role: character 1"):
            embedder.embed(TEXTS[:1], Role.DOCUMENT)


# --- the same bytes ------------------------------------------------------------------------------


def test_recording_again_in_another_order_and_on_another_day_changes_no_byte(folder):
    record(folder, TEXTS, REQUESTS)
    before = (folder / "default.jsonl").read_bytes()
    later = MORNING + dt.timedelta(days=40)
    made = record(folder, TEXTS[::-1], REQUESTS[::-1], now=later)
    assert len(made.embedder.texts) == 3
    assert len(made.chat.asked) == 2
    assert (folder / "default.jsonl").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["default.jsonl"]


def test_another_latency_changes_no_byte(folder):
    for latency in (10.0, 20.0):
        record(
            folder,
            requests=REQUESTS,
            reply=lambda _, took=latency: ChatReply(content="x", latency_ms=took),
        )
        kept = [read_line(line) for line in lines(folder)[1:3]]
        assert [one.reply["latency_ms"] for one in kept] == [10.0, 10.0]


def test_a_temperature_is_the_same_however_it_is_written(folder):
    record(folder, requests=[request("a", temperature=0.0), request("a", temperature=1)])
    with replay(folder) as cassette:
        found = cassette.chat(never).complete(
            [request("a", temperature=0), request("a", temperature=1.0)]
        )
    assert all(isinstance(one, ChatReply) for one in found)


def test_what_order_it_was_recorded_in_is_not_in_the_file(folder, tmp_path):
    def reply(asked):
        return ChatReply(content=asked.messages[-1].content, latency_ms=1.0)

    record(folder, TEXTS, REQUESTS, reply=reply)
    for part in (REQUESTS[1:], REQUESTS[:1]):
        record(tmp_path / "other", requests=part, reply=reply)
    for text in TEXTS[::-1]:
        record(tmp_path / "other", [text])
    assert lines(tmp_path / "other") == lines(folder)


def test_lines_are_sorted_as_bytes_in_utf8_with_lf(folder):
    record(folder, [*TEXTS, "a\r\nb\u2028c\x85"], REQUESTS)
    data = (folder / "default.jsonl").read_bytes()
    assert b"\r" not in data
    assert data.decode().splitlines() == data.decode().split("\n")[:-1]
    assert lines(folder) == sorted(lines(folder))
    assert "Grüße 日本 🎈".encode() in data
    assert lines(folder)[0] == b'{"cassette":1,"scenario":"default"}'
    keys = [json.loads(line)["key"] for line in lines(folder)[1:]]
    assert keys == sorted(set(keys))


def test_another_reply_takes_the_place_of_the_first(folder):
    record(folder, requests=REQUESTS)
    with open_cassette(folder, "record") as cassette:
        cassette.chat(lambda: Chat(reply=lambda _: "No idea.")).complete(REQUESTS[:1])
        assert cassette.counts.recorded == 1
    with replay(folder) as cassette:
        first, second = cassette.chat(never).complete(REQUESTS)
    assert (first.content, second.content) == ("No idea.", "You said: How heavy is it?")


def test_the_noise_of_a_providers_vectors_changes_nothing(folder):
    record(folder, TEXTS)
    before = (folder / "default.jsonl").read_bytes()

    class Noisy(Remote):
        def embed_counted(self, texts, role=Role.TEXT):
            found = super().embed_counted(texts, role)
            return found._replace(vectors=found.vectors + np.float32(1e-5))

    with open_cassette(folder, "record") as cassette:
        used = cassette.embedder(Noisy, SPEC).embed(TEXTS)
        assert cassette.counts.unchanged == 3
    assert (folder / "default.jsonl").read_bytes() == before
    # What is recorded is what is used, so that this run and a replay of it agree.
    np.testing.assert_array_equal(used, Remote().embed(TEXTS))


def test_scenarios_are_files_of_their_own(folder):
    record(folder, TEXTS[:1], scenario="refunds")
    record(folder, TEXTS[1:], scenario="Réclamations / 2031")
    names = sorted(path.name for path in folder.iterdir())
    assert re.fullmatch(r"reclamations-2031-[0-9a-f]{8}\.jsonl", names[0])
    assert names[1] == "refunds.jsonl"
    with (
        replay(folder, scenario="refunds") as cassette,
        pytest.raises(
            ReplayMissError, match=r"recorded under another scenario, at .*reclamations"
        ),
    ):
        cassette.embedder(never, SPEC).embed(TEXTS[1:2])


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "\ud800"])
def test_a_name_no_file_can_have_is_refused(name, folder):
    with pytest.raises(UsageError, match="scenario"):
        open_cassette(folder, "record", scenario=name)


@pytest.mark.parametrize("name", ["con", "../up", "a/b", ".hidden", "A", "a ", "日本"])
def test_any_other_name_gets_a_file_in_the_folder(name, folder):
    record(folder, TEXTS[:1], scenario=name)
    (path,) = folder.iterdir()
    assert path.parent == folder
    assert path.name.removesuffix(".jsonl").replace("-", "").isalnum()
    assert path.stem not in {"con", "a"}


# --- only what is missing ------------------------------------------------------------------------


def test_record_missing_asks_for_what_is_not_there_and_for_nothing_else(folder):
    record(folder, TEXTS[:1], REQUESTS[:1])
    made = record(folder, TEXTS, REQUESTS, mode="record-missing")
    assert made.embedder.texts == TEXTS[1:]
    assert made.chat.asked == REQUESTS[1:]
    with replay(folder) as cassette:
        cassette.embedder(never, SPEC).embed(TEXTS)


def test_record_missing_makes_nothing_while_nothing_is_missing(folder):
    record(folder, TEXTS, REQUESTS)
    with open_cassette(folder, "record-missing") as cassette:
        embedder = cassette.embedder(never, SPEC)
        assert embedder.embed(TEXTS).shape == (3, 16)
        embedder.load()
        assert cassette.chat(never, CHAT).complete(REQUESTS)[0].content


def test_record_missing_refuses_another_embedder_or_model_than_was_recorded(folder):
    record(folder, TEXTS, REQUESTS)
    with open_cassette(folder, "record-missing") as cassette:
        embedder = cassette.embedder(lambda: Remote(options={"server_model": "new"}), SPEC)
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"options .* then, .*server_model"):
                embedder.embed(["another text"])
        model = cassette.chat(lambda: Chat(effort="high"), CHAT)
        with pytest.raises(ConfigurationError, match=r"options\.effort: nothing recorded"):
            model.complete([request("another")])


def test_unasked_recordings_go_only_when_told_to(folder):
    record(folder, TEXTS, REQUESTS)
    record(folder, TEXTS[:1])
    with replay(folder) as cassette:
        cassette.embedder(never, SPEC).embed(TEXTS)
    with open_cassette(folder, "record") as cassette:
        cassette.embedder(Remote, SPEC).embed(TEXTS[:1])
        assert cassette.forget_unasked() == 4
    assert [json.loads(line).get("of", "entry") for line in lines(folder)[1:]] == [
        "entry",
        "embedding",
    ]


# --- what is not recorded ------------------------------------------------------------------------


def test_a_failure_is_not_recorded(folder):
    failed = ChatFailure(reason="too many requests", kind="rate_limited", status=429)
    with open_cassette(folder, "record") as cassette:
        model = cassette.chat(lambda: Chat(reply=lambda _: failed))
        assert model.complete(REQUESTS) == [failed, failed]
    assert not list(folder.iterdir())


def test_a_failing_text_is_named_and_the_others_can_be_asked_again(folder):
    def fail(texts):
        if "bad" in texts:
            raise EmbeddingError("texts[1]: refused", [texts.index("bad")], reason="refused")

    embedder = Remote()
    embedder._on_embed = fail
    with open_cassette(folder, "record") as cassette:
        recording = CachedEmbedder(cassette.embedder(lambda: embedder, SPEC))
        found = recording.fetch([TextKey(text) for text in ("good", "bad", "fine")])
        assert [hasattr(one, "vector") for one in found.values()] == [True, False, True]
    assert cassette.counts.recorded == 2


def test_a_text_that_is_too_long_is_so_in_a_replay_too(folder):
    def too_long(texts):
        bad = [at for at, text in enumerate(texts) if len(text) > 20]
        if bad:
            raise TextTooLongError("too long", bad, reason="has more than 20 signs")

    embedder = Remote()
    embedder._on_embed = too_long
    keys = [TextKey(text) for text in ("short", "a text that is far too long", "brief")]
    with open_cassette(folder, "record") as cassette:
        live = CachedEmbedder(cassette.embedder(lambda: embedder, SPEC)).fetch(keys)
    with replay(folder) as cassette:
        found = CachedEmbedder(cassette.embedder(never, SPEC)).fetch(keys)
    assert found[keys[1]] == live[keys[1]]
    assert "more than 20 signs" in found[keys[1]].reason
    np.testing.assert_array_equal(found[keys[2]].vector, live[keys[2]].vector)


@pytest.mark.parametrize("bad", [np.nan, 0.0])
def test_a_vector_of_no_use_is_passed_on_and_not_recorded(bad, folder):
    class Broken(Remote):
        def embed_counted(self, texts, role=Role.TEXT):
            found = super().embed_counted(texts, role)
            found.vectors[0] = bad
            return found

    with open_cassette(folder, "record") as cassette:
        found = cassette.embedder(Broken, SPEC).embed(["one", "two"])
        np.testing.assert_array_equal(found[0], np.full(16, bad, np.float32))
        assert cassette.counts.recorded == 1


def test_half_a_character_is_refused_where_it_stands(folder):
    half = "a \ud83d"
    with open_cassette(folder, "record") as cassette:
        with pytest.raises(EmbeddingError, match="half a character") as caught:
            cassette.embedder(Remote, SPEC).embed(["fine", half])
        assert caught.value.indices == (1,)
        model = Chat(reply=lambda asked: half if "reply" in asked.messages[-1].content else "ok")
        refused, broken, fine = cassette.chat(lambda: model).complete(
            [request(half), request("reply"), request("x")]
        )
    assert (refused.kind, broken.kind, fine.content) == ("refused", "broken", "ok")


def test_equal_requests_of_one_call_are_asked_once(folder):
    with open_cassette(folder, "record") as cassette:
        model = Chat()
        replies = cassette.chat(lambda: model).complete([REQUESTS[0], REQUESTS[1], REQUESTS[0]])
    assert len(model.asked) == 2
    assert replies[0].content == replies[2].content != replies[1].content
    assert replies[0].usage == replies[2].usage
    assert replies[2].latency_ms == 0, "it was not sent a second time"


# --- local models --------------------------------------------------------------------------------


def test_a_local_model_is_used_as_it_is(folder):
    from closecall.testing import HashEmbedder

    local = HashEmbedder()
    for mode in ("record", "record-missing"):
        with open_cassette(folder, mode) as cassette:
            assert cassette.embedder(lambda: local, "minilm") is local
    record(folder, TEXTS)
    with replay(folder) as cassette:
        assert cassette.embedder(lambda: local) is local


def test_a_local_model_is_recorded_when_asked_for(folder):
    from closecall.testing import HashEmbedder

    with open_cassette(folder, "record", local=True) as cassette:
        cassette.embedder(HashEmbedder, "mine").embed(TEXTS)
    with replay(folder, local=True) as cassette:
        embedder = cassette.embedder(never, "mine")
        np.testing.assert_array_equal(embedder.embed(TEXTS), HashEmbedder().embed(TEXTS))
        key = TextKey(TEXTS[0], pieces=True)
        outcome = CachedEmbedder(embedder).fetch([key])[key]
        assert outcome.no_pieces
        assert "not recorded" in outcome.reason


def test_a_replay_does_not_make_a_provider_it_has_no_recording_of(folder):
    record(folder, TEXTS)
    with replay(folder) as cassette:
        with pytest.raises(ReplayMissError, match=r"no vectors of openai:other.*text-embedding-3"):
            cassette.embedder(never, "openai:other")
        with pytest.raises(ReplayMissError, match="no replies of openai:gpt-x"):
            cassette.chat(never, CHAT)
        with pytest.raises(ReplayMissError):
            cassette.embedder(Remote, "a-plug-in")


def test_names_that_stand_for_several_are_told_apart_by_digest(folder):
    instruments = [Remote(window=window) for window in ("chunk", "truncate")]
    for one in instruments:
        with open_cassette(folder, "record") as cassette:
            cassette.embedder(lambda one=one: one, SPEC).embed(TEXTS)
    with replay(folder) as cassette:
        with pytest.raises(UsageError, match=r"2 recorded embedders go by") as caught:
            cassette.embedder(never, SPEC)
        for one in instruments:
            digest = one.instrument.digest
            assert digest[:12] in str(caught.value)
            assert cassette.embedder(never, digest[:12]).instrument == one.instrument
            window = one.instrument.window
            assert cassette.embedder(never, SPEC, window=window).instrument == one.instrument


def test_a_name_goes_to_who_answered_to_it_last(folder):
    record(folder, TEXTS, REQUESTS)
    new = Remote(options={"server_model": "new"})
    with open_cassette(folder, "record") as cassette:
        cassette.embedder(lambda: new, SPEC).embed(TEXTS)
        cassette.chat(lambda: Chat(effort="high"), CHAT).complete(REQUESTS)
    before = (folder / "default.jsonl").read_bytes()
    with replay(folder) as cassette:
        assert cassette.embedder(never, SPEC).instrument == new.instrument
        assert cassette.chat(never, CHAT).identity.options == {"effort": "high"}
        old = Remote().instrument
        assert cassette.embedder(never, old.digest).instrument == old
    with open_cassette(folder, "record") as cassette:
        cassette.embedder(lambda: new, SPEC).embed(TEXTS)
    assert (folder / "default.jsonl").read_bytes() == before


# --- age -----------------------------------------------------------------------------------------


def test_nothing_expires_unless_asked(folder):
    record(folder, TEXTS)
    century = MORNING + dt.timedelta(days=36_500)
    with replay(folder, now=lambda: century) as cassette:
        cassette.embedder(never, SPEC).embed(TEXTS)
    with (
        replay(folder, now=lambda: century, ttl=60) as cassette,
        pytest.raises(ReplayMissError, match="of 2031-01-31T09:00:00Z, older than the 60"),
    ):
        cassette.embedder(never, SPEC).embed(TEXTS)
    made = record(folder, TEXTS, mode="record-missing", now=century, ttl=60)
    assert made.embedder.texts == TEXTS
    with replay(folder, now=lambda: century, ttl=60) as cassette:
        cassette.embedder(never, SPEC).embed(TEXTS)


# --- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "rewind"}, "mode must be one of record, replay, record-missing"),
        ({"mode": "record", "floats": "f8"}, "floats must be one of f32, f16"),
        ({"mode": "record", "ttl": -1}, "ttl must be"),
        ({"mode": "record", "ttl": float("nan")}, "ttl must be"),
        ({"mode": "replay"}, "there is no cassette to replay"),
    ],
)
def test_a_wrong_argument_is_said(options, said, folder):
    with pytest.raises(UsageError, match=said):
        open_cassette(folder, **options)


def test_a_file_is_no_cassette(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="is no folder"):
        open_cassette(tmp_path / "file", "record")


def test_a_miss_is_exit_5_and_a_damaged_file_exit_4():
    assert ReplayMissError("x").exit_code == 5
    assert CassetteError("x").exit_code == 4
    assert NoCutoffError("x").exit_code == 7


def test_canonical_text_is_what_is_kept(folder):
    record(folder, ["a\r\nb"])
    (entry,) = (read_line(line) for line in lines(folder) if b'"embedding:' in line[:20])
    assert entry.request["text"] == canonical_text("a\r\nb") == "a\nb"


def test_a_recording_that_goes_on_asks_only_for_what_it_has_not_recorded_yet(folder):
    evening = MORNING + dt.timedelta(hours=9)
    record(folder, requests=REQUESTS)
    record(folder, requests=REQUESTS[:1], now=evening, reply=lambda request: "Anew.")
    began = evening.replace(microsecond=999)
    made = record(
        folder, requests=REQUESTS, now=evening + dt.timedelta(seconds=5), since=began,
        reply=lambda request: "Once more.",
    )  # fmt: skip
    # What the morning recorded is another recording's.
    assert made.chat.asked == REQUESTS[1:]
    with replay(folder) as cassette:
        replies = cassette.chat(never, CHAT).complete(REQUESTS)
    assert [one.content for one in replies] == ["Anew.", "Once more."]
