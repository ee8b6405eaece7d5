"""The labelled rows as columns, and back."""

import msgspec
import numpy as np
import pytest
from made_cases import material, scored, usual

from closecall.calibration.sample import (
    Sample,
    SliceColumn,
    part,
    sample_of,
    slicer_without_texts,
    units,
)

SCORES = [0.1234567, 0.5, 0.25, 0.75]
LABELS = [False, True, False, True]


def columns(texts=True, locked=(), decimals=6, **fields):
    made = material(scored(SCORES, LABELS, **fields))
    data = made.rows.labelled(decimals)
    aside = np.zeros(4, dtype=bool)
    aside[list(locked)] = True
    return made, data, sample_of(made.rows, data, made.slices, aside, texts=texts)


def test_a_column_has_an_entry_a_row_in_the_order_of_the_file():
    _, _, sample = columns(locked=[2], response=["one", "three", "", "seven!"])
    assert sample.ids == ("c0", "c1", "c2", "c3")
    assert sample.scores == (0.123457, 0.5, 0.25, 0.75)
    assert sample.accept == "rara"
    assert sample.lengths == (3, 5, 0, 6)
    assert sample.references == (1, 1, 1, 1)
    assert sample.locked == (2,)
    assert [texts.response for texts in sample.texts] == ["one", "three", "", "seven!"]
    assert sample.texts[3].references == ("reference 0003",)


@pytest.mark.parametrize("groups", [None, ["x", "y", "x", "z"]])
def test_the_arrays_come_back_as_they_were(groups):
    fields = {} if groups is None else {"group": groups}
    _, data, sample = columns(locked=[1, 2], **fields)
    back = msgspec.json.decode(msgspec.json.encode(sample), type=Sample)
    assert back == sample
    for locked, rows in [(None, [0, 1, 2, 3]), (True, [1, 2]), (False, [0, 3])]:
        found = back.labelled(6, locked=locked)
        assert found.scores.tolist() == data.scores[rows].tolist()
        assert found.accept.tolist() == data.accept[rows].tolist()
        assert found.decimals == 6
        if groups is None:
            assert found.groups is None
        else:
            assert found.groups.tolist() == data.groups[rows].tolist()


def test_slices_come_back_row_by_row():
    made, _, sample = columns(
        response=["30 days", "no idea", "thirty", "x"],
        tags=[("a", "b"), (), ("b",), ()],
        references=[("60 days",), ("yes",), (), ("x",)],
    )
    for at, expected in enumerate(made.slices):
        assert sample.slices_of_row(at) == expected
    assert sample.slices["negation"].values == ("cue", "none")
    assert sample.slices["tags:a"].codes == (0, -1, -1, -1)


def test_without_texts_there_is_no_text_of_a_case_anywhere():
    secret = [f"secret words {at}" for at in range(4)]
    _, _, sample = columns(
        texts=False, input=secret, response=secret, references=[(text,) for text in secret],
        context=[(text,) for text in secret],
    )  # fmt: skip
    assert sample.texts is None
    assert b"secret" not in msgspec.json.encode(sample)


LONG = "a secret answer that goes on for more than the sixty characters of the value of a slice"


def test_a_slice_that_says_a_whole_text_is_dropped_where_no_texts_are_kept():
    fields = {
        "input": ["secret one", "secret two", "none", "latin"],
        "response": ["secret  three", LONG, "none", "four"],
        "references": [("secret five", "1"), ("1",), ("1",), ("1",)],
        "context": [("secret six",), (), (), ()],
        "tags": [("secret one", "web"), ("secret five", "web"), ("1",), ("secret six", "app")],
        "metadata": [
            {"said": "secret three", "bot": "four"},
            {"said": LONG, "bot": "x"},
            {"said": "secret six", "bot": "x"},
            {"said": "kept: secret", "bot": "x"},
        ],
    }
    made = material(scored(SCORES, LABELS, **fields), slices=["said"])
    data, nothing = made.rows.labelled(6), np.zeros(4, dtype=bool)
    assert "tags:secret one" in made.slices[0]
    sample = sample_of(made.rows, data, made.slices, nothing, texts=False)
    assert sample.slices["said"].values == ("kept: secret",)
    assert sample.slices["said"].codes == (-1, -1, -1, 0)
    assert sample.slices["system"].values == ("x",)
    assert sorted(name for name in sample.slices if name.startswith("tags:")) == [
        "tags:app",
        "tags:web",
    ]
    assert b"a secret answer" not in msgspec.json.encode(sample)
    # Words that closecall itself has for a slice are no text, though a text may be the same.
    assert sample.slices["references"].values == ("1", "2")
    assert sample.slices["negation"].values == ("cue", "none")
    assert sample.slices["script"].values == ("latin",)
    # Where the texts are kept, so are the values.
    kept = sample_of(made.rows, data, made.slices, nothing, texts=True)
    assert "secret six" in kept.slices["said"].values


def test_nor_does_the_slicer_name_one():
    fields = {
        "response": [f"secret {at}" for at in range(120)],
        "metadata": [
            {"said": f"secret {at}" if at % 2 else f"type {at % 40}"} for at in range(120)
        ],
    }
    made = material(usual(60, 60, **fields), slices=["said"])
    assert b"secret" in msgspec.json.encode(made.slicer)
    bare = slicer_without_texts(made.slicer, made.rows.cases)
    assert b"secret" not in msgspec.json.encode(bare)
    assert bare.pooled["said"].kept
    assert bare.length_edges == made.slicer.length_edges


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accept": "rar"}, "not all of 4 rows"),
        ({"places": ()}, "not all of 4 rows"),
        ({"scores": (0.5,)}, "not all of 4 rows"),
        ({"texts": ()}, "not all of 4 rows"),
        ({"slices": {"x": SliceColumn(values=("v",), codes=(0, 0))}}, "not all of 4 rows"),
        ({"accept": "raRa"}, "allowed are the characters a and r"),
        ({"locked": (4,)}, "numbered from 0 to 3"),
        ({"locked": (-1,)}, "numbered from 0 to 3"),
        ({"locked": (2, 2)}, "each row once, in order"),
        ({"scores": (0.1, float("nan"), 0.2, 0.3)}, "every score is finite"),
        ({"lengths": (1, -1, 1, 1)}, "lengths: none is below 0"),
        ({"references": (1, -1, 1, 1)}, "references: none is below 0"),
    ],
    ids=lambda value: None if isinstance(value, str) else next(iter(value)),
)
def test_columns_that_do_not_fit_together_are_refused(change, message):
    sample = columns()[2]
    with pytest.raises(ValueError, match=message):
        msgspec.structs.replace(sample, **change)


def test_a_slice_number_without_a_value_is_refused():
    for codes in [(1,), (-2,)]:
        with pytest.raises(ValueError, match="no such number"):
            SliceColumn(values=("v",), codes=codes)


def test_a_part_keeps_numbers_of_groups_and_counts_them():
    made = material(usual(40, 40, group=[f"g{at % 30}" for at in range(80)]))
    data = made.rows.labelled()
    chosen = np.arange(80) % 3 == 0
    found = part(data, chosen)
    assert found.groups.tolist() == data.groups[chosen].tolist()
    assert units(found, found.accept) == len(set(data.groups[chosen & data.accept]))
    alone = material(usual(40, 40)).rows.labelled()
    assert units(alone, alone.accept) == 40
