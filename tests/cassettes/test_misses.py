"""A replay that lacks something says what is nearest and the first field that differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_things import CHAT, SPEC, Chat, never, record, request

from closecall.cassettes import open_cassette
from closecall.cassettes.differing import first_difference
from closecall.chat.base import ChatReply, ChatRequest, Message
from closecall.embedders.base import TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import ReplayMissError

PROMPT = "You judge answers. Say pass or fail, and give one reason."
OTHER = "You judge tone. Say kind or unkind."


def complete(folder, requests, spec=CHAT):
    with open_cassette(folder, "replay") as cassette:
        found = cassette.chat(never, spec).complete(requests)
        return found, cassette.missing()


def test_one_changed_word_in_a_system_prompt_misses_exactly_the_requests_it_is_in(folder):
    texts = [f"answer number {n}" for n in range(6)]
    before = [request(text, system=prompt) for text in texts for prompt in (PROMPT, OTHER)]
    record(folder, requests=before)
    changed = PROMPT.replace("one reason", "two reasons")
    now = [request(text, system=prompt) for text in texts for prompt in (changed, OTHER)]
    found, error = complete(folder, now)
    assert [one.kind if not isinstance(one, ChatReply) else "" for one in found] == [
        "missing",
        "",
    ] * 6
    assert error.count == 6
    assert error.exit_code == 5
    said = str(error)
    assert said.startswith("6 requests have no recording in ")
    assert said.count("nearest is ") == 3
    assert (
        'messages[0].content: character 47: "… pass or fail, and give one reason." recorded, '
        '"… pass or fail, and give two reasons." asked'
    ) in said
    assert "... and 3 more" in said
    assert f"--record-missing {folder}" in said
    # The nearest is the one with the same last turn.
    for number, one in enumerate(found[:6:2]):
        place = one.reason.split("nearest is ")[1].split(": ")[0]
        line = int(place.rpartition(":")[2])
        text = (folder / "default.jsonl").read_text(encoding="utf-8").split("\n")[line - 1]
        assert f"answer number {number}" in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (request("a", temperature=0.7), "temperature: 0.0 recorded, 0.7 asked"),
        (request("a", temperature=None), "temperature: 0.0 recorded, nothing asked"),
        (request("a", max_tokens=9), "max_tokens: nothing recorded, 9 asked"),
        (request("b"), 'messages[1].content: character 1: "a" recorded, "b" asked'),
        (
            ChatRequest(messages=(Message(role="user", content="a"),)),
            "messages[0].content: character 1: ",
        ),
        (
            request("a", schema={"type": "object"}),
            'schema: nothing recorded, {"type":"object"} asked',
        ),
    ],
)
def test_the_first_field_that_differs_is_named(asked, said, folder):
    record(folder, requests=[request("a")])
    ((found,), _) = complete(folder, [asked])
    assert said in found.reason


def test_a_request_of_another_model_says_so(folder):
    record(folder, requests=[request("a")])
    with open_cassette(folder, "record") as cassette:
        cassette.chat(lambda: Chat(model="gpt-y"), "openai:gpt-y").complete([request("b")])
    ((found,), _) = complete(folder, [request("a")], "openai:gpt-y")
    assert 'identity.model: character 5: "gpt-x" recorded, "gpt-y" asked' in found.reason


def test_a_recording_of_the_same_model_is_nearer_than_one_of_another(folder):
    record(folder, requests=[request("Where is my parcel now?")])
    with open_cassette(folder, "record") as cassette:
        model = Chat(model="gpt-y")
        cassette.chat(lambda: model, "openai:gpt-y").complete([request("Where is my parcel?")])
    asked = request("Where is my parcel!")
    for spec in (CHAT, "openai:gpt-y"):
        ((found,), _) = complete(folder, [asked], spec)
        assert "messages[1].content: character 1" in found.reason
        assert "identity" not in found.reason


def test_texts_that_are_missing_stop_a_run_together(folder):
    record(folder, ["Your parcel left on Monday.", "It weighs two kilos."])
    with open_cassette(folder, "replay") as cassette:
        embedder = CachedEmbedder(cassette.embedder(never, SPEC))
        keys = [
            TextKey(text)
            for text in (
                "Your parcel left on Tuesday.",
                "It weighs two kilos.",
                "It weighs ten kilos.",
            )
        ]
        with pytest.raises(ReplayMissError) as caught:
            embedder.fetch(keys)
    assert caught.value.count == 2
    said = str(caught.value)
    assert (
        'text: character 21: "Your parcel left on Monday." recorded, '
        '"Your parcel left on Tuesday." asked'
    ) in said
    assert 'character 12: "It weighs two kilos." recorded, "It weighs ten kilos." asked' in said


def test_a_scenario_without_a_recording_says_what_there_is(folder):
    record(folder, ["one"], scenario="refunds")
    with (
        open_cassette(folder, "replay") as cassette,
        pytest.raises(ReplayMissError, match="holds none"),
    ):
        cassette.embedder(never, SPEC)


def test_control_characters_are_spelt_out_in_what_is_said(folder):
    record(folder, requests=[request("a\x1b[31m")])
    ((found,), _) = complete(folder, [request("a\x1b[32m\u2028")])
    assert "\x1b" not in found.reason
    assert "\u2028" not in found.reason


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner),
    max_leaves=6,
)


@given(values, values)
def test_a_difference_is_said_exactly_where_there_is_one(one, other):
    same = repr(one) == repr(other) or (
        one == other and "True" not in f"{one}{other}" and "False" not in f"{one}{other}"
    )
    if same:
        assert first_difference(one, other) == ""
    elif one != other:
        assert first_difference(one, other)
    assert first_difference(one, one) == ""
