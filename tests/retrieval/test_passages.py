"""A corpus read passage by passage."""

import json

import pytest

from closecall.errors import DatasetError, UsageError
from closecall.retrieval.beir import read_beir
from closecall.retrieval.passages import Passages


def lines(*rows):
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"


def test_a_passage_has_the_text_that_an_evaluation_searches(write_text):
    text = lines(
        {"_id": "a", "title": "Tea", "text": "Steep it.", "lang": "en"},
        {"_id": 2, "text": "Ünïcode ", "metadata": {"year": 2020}},
        {"_id": "c", "title": "Only a title", "text": ""},
    )
    path = write_text("corpus.jsonl", text)
    found = list(Passages(path))
    queries = write_text("q.jsonl", lines({"_id": "q", "text": "tea"}))
    qrels = write_text("r.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n")
    documents = {one.id: one.body() for one in read_beir(path, queries, qrels).documents}
    assert {row.id: row.text for row in found} == documents
    assert [row.metadata for row in found] == [
        {"title": "Tea", "lang": "en"},
        {"year": 2020},
        {"title": "Only a title"},
    ]
    with pytest.raises(DatasetError, match=r"corpus\.jsonl:3: text: is blank"):
        Passages(path, title=False).count()


def test_each_pass_yields_the_same_rows_and_none_that_was_left_out(write_text):
    path = write_text("c.jsonl", lines({"id": "a", "text": "1"}, {"id": "a", "text": "2"}, [1]))
    corpus = Passages(path, on_bad_row="skip")
    assert [row.text for row in corpus] == [row.text for row in corpus] == ["1"]
    counted = corpus.count()
    assert (counted.rows, counted.left_out, counted.flaws) == (1, 2, 2)
    assert [str(one).partition(": ")[0] for one in counted.problems] == ["c.jsonl:2", "c.jsonl:3"]
    assert "'a' is on line 1 too" in str(counted.problems[0])


def test_only_a_column_that_holds_nothing_but_numbers_gives_numbers(write_text):
    text = "id,text,year,zip,size,part\n1,a,2020,01234,1.5,7\n2,b,-3,55555,,8a\n"
    corpus = Passages(write_text("t.csv", text))
    assert [row.metadata for row in corpus] == [
        {"year": 2020, "zip": "01234", "size": 1.5, "part": "7"},
        {"year": -3, "zip": "55555", "part": "8a"},
    ]
    assert "numbers, as every cell is one: size, year" in corpus.reading


def test_rows_without_ids_may_be_numbered(write_text):
    path = write_text("c.jsonl", "\n" + lines({"passage": "a"}, {"passage": "b"}))
    found = list(Passages(path, mapping={"id": "@line", "text": "passage"}))
    assert [(row.id, row.text) for row in found] == [("2", "a"), ("3", "b")]
    with pytest.raises(DatasetError, match="--map text=COLUMN") as raised:
        Passages(path).count()
    assert "'passage'" in str(raised.value)
    with pytest.raises(UsageError, match="id=, text=, title="):
        Passages(path, mapping={"body": "passage"})


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "a", "text": 5}, "text: expected a text, got 5"),
        ({"id": "", "text": "b"}, "id: expected an id"),
        ({"id": True, "text": "b"}, "id: expected an id"),
        ({"id": "x" * 1025, "text": "b"}, "id: expected an id, a text of 1 to 1024 characters"),
        ({"id": "a", "text": "b", "metadata": [1]}, "metadata: expected an object"),
        ({"id": "a", "text": None}, "text: expected a text, got nothing"),
    ],
)
def test_what_is_wrong_with_a_row_is_told_by_its_field(row, told, write_text):
    path = write_text("c.jsonl", lines({"id": "ok", "text": "fine"}, row))
    with pytest.raises(DatasetError, match=f"c.jsonl:2: {told}"):
        Passages(path).count()


def test_files_that_are_no_corpus(tmp_path, write_text):
    for name, text in (("x.pdf", "a"), ("e.txt", "\n \n"), ("b.txt", "a\udcff")):
        (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match=r"\.jsonl"):
        Passages(tmp_path / "x.pdf")
    with pytest.raises(DatasetError, match="nothing but white space"):
        Passages(tmp_path / "e.txt")
    with pytest.raises(DatasetError, match=r"b\.txt:1: byte 2 of the line"):
        Passages(tmp_path / "b.txt").count()
    with pytest.raises(DatasetError, match=r"holds no corpus\.jsonl"):
        Passages(tmp_path)
    with pytest.raises(DatasetError, match="no such file"):
        Passages(tmp_path / "none.csv")


def test_a_file_that_changes_while_it_is_read_is_refused(write_text):
    path = write_text("c.txt", "one\ntwo\n")
    corpus = Passages(path)
    corpus.count()
    path.write_text("one\ntwo\nthree\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="changed while it was being read"):
        list(corpus)
