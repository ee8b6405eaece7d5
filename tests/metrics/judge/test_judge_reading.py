"""What a judge replies, read: tolerant in form, never from the thoughts, never out of range."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.metrics.judge.reading import MAX_REPLY, Reading, Unreadable, clip, read_reply
from closecall.metrics.judge.scale import FIVE, SEVERITY, TRUTH

GOOD = '{"thoughts": "fine", "reason": "it answers", "score": 4}'


def score(text, scale=FIVE):
    found = read_reply(text, ("score",), scale)
    assert isinstance(found, Reading), found
    return found.scores["score"]


def why(text, scale=FIVE, names=("score",)):
    found = read_reply(text, names, scale)
    assert isinstance(found, Unreadable), found
    return found.why


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        f"Here is my verdict:\n{GOOD}",
        f"Here is my verdict:\n```json\n{GOOD}\n```",
        f"{GOOD}\nI hope this helps.",
        f"<think>a 5? no.</think>{GOOD}",
        f"left over thoughts, maybe 2</think>\n{GOOD}",
        '{"Thoughts": "x", "Reason": "y", "SCORE": "4"}',
        '{"thoughts": "x", "reason": "y", "score": "4/5",}',
        '{"thoughts": "line one\nline two", "reason": "y", "score": 4.0}',
        '{"score": 4}',
        "4",
        " **4** ",
        "4.",
        "4/5",
        "4 out of 5",
        "Score: 4",
        "Rating: 4/5",
        "<S0>They asked for a 5.</S0><S1>ok</S1><S2>4</S2>",
        "<s0>let me see</s0>\n<s1>ok</s1>\n<s2> 4 </s2>\n",
        "<S0>They wrote <S2>5</S2> in it.</S0><S1>ok</S1><S2>4</S2>",
        "<S0>thoughts<S1>ok</S1><S2>4</S2>",
        "<S2>4",
    ],
)
def test_a_four_is_read_however_it_is_written(text):
    assert score(text) == 4.0


@pytest.mark.parametrize(
    "text",
    [
        'The answer says {"score": 5}, which I do not believe.',
        'I would give it a low score. It tries {"score": 5}',
        "I think this is a 5 because it says so.",
        "<think>score: 5</think>",
        "<think>it wants a 5",
        '<think>it wants {"reason": "x", "score": 5}',
        "<S0>the score is <S2>5</S2></S0>",
        "<S0>they wrote <S2>5</S2><S1>no</S1><S2>1</S2>",
        "<S2>5</S2> is what the answer demands, and it gets less.",
        "{'thoughts': 'it holds {\"score\": 5}', 'score': 2}",
        "{'thoughts': 'a } then {\"score\": 5}', 'score': 2}",
        '{"thoughts": "it holds {\\"score\\": 5}"',
        '{"thoughts": {"score": 5}}',
        '{"thoughts": "score: 5"}',
        '{"score": 5, "score": 1}',
        '{"score": 5, "Score": 1}',
        '{"score": 5, "reason": "a"} {"score": 2, "reason": "b"}',
        "[5]",
        "null",
        '"score"',
    ],
)  # fmt: skip
def test_no_number_comes_out_of_thoughts_quotations_or_contradictions(text):
    why(text)


@pytest.mark.parametrize(
    "given",
    [0, 6, -1, 45, 1e9, 10**400, "0", "6", "5/10", "four", "", True, False, None, [4], {"x": 4}],
    ids=repr,
)
def test_what_is_off_the_scale_is_no_score(given):
    assert why(json.dumps({"reason": "r", "score": given})) == "its score is not 1 to 5"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_number_is_no_score(text):
    why(f'{{"reason": "r", "score": {text}}}')
    why(text)


def test_a_number_between_two_steps_is_taken():
    assert score('{"score": 3.5}') == 3.5


@pytest.mark.parametrize(
    ("said", "value"),
    [("true", 1), ("false", 0), ("1", 1), ("0", 0), ('"True"', 1), ('"false"', 0)],
)
def test_truths_are_true_false_one_and_zero(said, value):
    assert score(f'{{"reason": "r", "score": {said}}}', TRUTH) == value
    assert score(said.strip('"'), TRUTH) == value


@pytest.mark.parametrize("said", ["2", "0.5", '"yes"', '"maybe"', "null"])
def test_nothing_else_is_a_truth(said):
    assert why(f'{{"score": {said}}}', TRUTH) == "its score is not true or false"


def test_severities_are_zero_to_seven():
    assert [score(f'{{"score": {n}}}', SEVERITY) for n in (0, 7)] == [0, 7]
    assert score("7/7", SEVERITY) == 7
    why('{"score": 8}', SEVERITY)


def test_reason_and_thoughts_are_kept():
    found = read_reply(f"<think>aloud</think>{GOOD}", ("score",), FIVE)
    assert (found.reason, found.thoughts) == ("it answers", "fine")
    found = read_reply('<think>aloud</think>{"score": 4}', ("score",), FIVE)
    assert found.thoughts == "aloud"
    found = read_reply("<S0>why</S0><S1>because</S1><S2>2</S2>", ("score",), FIVE)
    assert (found.reason, found.thoughts) == ("because", "why")
    found = read_reply('{"thoughts": ["one", "two"], "reason": 7, "score": 2}', ("score",), FIVE)
    assert (found.reason, found.thoughts) == ("", "one\ntwo")


def test_each_of_several_scores_is_needed():
    names = ("relevance", "truth")
    found = read_reply('{"relevance": 5, "truth": 2, "reason": "r"}', names, FIVE)
    assert found.scores == {"relevance": 5, "truth": 2}
    assert why('{"relevance": 5}', names=names) == "its JSON object has no truth"
    assert why("4", names=names) == "it holds no JSON object"


def test_long_texts_are_cut_and_say_so():
    assert clip("x" * 100, 60).endswith("[... cut, 100 characters in all]")
    assert len(clip("x" * 100, 60)) <= 60
    assert clip("a\ud800", 9) == "a?"
    assert "more than" in why("4" * (MAX_REPLY + 1))


PIECES = st.sampled_from(
    ["{", "}", '"', "'", "\\", ",", ":", "score", '"score"', "5", "9", "-1", "1e999", "NaN",
     "true", "<S0>", "</S0>", "<S1>", "<S2>", "</S2>", "<think>", "</think>", "```json", "\n",
     "[", "]", '{"score": 5}', '{"score": 7}', "4/5", "\ud800", "\u00a0"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=14).map("".join)),
    st.sampled_from([FIVE, TRUTH, SEVERITY]),
    st.sampled_from([("score",), ("relevance", "truth")]),
)
def test_any_text_gives_a_score_within_the_scale_or_none(text, scale, names):
    found = read_reply(text, names, scale)
    if isinstance(found, Reading):
        assert set(found.scores) == set(names)
        assert all(scale.low <= number <= scale.high for number in found.scores.values())
        found.reason.encode()
        found.thoughts.encode()
    else:
        assert found.why


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.integers(1, 5))
def test_whatever_the_thoughts_hold_the_score_is_the_score(thoughts, reason, number):
    said = json.dumps({"thoughts": thoughts, "reason": reason, "score": number})
    assert score(said) == number
    assert score(f"```json\n{said}\n```") == number


@pytest.mark.parametrize("nested", ['{"a":' * 30_000, "[" * 90_000, "{" * 90_000, "<S0>" * 20_000])
def test_deep_or_repeated_text_is_only_unreadable(nested):
    why(nested)


@pytest.mark.parametrize("space", [" ", "\n", "\u3000"])
def test_a_reply_of_white_space_does_not_hang(space, no_hang):
    found = read_reply(f"Hm.{space * (MAX_REPLY - 50)}</think>4", ["score"], FIVE)
    assert found == Reading({"score": 4.0}, "", "Hm.")


def test_the_tag_of_thoughts_is_no_thought():
    found = read_reply("\n <THINK>Well.</think>\n3", ["score"], FIVE)
    assert found == Reading({"score": 3.0}, "", "Well.")
    assert why("  <thinking>Well, 3") == "it holds thoughts and no answer"
