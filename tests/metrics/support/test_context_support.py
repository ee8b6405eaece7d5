"""``context_support``: the sentence that the context supports least counts and is named."""

import pytest
from word_reader import WordReader, tokens

from closecall import Case
from closecall.metrics.support.context import CONTEXT_ROOM, MOST_SENTENCES, ContextSupport
from closecall.records import Unmeasured

CONTEXT = "The pump is drained in autumn. The tank holds ten litres."


def case(response, *context, asked=None):
    return Case(id="a", input=asked, response=response, context=context)


def measure(reader, one, **options):
    return ContextSupport(model=reader, **options).measure(one, {})


def test_the_weakest_sentence_counts_and_is_named(reader):
    response = " The pump is drained in autumn.\r\nThe tank holds nine apples. "
    found = measure(reader, case(response, CONTEXT))
    assert found.value == pytest.approx(0.6)
    details = found.details
    assert details["sentences"] == 2
    assert details["weakestSentence"] == "The tank holds nine apples."
    assert details["weakestSentenceSupport"] == found.value
    assert details["supports"] == [1.0, found.value]
    start, end = details["weakestSentenceAt"]
    assert response.replace("\r\n", "\n")[start:end] == "The tank holds nine apples."


def test_every_word_of_the_response_is_read(reader):
    long = " ".join(f"the pump of house {at} is drained by hand" for at in range(5))
    response = f"Yes. {long}. No! The tank holds ten litres. Really"
    found = measure(reader, case(response, CONTEXT))
    read = [word for _, second in reader.asked[0] for word in tokens(second)]
    assert read == tokens(response)
    assert found.tokens["response"].seen == found.tokens["response"].total == len(read)
    assert found.details["readings"] != found.details["sentences"]


def test_a_sentence_without_matter_stands_with_the_next(reader):
    measure(reader, case("Yes. The tank holds ten litres. Not here.", CONTEXT))
    assert [second for _, second in reader.asked[0]] == [
        "Yes. The tank holds ten litres. Not here."
    ]
    measure(reader, case("Yes.", CONTEXT))
    assert [second for _, second in reader.asked[1]] == ["Yes."]


def test_a_long_context_is_read_where_it_covers_the_sentence(reader):
    padding = "The boiler hums all day long here. " * 10
    found = measure(reader, case("The pump is drained.", padding, padding + CONTEXT))
    ((first, _),) = reader.asked[0]
    assert "The pump is drained in autumn." in first
    assert found.value == 1.0
    details = found.details
    assert (details["passages"], details["bestPassage"]) == (2, 1)
    assert details["contextSentences"]["of"] == 22
    assert details["contextSentences"]["read"] < 8
    assert found.tokens["context"].truncated


def test_only_so_much_of_a_context_is_read_as_the_model_sees_through():
    reader = WordReader(window=256)
    padding = "The boiler hums all day long here. " * 15
    found = measure(reader, case("The pump is drained.", padding + CONTEXT))
    ((first, _),) = reader.asked[0]
    assert reader.count(first) <= CONTEXT_ROOM < reader.count(padding)
    assert found.value == 1.0
    assert found.tokens["context"].seen == reader.count(first)


def test_the_sentences_read_may_be_of_several_passages(reader):
    padding = "The boiler hums all day long here. " * 10
    one = case("The pump the tank.", f"The pump is old. {padding}", f"{padding}The tank is new.")
    assert measure(reader, one).value == 1.0
    first = reader.asked[0][0][0]
    assert first.index("The pump is old.") < first.index("The tank is new.")


def test_each_sentence_has_its_own_part_of_a_long_context(reader):
    padding = "The boiler hums all day long here. " * 10
    one = case("The old pump. The new tank.", f"The pump is old. {padding}The tank is new.")
    found = measure(reader, one)
    assert found.value == 1.0
    assert found.tokens["context"].windows == len({first for first, _ in reader.asked[0]}) == 2
    assert (
        found.tokens["context"].seen
        < found.tokens["context"].total
        == reader.count(one.context[0])
    )


def test_a_context_that_fits_is_read_whole_for_every_sentence(reader):
    found = measure(reader, case("The pump. The tank.", "The pump is old.", "The tank is new."))
    assert {first for first, _ in reader.asked[0]} == {"The pump is old. The tank is new."}
    assert "contextSentences" not in found.details
    assert not found.tokens["context"].truncated
    assert found.details["bestPassage"] == 0


def test_the_question_is_read_where_that_is_asked_for(reader):
    one = case("Ten litres.", CONTEXT, asked="How much?")
    assert measure(reader, one).details["question"] is False
    assert reader.asked[-1][0][0] == CONTEXT
    assert measure(reader, one, question=True).details["question"] is True
    assert reader.asked[-1][0][0] == f"How much? {CONTEXT}"
    assert ContextSupport(model=reader, question=True).spec.id == "context_support:question=true"


def test_the_passes_of_a_response_are_bounded():
    reader = WordReader(window=256)
    response = " ".join(f"Sentence {at} is here." for at in range(1000))
    found = measure(reader, case(response, CONTEXT))
    assert len(reader.asked[0]) <= MOST_SENTENCES
    assert found.details["sentences"] == 1000
    assert [word for _, second in reader.asked[0] for word in tokens(second)] == tokens(response)


def test_passages_that_cannot_be_read_are_left_out_and_named(reader):
    found = measure(reader, case("The tank.", "насос осенью", CONTEXT, " "))
    assert found.details["unreadPassages"] == [0]
    assert (found.details["passages"], found.details["bestPassage"]) == (1, 1)
    found = measure(reader, case("The tank.", "осенью"), language="any")
    assert found.reason == "the passage has no token that the model knows"


def test_a_sentence_that_cannot_be_read_leaves_the_case_unmeasured(reader):
    found = measure(reader, case("The tank is new.\nОсенью\nThe end.", CONTEXT), language="any")
    assert found == Unmeasured(
        "the response has a sentence that has no token that the model knows"
    )


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (case("a"), "the case's context is missing"),
        (case("a", " "), "the case's context is blank"),
        (case(None, "a"), "the case's response is missing"),
        (case("La pompe est vide et ne sert pas.", "a"), "the response is in French"),
        (case("a", "Die Pumpe wird im Herbst nicht entleert."), "the passage is in German"),
    ],
)
def test_what_cannot_be_measured_says_why_and_asks_nothing(reader, one, said):
    metric = ContextSupport(model=reader)
    found = metric.texts(one)
    assert isinstance(found, Unmeasured)
    assert said in found.reason
    assert metric.measure(one, {}) == found
    assert reader.asked == []


def test_a_batch_is_one_call_and_equal_pairs_are_read_once(reader):
    metric = ContextSupport(model=reader)
    cases = [case("The pump. The tank.", CONTEXT), case("The tank.", CONTEXT)]
    found = metric.measure_batch(cases, {})
    assert [len(pairs) for pairs in reader.asked] == [2]
    assert found == [metric.measure(one, {}) for one in cases]


def test_numbers_of_a_list_citations_and_headings_are_no_sentences(reader):
    response = "## How\n1. Drain the pump in autumn [2].\n2. The tank holds ten.\n**Then**"
    found = measure(reader, case(response, CONTEXT))
    read = [second.split() for _, second in reader.asked[0]]
    assert read == [
        ["Drain", "the", "pump", "in", "autumn", "."],
        ["The", "tank", "holds", "ten."],
    ]
    assert (found.details["sentences"], found.details["headings"]) == (2, 2)
    assert found.details["weakestSentence"] == "Drain the pump in autumn [2]."
    start, end = found.details["weakestSentenceAt"]
    assert response[start:end] == "Drain the pump in autumn [2]."


def test_a_heading_alone_is_read(reader):
    measure(reader, case("**ten litres**", CONTEXT))
    assert [second for _, second in reader.asked[0]] == ["**ten litres**"]


def test_a_sentence_that_stands_in_the_context_has_one_and_is_not_asked_about(reader):
    response = "The tank holds ten litres [1]. The pump is red."
    found = measure(reader, case(response, "The tank  holds ten litres.", CONTEXT))
    assert found.details["supports"] == [1.0, 0.75]
    assert [second for _, second in reader.asked[0]] == ["The pump is red."]


# Where all of them fit, passages are whole, and so both beside the one count as its neighbours.
@pytest.mark.parametrize(("window", "after"), [(40, ""), (256, " The boiler 3 hums.")])
def test_passages_that_have_nothing_to_do_with_a_sentence_are_not_read(window, after):
    reader = WordReader(window=window)
    others = [f"The boiler {at} hums." for at in range(6)]
    measure(reader, case("The pump is in autumn drained.", *others[:3], CONTEXT, *others[3:]))
    ((first, _),) = reader.asked[0]
    assert first == f"{others[2]} {CONTEXT}{after}"
