"""``answer_support``: the best group of references counts, and nothing is cut silently."""

import re

import pytest
from word_reader import WordReader

from closecall import Case
from closecall.errors import UsageError
from closecall.metrics.support.answer import AnswerSupport
from closecall.metrics.support.marks import unmarked
from closecall.records import Measured, Unmeasured

QUESTION = "When is the pump drained?"


def case(response, *references, asked=None, name="a"):
    return Case(id=name, input=asked, response=response, references=references)


def measure(reader, one, **options):
    return AnswerSupport(model=reader, **options).measure(one, {})


def test_the_question_is_read_before_the_reference(reader):
    found = measure(reader, case("in autumn", "in autumn", asked=f" {QUESTION}\r\n"))
    assert reader.asked == [[(f"{QUESTION} in autumn", "in autumn")]]
    assert (found.value, found.similarity, found.score) == (1.0, 1.0, 100.0)
    assert found.details == {"question": True}
    plain = measure(reader, case("in autumn", "in autumn"))
    assert reader.asked[-1] == [("in autumn", "in autumn")]
    assert plain.details == {"question": False}


def test_a_negation_is_seen(reader):
    assert measure(reader, case("it is not red", "it is red")).value == pytest.approx(0.1)


def test_short_references_are_read_together_and_the_nearest_is_named(reader):
    found = measure(reader, case("in late autumn", "every spring", "", "late in autumn"))
    assert reader.asked == [[("every spring / late in autumn", "in late autumn")]]
    assert found.details["references"] == 2
    assert found.details["bestReference"] == 2
    assert found.details["readTogether"] == [0, 2]


def test_the_best_group_counts():
    long = " ".join(f"word{at}" for at in range(70))
    found = measure(WordReader(window=256), case("in autumn", long, "in autumn", "by hand"))
    assert found.value == 1.0
    assert found.details["bestReference"] == 1
    assert found.details["readTogether"] == [1, 2]
    first = measure(WordReader(window=256), case("word3 word4", long, "in autumn"))
    assert (first.value, first.details["bestReference"]) == (1.0, 0)
    assert "readTogether" not in first.details


def test_a_long_response_is_read_where_it_covers_the_reference(reader):
    padding = "The boiler hums all day long here. " * 6
    response = f"{padding}They drain the pump in autumn. {padding}"
    found = measure(reader, case(response, "the pump is drained in autumn"))
    ((_, read),) = reader.asked[0]
    assert "They drain the pump in autumn." in read
    assert found.details["responseSentences"] == {"read": 4, "of": 13}
    assert found.tokens["response"].truncated
    assert found.tokens["response"].total == reader.count(response)
    assert found.tokens["response"].seen == reader.count(read)
    assert not found.tokens["reference"].truncated


def test_a_long_reference_and_a_long_question_are_read_in_part_too(reader):
    reference = "The tank is blue and old. " * 8 + "The pump is drained in autumn."
    asked = "I was here in May too. " * 8 + "When is the pump drained?"
    found = measure(reader, case("The pump is drained in autumn.", reference, asked=asked))
    ((first, read),) = reader.asked[0]
    assert read == "The pump is drained in autumn."
    assert "The pump is drained in autumn." in first
    assert "When is the pump drained?" in first
    assert found.details["questionSentences"]["of"] == 9
    assert found.details["referenceSentences"]["read"] < 9
    assert "responseSentences" not in found.details


def test_two_long_texts_share_what_there_is(reader):
    text = "The pump and the tank are drained in autumn. " * 10
    found = measure(reader, case(text, text))
    ((first, second),) = reader.asked[0]
    assert reader.count(first) >= 10
    assert reader.count(second) >= 10
    assert found.details["responseSentences"]["of"] == 10


def test_a_short_response_leaves_the_rest_to_the_reference(reader):
    reference = "The tank is blue and old. " * 8
    found = measure(reader, case("It is blue.", reference))
    assert found.tokens["reference"].seen == 28  # four of seven tokens, in a window of 40
    assert not found.tokens["response"].truncated


def test_what_is_read_of_a_response_must_be_known_to_the_model(reader):
    found = measure(reader, case("осенью. " * 60 + "x", "in autumn"), language="any")
    assert isinstance(found, Measured)  # full stops are known
    found = measure(reader, case("осенью " * 60 + "x", "in autumn"), language="any")
    assert found.reason == (
        "the part of the response that is read has no token that the model knows"
    )


def test_a_sentence_longer_than_the_window_is_read_in_pieces(reader):
    response = "so " * 90 + "the pump is drained in autumn " + "and " * 90
    found = measure(reader, case(response, "the pump is drained in autumn"))
    read = reader.asked[0][0][1]
    assert "pump" in read
    pieces = found.details["responseSentences"]
    assert 1 <= pieces["read"] < pieces["of"]
    assert found.tokens["response"].total == reader.count(response)


def test_a_word_longer_than_the_window_is_read_in_pieces():
    reader = WordReader(window=20)
    found = measure(reader, case("!" * 500, "the pump"))
    assert isinstance(found, Measured)
    assert found.tokens["response"].total == 500


def test_equal_pairs_are_read_once(reader):
    metric = AnswerSupport(model=reader)
    cases = [
        case(" in autumn" * (at < 2) or "in autumn\n", "in autumn", name=str(at))
        for at in range(5)
    ]
    found = metric.measure_batch([*cases, case("by hand", "in autumn")], {})
    assert [one.value for one in found] == [1.0] * 5 + [0.0]
    assert [len(pairs) for pairs in reader.asked] == [2]


def test_a_case_has_the_same_details_whatever_its_batch(reader):
    metric = AnswerSupport(model=reader)
    cases = [
        case("in autumn", "every spring", "in autumn", name="1"),
        case("The boiler hums all day long here. " * 9, "in autumn", asked=QUESTION, name="2"),
    ]
    assert metric.measure_batch(cases, {}) == [metric.measure(one, {}) for one in cases]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (case(None, "a"), "the case's response is missing"),
        (case(" \n", "a"), "the case's response is blank"),
        (case("a"), "the case's reference is missing"),
        (case("a", " "), "the case's reference is blank"),
        (case("Die Pumpe wird im Herbst mit dem Wasser entleert.", "a"), "response is in German"),
        (case("a", "насос осенью"), "the reference is not in Latin letters"),
        (case("a", "a", asked="Quand est-ce que la pompe est vide ?"), "question is in French"),
    ],
)
def test_what_cannot_be_measured_says_why_and_asks_nothing(reader, one, said):
    metric = AnswerSupport(model=reader)
    found = metric.texts(one)
    assert isinstance(found, Unmeasured)
    assert said in found.reason
    assert metric.measure(one, {}) == found
    assert reader.asked == []


def test_another_language_is_read_where_that_is_asked_for(reader):
    one = case("Die Pumpe wird im Herbst mit dem Wasser entleert.", "Die Pumpe wird entleert")
    assert "answer_support:language=any" in measure(reader, one).reason
    assert measure(reader, one, language="any").value > 0


def test_references_that_cannot_be_read_are_left_out_and_named(reader):
    found = measure(reader, case("in autumn", "осенью", "in autumn", "…"), language="any")
    assert found.value == 1.0
    assert found.details["unreadReferences"] == [0, 2]
    assert found.details["references"] == 1
    assert measure(reader, case("in autumn", "осенью", "in autumn")).details[
        "unreadReferences"
    ] == [0]


def test_texts_that_the_model_does_not_know_are_not_measured(reader):
    found = measure(reader, case("осенью", "in autumn"), language="any")
    assert found.reason == "the response has no token that the model knows"
    found = measure(reader, case("in autumn", "осенью"), language="any")
    assert found.reason == "the reference has no token that the model knows"
    found = measure(reader, case("in autumn", "in autumn", asked="когда"), language="any")
    assert found.reason == "the question has no token that the model knows"


def test_options_are_part_of_the_id_and_the_model_of_the_version(reader):
    assert AnswerSupport(model=reader).spec.id == "answer_support"
    plain = AnswerSupport(model=reader, language="any", explain=False)
    assert plain.spec.id == "answer_support:language=any:explain=false"
    assert AnswerSupport(model=reader).spec.version == "2+aa11"
    assert AnswerSupport(model=WordReader(digest="bb22")).spec.version == "2+bb22"
    with pytest.raises(UsageError, match="language must be one of english, any"):
        AnswerSupport(model=reader, language="german")
    with pytest.raises(UsageError, match="explain must be true or false"):
        AnswerSupport(model=reader, explain="maybe")
    with pytest.raises(UsageError, match="within 0 to 1"):
        AnswerSupport(60, model=reader)


def test_it_says_what_it_is(reader):
    spec = AnswerSupport(model=reader).spec
    assert (spec.needs, spec.low, spec.high) == (("references", "response"), 0.0, 1.0)
    assert spec.default_cutoff is None
    assert not spec.embeds
    assert spec.guarded


def test_the_model_is_loaded_before_the_first_case(reader):
    AnswerSupport(model=reader).load()
    assert reader.loads == 1


@pytest.mark.parametrize(
    "marked",
    [
        "it is red [3].",
        "it is red [1][2].",
        "it is red[^4], I think",
        "it is red\u30104\u2020guide\u3011.",
        "1. it is red\n2. it is red",
        "a) it is red\nb) it is red",
    ],
)
def test_marks_of_citations_and_lists_are_not_read(reader, marked):
    measure(reader, case(marked, "red it is [2]"))
    ((first, second),) = reader.asked[0]
    assert first == "red it is"
    assert not set("[]0123456789\u3010") & set(second)
    assert "it is red" in second


@pytest.mark.parametrize("answer", ["12. No, 13.", "x = [1]", "in [0, 1]", "A. B. Adams"])
def test_numbers_and_initials_that_say_something_are_read(reader, answer):
    measure(reader, case(answer, "red"))
    assert reader.asked[0] == [("red", answer)]


def test_a_response_that_is_a_reference_has_one_though_the_model_says_less():
    class Low(WordReader):
        def score(self, pairs):
            return super().score(pairs) / 4

    found = measure(Low(), case("It  is red [2].", "it is blue", "It is red"))
    assert (found.value, found.details["bestReference"]) == (1.0, 1)
    assert measure(Low(), case("It is rad", "It is red")).value < 0.25


def test_dots_alone_are_not_the_same_text(reader):
    assert measure(reader, case(".", "...")).value < 1.0


def test_a_long_list_loses_all_of_its_numbers():
    lines = "\n".join(f"{at % 900 + 1}. it is red" for at in range(5_000))
    read = unmarked(lines)
    assert len(read) == len(lines)
    assert not re.search(r"\d", read)
