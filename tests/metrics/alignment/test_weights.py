"""What a token or word weighs: where it stands in the question, and function words."""

import pytest

from closecall.metrics.alignment.weights import (
    CONTENT,
    FUNCTION,
    FUNCTION_WORDS,
    IN_QUESTION,
    LONGEST_QUESTION,
    question_words,
    token_weights,
    word_weights,
)

NONE = frozenset()


def spans_of(text):
    found, at = [], 0
    for word in text.split():
        at = text.index(word, at)
        found.append((at, at + len(word)))
        at += len(word)
    return found


def test_words_of_a_question():
    assert question_words("Who wrote The Tower?") == {"who", "wrote", "tower"}
    assert question_words(None) == question_words("") == question_words("?!") == NONE
    assert question_words("word " * LONGEST_QUESTION) == {"word"}
    assert question_words("word " * (LONGEST_QUESTION + 1)) == NONE


def test_words_of_the_question_weigh_less():
    asked = question_words("Who wrote the Tower?")
    assert word_weights(["tower", "of", "london"], asked).tolist() == [IN_QUESTION, 1, 1]
    text = "Tower of London"
    assert token_weights(text, spans_of(text), asked).tolist() == [IN_QUESTION, 1, 1]


def test_a_part_of_a_word_weighs_as_the_word():
    asked = question_words("Is the lighthouse keeper paid?")
    text = "lighthouses, keeper"
    spans = [(0, 5), (5, 11), (11, 12), (13, 17), (17, 19)]
    want = [1, 1, 1, IN_QUESTION, IN_QUESTION]
    assert token_weights(text, spans, asked).tolist() == want


def test_a_character_of_a_script_without_spaces_is_a_word():
    asked = question_words("\u4e1c\u4eac\u5728\u54ea\u91cc")
    text = "\u4e1c\u4eac\u5854"
    spans = [(0, 1), (1, 2), (2, 3)]
    assert token_weights(text, spans, asked).tolist() == [IN_QUESTION, IN_QUESTION, 1]
    words = list(text)
    assert word_weights(words, asked).tolist() == [IN_QUESTION, IN_QUESTION, 1]


def test_function_words_weigh_less_under_content_only():
    text = "The parcel is at Der Hof"
    assert token_weights(text, spans_of(text), NONE) is None
    want = [FUNCTION, 1, FUNCTION, FUNCTION, FUNCTION, 1]
    assert token_weights(text, spans_of(text), NONE, CONTENT).tolist() == want
    assert word_weights(text.lower().split(), NONE, CONTENT).tolist() == want
    both = word_weights(["is", "parcel"], question_words("is it?"), CONTENT)
    assert both.tolist() == [IN_QUESTION * FUNCTION, 1]


@pytest.mark.parametrize("words", [
    "not no never none nothing without neither nor cannot",
    "nicht kein keine nie ohne pas jamais sans aucun nunca nada sin ningún",
    "all some any every each many few most more less only both can could may must should",
    "die war son pour sin era",
])  # fmt: skip
def test_what_turns_a_meaning_keeps_its_weight(words):
    assert not FUNCTION_WORDS & set(words.split())
