"""Pairs longer than a model reads at once: every token is seen, or nothing is measured."""

import numpy as np
import pair_world
import pytest
from pair_world import by_hand
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.processors import RobertaProcessing, TemplateProcessing

from closecall.errors import ModelError
from closecall.metrics.pairs.metric import CrossEncoderScore
from closecall.metrics.pairs.tokenising import PairTokenizer, TooLongError
from closecall.records import Case, Measured, Unmeasured

FILLER = "in the garden the dog is tall and in the river the horse is thin "
FACT = "the cat is red and small "


def made(window=32, post_processor=None, *, typed=True):
    tokenizer = pair_world.tokenizer(post_processor)
    tokenizer.encode_special_tokens = True
    unknown = tokenizer.token_to_id("[UNK]")
    return PairTokenizer(tokenizer, window, "tokenizer.json", typed=typed, unknown=unknown)


def test_a_pair_that_fits_is_framed_as_the_tokenizer_frames_it():
    own = pair_world.tokenizer()
    for first, second in (("the cat is red", "a dog"), ("a", "b"), ("好 the", "the 好 cat")):
        expected = own.encode(first, second)
        rows = made().rows(made().text(first), made().text(second))
        assert [row.tolist() for row in rows.ids] == [expected.ids]
        assert [row.tolist() for row in rows.types] == [expected.type_ids]
        assert rows.first.windows == 1


def test_a_frame_without_token_types_is_read_too():
    roberta = RobertaProcessing(("[SEP]", 3), ("[CLS]", 2))
    own = pair_world.tokenizer(roberta)
    tokens = made(post_processor=roberta, typed=False)
    rows = tokens.rows(tokens.text("the cat"), tokens.text("red"))
    expected = own.encode("the cat", "red")
    assert rows.ids[0].tolist() == expected.ids
    assert rows.types[0].tolist() == expected.type_ids == [0] * 7


@pytest.mark.parametrize(
    ("template", "typed", "said"),
    [
        ("[CLS] $A $B:1 [SEP]:1", False, "nothing between the two texts"),
        ("[CLS] $A:0 $B:0 [SEP]:0", True, "nothing between the two texts"),
        ("[CLS] $B:1 [SEP] $A", True, "not first text, second text"),
    ],
)
def test_a_frame_that_does_not_part_the_texts_is_refused(template, typed, said):
    processor = TemplateProcessing(
        single="[CLS] $A", pair=template, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    with pytest.raises(ModelError, match=said):
        made(post_processor=processor, typed=typed)


def test_a_tokenizer_without_the_letters_is_refused():
    empty = Tokenizer(WordLevel({"x": 0}, unk_token="x"))  # noqa: S106 - a token
    with pytest.raises(ModelError, match=r"frames|makes no token|nothing between"):
        PairTokenizer(empty, 32, "tokenizer.json", typed=False, unknown=0)


@pytest.mark.parametrize("question", ["", "what colour is the cat ?"])
@pytest.mark.parametrize("count", [1, 3, 10, 40])
def test_windows_hold_every_token_the_whole_second_text_and_the_question(question, count):
    tokens = made(window=40)
    first = tokens.text(FILLER * count, question)
    second = tokens.text("the cat is red", question)
    rows = tokens.rows(first, second)
    lead = len(pair_world.words(question))
    assert first.lead == second.lead == lead
    whole = first.ids[lead:].tolist()
    own = []
    for row in rows.ids:
        assert len(row) <= 40
        inner = row.tolist()[1 : -len(second.ids) - 2]
        assert row.tolist()[-len(second.ids) - 1 : -1] == second.ids.tolist()
        assert inner[:lead] == first.ids[:lead].tolist()
        own.append(inner[lead:])
    joined, at = list(own[0]), len(own[0])
    for part in own[1:]:
        overlap = min(32, (40 - 3 - len(second.ids) - lead) // 4)
        assert joined[-overlap:] == part[:overlap]
        joined += part[overlap:]
        at += len(part) - overlap
    assert joined == whole
    assert rows.first.windows == len(rows.ids)
    assert (rows.first.seen, rows.first.total) == (len(first.ids), len(first.ids))


def test_a_second_text_that_leaves_no_room_is_too_long():
    tokens = made(window=32)
    short, long = tokens.text("the cat"), tokens.text("the cat is red " * 7)
    with pytest.raises(TooLongError) as caught:
        tokens.rows(tokens.text("the cat is red " * 2), long)
    assert caught.value.total == 8 + 28 + 3
    assert len(tokens.rows(tokens.text("the cat is red " * 7), short).ids) > 1


def test_a_fact_far_behind_is_found_in_its_window(folder):
    metric = CrossEncoderScore(model=folder, sides="context")
    long = FILLER * 20 + FACT + FILLER * 20
    found = metric.measure(Case(id="1", response="the cat is red", context=(long,)), {})
    assert isinstance(found, Measured)
    without = metric.measure(Case(id="2", response="the cat is red", context=(FILLER * 40,)), {})
    assert without.value < 0.1
    assert found.value > 0.7
    assert found.details["windows"] == {"toResponse": found.tokens["context"].windows}
    assert found.tokens["context"].windows > 10
    assert not found.tokens["context"].truncated
    assert found.tokens["response"].windows == 1


def test_the_best_window_counts(folder, weights):
    metric = CrossEncoderScore(model=folder, sides="context")
    long = FILLER * 8 + FACT + FILLER * 8
    found = metric.measure(Case(id="1", response="the cat is red", context=(long,)), {})
    words = long.split()
    # 64 tokens less four of the response and three of the frame, a quarter of them shared.
    values = [
        by_hand(weights, " ".join(words[at : at + 57]), "the cat is red")[0]
        for at in range(0, len(words) - 14, 57 - 14)
    ]
    assert found.tokens["context"].windows == len(values)
    assert found.value == pytest.approx(max(values), abs=2e-6)


def test_a_response_too_long_to_be_a_hypothesis_says_what_reads_it(folder):
    long = Case(id="1", response=FILLER * 20, references=("the cat is red",))
    found = CrossEncoderScore(model=folder).measure(long, {})
    assert isinstance(found, Unmeasured)
    assert "the model reads 64 at once" in found.reason
    assert "direction=from_response reads the response in windows" in found.reason
    read = CrossEncoderScore(model=folder, direction="from_response").measure(long, {})
    assert isinstance(read, Measured)
    assert read.tokens["response"].windows > 1


def test_a_reference_too_long_is_left_out_where_another_can_be_read(folder):
    metric = CrossEncoderScore(model=folder, direction="from_response")
    one = Case(id="1", response="the cat is red", references=(FILLER * 20, "the cat is red"))
    found = metric.measure(one, {})
    assert found.details["unreadReferences"] == [0]
    assert found.details["bestReference"] == 1


def test_a_huge_text_is_read_to_its_end(folder):
    metric = CrossEncoderScore(model=folder, sides="context")
    long = FILLER * 2000 + FACT
    short = Case(id="2", response="the cat is red", context=(FACT,))
    found, other = metric.measure_batch(
        [Case(id="1", response="the cat is red", context=(long,)), short], {}
    )
    assert found.tokens["context"].total == len(long.split())
    assert found.value > 0.7
    assert other.value == pytest.approx(metric.measure(short, {}).value, abs=1e-6)


def test_slabs_do_not_change_what_is_measured(folder, monkeypatch):
    metric = CrossEncoderScore(model=folder, sides="context")
    cases = [
        Case(id=str(at), response="the cat is red", context=(FILLER * at + FACT, "好", FILLER))
        for at in range(12)
    ]
    cases.insert(4, Case(id="x", response=FILLER * 9, context=(FACT, FACT)))
    together = metric.measure_batch(cases, {})
    monkeypatch.setattr("closecall.metrics.pairs.scoring.SLAB_TOKENS", 70)
    again = metric.measure_batch(cases, {})
    assert isinstance(together[4], Unmeasured)
    assert together[4] == again[4]
    values = [
        [one.value for one in found if isinstance(one, Measured)] for found in (together, again)
    ]
    assert np.allclose(*values, atol=1e-6)
    assert len(values[0]) == 12
