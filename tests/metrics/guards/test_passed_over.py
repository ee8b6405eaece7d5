"""Texts that a guard does not read to the end: it says what it would say had it read them."""

from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.metrics.guards import (
    antonyms,
    negation,
    number_comparison,
    number_words,
    quantifiers,
    quantity_reader,
)
from closecall.metrics.guards.metric import GUARDS

LOOKS = (
    (negation, "may_negate"),
    (antonyms, "_may_oppose"),
    (quantifiers, "_may_quantify"),
    (quantity_reader, "_may_count"),
    (number_words, "_begins"),
)
WORDS = (
    "cat door open closed opens unopened harmless harmful rise fell happy unhappy Paris Anna the is "
    "a an not never n't isn't fails to avoids instead of rather than without no longer yes no No "
    "all most the few only at least up to no more than everybody hardly half dozen twice two "
    "hundred first forty million thirties II third km days 5 12 in March at noon , . ; but "
    "nicht kein ohne alle mindestens zwei zweitausend elf März ne pas jamais tous deux au moins "
    "nunca todos dos al menos sim"
)
TEXTS = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=9).map(" ".join)


@contextmanager
def everything_read():
    """Have the guards read every word of every text."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in LOOKS:
            patch.setattr(module, name, lambda *_: True)
        number_comparison._quantities.cache_clear()
        yield
    number_comparison._quantities.cache_clear()


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
@given(TEXTS, TEXTS, st.one_of(st.none(), TEXTS))
@settings(max_examples=150, deadline=None)
def test_what_is_passed_over_would_have_said_nothing(guard, reference, response, question):
    found = guard.check(reference, response, question)
    with everything_read():
        assert guard.check(reference, response, question) == found


@pytest.mark.parametrize(
    ("name", "reference", "response", "state"),
    [
        ("negation", "It is open.", "It is not open.", "differ"),
        ("negation", "Yes.", "Yes.", "agree"),
        ("antonyms", "The door is open.", "The door is closed.", "differ"),
        ("antonyms", "The cat is kind.", "The cat is unkind.", "differ"),
        ("quantifiers", "Up to two cats", "At least two cats", "differ"),
        ("numbers", "forty cats", "thirty cats", "differ"),
        ("numbers", "a dozen cats", "two cats", "differ"),
        ("numbers", "in the XX century", "in the XIX century", "differ"),
        ("numbers", "in the thirties", "in the forties", "differ"),
    ],
)
def test_one_word_is_enough_to_be_read(name, reference, response, state):
    assert GUARDS[name].check(reference, response).state == state
