"""Corpora, questions, grades and case files: what is read, and what is refused with its place."""

import pytest

from closecall.errors import DatasetError, UsageError
from closecall.retrieval.qrels import read_qrels
from closecall.retrieval.reading import open_collection

CORPUS = (
    {"_id": "b", "title": "Tea", "text": "Steep it for three minutes."},
    {"_id": "a", "text": "Water boils sooner on a mountain."},
)
QUERIES = (
    {"_id": "q1", "text": "How long for tea?", "metadata": {"group": "kitchen", "level": 2}},
    {"_id": 7, "text": "Where does water boil sooner?", "tags": ["hard"], "kind": "physics"},
)
QRELS = "query-id\tcorpus-id\tscore\nq1\tb\t2\nq1\ta\t0\n7\ta\t1\n"


@pytest.fixture
def folder(write_rows, write_text, tmp_path):
    write_rows("set/corpus.jsonl", *CORPUS)
    write_rows("set/queries.jsonl", *QUERIES)
    write_text("set/qrels.tsv", QRELS)
    return tmp_path / "set"


def test_a_beir_folder_is_read_with_documents_by_id_and_questions_as_they_came(folder):
    found = open_collection([folder])
    assert [document.id for document in found.documents] == ["a", "b"]
    assert [(query.id, query.group, query.tags) for query in found.queries] == [
        ("q1", "kitchen", ()),
        ("7", None, ("hard",)),
    ]
    assert found.queries[0].metadata == {"group": "kitchen", "level": 2}
    assert found.queries[1].metadata["kind"] == "physics"
    assert found.grades == {"q1": {"b": 2, "a": 0}, "7": {"a": 1}}
    assert found.name == "set"
    assert found.documents[1].body() == "Tea Steep it for three minutes."
    assert found.documents[1].body(title=False) == "Steep it for three minutes."


def test_three_files_are_read_as_the_folder_is(folder):
    three = [folder / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")]
    assert open_collection(three).grades == open_collection([folder]).grades


def test_two_paths_are_a_usage_error_that_says_what_to_give(folder):
    with pytest.raises(UsageError, match="CORPUS QUERIES QRELS"):
        open_collection([folder, folder])


def test_splits_are_found_and_listed(folder, write_text):
    (folder / "qrels.tsv").unlink()
    write_text("set/qrels/test.tsv", QRELS)
    write_text("set/qrels/dev.tsv", QRELS.replace("q1\tb\t2\n", ""))
    assert open_collection([folder]).grades["q1"] == {"b": 2, "a": 0}
    assert open_collection([folder], split="dev").grades["q1"] == {"a": 0}
    with pytest.raises(DatasetError, match=r"splits dev, test"):
        open_collection([folder], split="train")


def test_trec_grades_read_as_beir_grades_do(write_text):
    beir = read_qrels(write_text("a.tsv", QRELS))
    trec = read_qrels(write_text("b.qrels", "q1 0 b 2\nq1 Q0 a 0\n7  0\ta 1\n"))
    assert trec == beir


def test_beir_grades_without_a_header_and_ids_with_blanks(write_text):
    path = write_text("a.tsv", "how much is it\tdoc one\t1\n")
    assert read_qrels(path) == {"how much is it": {"doc one": 1}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1 0 a 1\nq1 0 a 2\n", r"bad\.qrels:2: 'a' was graded for 'q1' in line 1"),
        ("q1 0 a 1\nq1 a 2\n", r"bad\.qrels:2: expected 4 columns .* got 3"),
        ("q1 0 a 1\nq1 0 b 1.5\n", r"bad\.qrels:2: grade: expected a whole number"),
        ("q1\ta\tmuch\n", r"bad\.qrels:1: score: expected a whole number .*got 'much'"),
        ("query-id\tcorpus-id\tscore\n", "no relevance grades"),
        ("q1 0 a 99999999999\n", "whole number of at most 1,000,000"),
    ],
)
def test_grades_that_are_refused(write_text, text, said):
    with pytest.raises(DatasetError, match=said):
        read_qrels(write_text("bad.qrels", text))


def test_everything_wrong_with_a_corpus_is_said_at_once(folder, write_rows):
    write_rows(
        "set/corpus.jsonl",
        *CORPUS,
        {"_id": "a", "text": "again"},
        {"_id": "", "text": "blank id"},
        {"_id": "c"},
        {"_id": "d", "text": "x", "title": 5},
        "not json",
    )
    with pytest.raises(DatasetError) as caught:
        open_collection([folder])
    said = str(caught.value)
    assert "corpus.jsonl:3: _id: 'a' stands in line 2 already" in said
    assert "corpus.jsonl:4: _id: expected an id" in said
    assert "corpus.jsonl:5: text: expected a text, got nothing" in said
    assert "corpus.jsonl:6: title: expected a text, got 5" in said
    assert "corpus.jsonl:7: not valid JSON" in said
    assert caught.value.count == 5


def test_questions_that_are_refused(folder, write_rows):
    write_rows(
        "set/queries.jsonl",
        {"_id": "q1", "text": "a", "metadata": ["x"]},
        {"_id": "q2", "text": "b", "group": 1.5},
        {"_id": "q2", "text": "b", "tags": "x"},
    )
    with pytest.raises(DatasetError) as caught:
        open_collection([folder])
    said = str(caught.value)
    assert "queries.jsonl:1: metadata: expected an object" in said
    assert "queries.jsonl:2: group: expected a text, got 1.5" in said
    assert "queries.jsonl:3: tags: expected a list of texts" in said


def test_grades_of_what_is_not_there_are_counted(folder, write_text):
    write_text("set/qrels.tsv", QRELS + "q1\tgone\t1\nq1\tzero\t0\nwho\ta\t1\n")
    found = open_collection([folder])
    assert found.strange_queries == 1
    assert found.strange_documents == 1, "one with grade 0 makes no difference to anything"
    assert found.grades["q1"]["gone"] == 1
    assert "who" not in found.grades


def test_a_missing_file_of_a_folder_is_named(folder):
    (folder / "queries.jsonl").unlink()
    with pytest.raises(DatasetError, match=r"has no queries\.jsonl"):
        open_collection([folder])


def test_a_case_file_is_a_collection_of_all_its_passages(write_rows):
    path = write_rows(
        "cases.jsonl",
        {
            "id": "c1",
            "input": "How long is a return possible?",
            "context": [{"id": "returns", "text": "Thirty days."}, "We ship on Mondays."],
            "relevant": ["returns"],
            "group": "shop",
            "colour": "red",
        },
        {
            "input": "When do you ship?",
            "context": ["We ship on Mondays.", {"text": "We are closed in May."}],
            "metadata": {"relevant_ids": [0]},
        },
        {
            "id": "c3",
            "input": "When are you closed?",
            "context": ["Nothing here."],
            "relevant": {"We are closed in May.": 2, "returns": 1},
        },
        {"id": "c4", "input": "Unjudged?", "context": ["Nothing here."]},
    )
    found = open_collection([path])
    texts = {document.id: document.text for document in found.documents}
    assert sorted(texts.values()) == [
        "Nothing here.",
        "Thirty days.",
        "We are closed in May.",
        "We ship on Mondays.",
    ]
    named = {
        query: {texts[document]: grade for document, grade in graded.items()}
        for query, graded in found.grades.items()
    }
    assert named == {
        "c1": {"Thirty days.": 1},
        "row_2": {"We ship on Mondays.": 1},
        "c3": {"We are closed in May.": 2, "Thirty days.": 1},
        "c4": {},
    }
    assert found.queries[0].group == "shop"
    assert found.queries[0].metadata == {"group": "shop", "colour": "red"}
    assert [query.id for query, _ in found.asked()] == ["c1", "row_2", "c3"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"input": "a", "context": ["x"], "relevant": ["y"]}],
            r"cases\.jsonl:1: relevant\[0\]: 'y' is neither the id nor the text of a passage",
        ),
        ([{"input": "a", "context": ["x"], "relevant": [1]}], r"relevant\[0\]: 1 is neither"),
        ([{"input": "a", "context": ["x"]}], "no case says which passages are relevant"),
        ([{"input": "a", "context": [], "relevant": []}], "context: expected a list of passages"),
        ([{"context": ["x"], "relevant": [0]}], "input: expected a text, got nothing"),
        (
            [
                {
                    "input": "a",
                    "context": [{"id": "p", "text": "x"}, {"id": "p", "text": "y"}],
                    "relevant": ["p"],
                }
            ],
            r"context\[1\]\.id: 'p' is the id of another text too",
        ),
        (
            [{"id": "1", "input": "a", "context": ["x"], "relevant": [0]}] * 2,
            r"cases\.jsonl:2: id: '1' is the id of an earlier case too",
        ),
    ],
)
def test_case_files_that_are_refused(write_rows, rows, said):
    with pytest.raises(DatasetError, match=said):
        open_collection([write_rows("cases.jsonl", *rows)])


def test_a_table_is_no_case_file_for_retrieval(write_text):
    with pytest.raises(DatasetError, match="JSON Lines"):
        open_collection([write_text("cases.csv", "input,context\na,b\n")])
