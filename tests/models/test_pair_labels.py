"""Which label says yes: read where it is clear, refused where it would be a guess."""

from itertools import permutations
from pathlib import Path

import pytest

from closecall.errors import ModelError, UsageError
from closecall.models.pair_labels import choose, read_names

PATH = Path("m/config.json")


def names(config):
    return read_names(config, PATH)


def chosen(*labels, positive=None):
    found = choose(labels, positive, PATH)
    return found.names[found.positive], found.entailment


@pytest.mark.parametrize("order", list(permutations(["entailment", "neutral", "contradiction"])))
def test_the_three_labels_of_inference_are_known_in_any_order(order):
    assert chosen(*order) == ("entailment", True)
    assert chosen(*(name.upper() for name in order)) == ("ENTAILMENT", True)


@pytest.mark.parametrize(
    ("labels", "yes", "entailment"),
    [
        (("not_duplicate", "duplicate"), "duplicate", False),
        (("duplicate", "not_duplicate"), "duplicate", False),
        (("not_entailment", "entailment"), "entailment", True),
        (("entailment", "non-entailment"), "entailment", True),
        (("Entailment", "Contradiction"), "Entailment", True),
        (("relevant", "irrelevant"), "relevant", False),
        (("not relevant", "relevant"), "relevant", False),
        (("dissimilar", "similar"), "similar", False),
        (("SUPPORTED", "REFUTED"), "SUPPORTED", False),
        (("hallucinated", "consistent"), "consistent", False),
        (("inconsistent", "consistent"), "consistent", False),
    ],
)
def test_two_labels_are_clear_where_one_denies_the_other(labels, yes, entailment):
    assert chosen(*labels) == (yes, entailment)


@pytest.mark.parametrize(
    "labels",
    [
        ("LABEL_0", "LABEL_1"),
        ("LABEL_0", "LABEL_1", "LABEL_2"),
        ("toxic", "not_toxic"),
        ("hallucinated", "not_hallucinated"),
        ("0", "1"),
        ("negative", "positive"),
        ("yes", "no"),
        ("relevant", "duplicate"),
        ("entailment", "neutral", "other"),
        ("entailment", "entails", "contradiction"),
        ("a", "b", "c", "d"),
        ("contradiction", "neutral"),
    ],
)
def test_anything_else_is_refused_with_the_option_to_give(labels):
    with pytest.raises(ModelError) as caught:
        chosen(*labels)
    said = str(caught.value)
    assert said.startswith(f"{PATH}: ")
    assert all(repr(label) in said for label in labels)
    assert "cross_encoder:model=FOLDER:positive=NAME" in said


def test_a_label_named_by_hand_counts():
    assert chosen("LABEL_0", "LABEL_1", positive="label_1") == ("LABEL_1", False)
    assert chosen("toxic", "not toxic", positive="Not_Toxic") == ("not toxic", False)
    assert chosen("neutral", "entailment", "contradiction", positive="neutral")[1] is False
    with pytest.raises(UsageError, match=r"not a label of this model.*'LABEL_0', 'LABEL_1'"):
        chosen("LABEL_0", "LABEL_1", positive="1")
    with pytest.raises(UsageError, match="one output"):
        chosen("", positive="x")


def test_names_are_read_by_number_not_by_place():
    assert names({"id2label": {"1": "b", "0": "a"}}) == ("a", "b")
    assert names({"label2id": {"b": 1, "a": 0}}) == ("a", "b")
    twelve = {str(at): f"n{at}" for at in (10, 11, *range(10))}
    assert names({"id2label": twelve}) == tuple(f"n{at}" for at in range(12))


@pytest.mark.parametrize(
    "config",
    [{"id2label": {"0": "LABEL_0"}}, {"num_labels": 1}, {"label2id": {"score": 0}}],
)
def test_one_output_needs_no_name(config):
    assert names(config) == ("",)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "no id2label"),
        ({"num_labels": 2}, "no id2label"),
        ({"id2label": ["a", "b"]}, "expected an object of names"),
        ({"id2label": {"0": "a", "1": 2}}, "expected an object of names"),
        ({"id2label": {"0": "a", "2": "b"}}, "expected the numbers 0 to 1"),
        ({"id2label": {"a": "0", "b": "1"}}, "expected the numbers 0 to 1"),
        ({"id2label": {"0": "a", "1": "A "}}, "twice"),
        ({"id2label": {"0": "a", "1": "b"}, "num_labels": 3}, "num_labels is 3"),
        ({"id2label": {"0": "a", "1": "b"}, "label2id": {"a": 1, "b": 0}}, "different orders"),
        ({"label2id": {"a": 0, "b": 0}}, "one number"),
        ({"label2id": [1]}, "expected an object"),
        ({"id2label": {str(at): f"n{at}" for at in range(21)}}, "20 at most"),
        ({"id2label": {"0": "a", "1": "x" * 201}}, "names of at most 200 characters"),
        ({"id2label": {"0": "a", "1": "\ud800"}}, "half of a surrogate pair"),
    ],
)
def test_names_that_do_not_fit_are_refused(config, said):
    with pytest.raises(ModelError, match=said):
        names(config)
