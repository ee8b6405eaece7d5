"""Bad rows: every one named with its line and field, none guessed at."""

import json

import pytest

from closecall.datasets import open_dataset
from closecall.errors import DatasetError

GOOD = '{"response": "fine"}\n'


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ('{"response": {"a": 1}}', "response", "got object"),
        ('{"response": ["a"]}', "response", "got list"),
        ('{"references": ["a", null]}', "references[1]", "expected str, got null"),
        ('{"references": ["a", 3]}', "references[1]", "expected str, got int"),
        ('{"context": [{"title": "x"}]}', "context[0]", "its keys: title"),
        ('{"reference": {"text": "x"}}', "reference", "expected str"),
        ('{"response": "a", "label": "positive"}', "label", "accept or reject"),
        ('{"response": "a", "id": {}}', "id", "got object"),
        ('{"response": "a", "response": "b"}', "response", "twice"),
        ('{"response": "a", "m": {"k": 1, "k" :2}}', "k", "twice"),
        ('{"response": "a: \\":", "m": [{"k": 1, "k":2}]}', "k", "twice"),
        ('{"response": NaN}', "response", "NaN is not JSON"),
        ('{"response": "a", "score": -Infinity}', "score", "-Infinity is not JSON"),
        ('{"response": "a", "score": 1e999}', "score", "Infinity is not JSON"),
        ('{"response": "cut \\ud83d"}', "response", "half a character"),
        ('{"response": "a"', "", "not valid JSON"),
        ("{'response': 'a'}", "", "Python dict"),
        ("plain words", "", "each line is one JSON object"),
        ("[1, 2]", "", "got list"),
        ("null", "", "got null"),
        ('{"response": "a", "m": ' + "[" * 80 + "]" * 80 + "}", "", "deeper than 64"),
        ('{"response": "a", "m": ' + "[" * 50_000 + "]" * 50_000 + "}", "", "deeper than 64"),
        ('{"response": "a", "m": ' + "9" * 10_000 + "}", "", "number"),
    ],
)
def test_a_bad_row_is_named_with_line_and_field(write, line, field, message):
    dataset = open_dataset(write("cases.jsonl", GOOD + "\n" + line + "\n" + GOOD))
    with pytest.raises(DatasetError) as error:
        dataset.scan()
    (problem,) = error.value.problems
    assert problem.place == "cases.jsonl:3"
    assert problem.field == field
    assert message in problem.message


def test_invalid_utf8_says_which_byte(write):
    content = GOOD.encode() + '{"response": "café"}\n'.encode("latin-1")
    with pytest.raises(DatasetError, match=r"a\.jsonl:2: byte 18 of the line \(0xE9\)"):
        open_dataset(write("a.jsonl", content)).scan()
    with pytest.raises(
        DatasetError, match=r"a\.csv:2: response: byte 4 of the line \(0xE9\)"
    ) as error:
        open_dataset(write("a.csv", "response\ncafé\n".encode("latin-1"))).scan()
    assert 'in Excel: save as "CSV UTF-8"' in str(error.value)
    assert "iconv -f WINDOWS-1252" in str(error.value)


def test_table_rows_that_are_not_utf8_are_bad_rows_like_others(write):
    text = (
        'id,response,,note\n1,fine,,\n2,café,,é\n3,"two\nlines é",,\n4,a,é,\n5,é\n6,,,\n7,last,,\n'
    )
    path = write("a.csv", text.encode("latin-1"))
    scan = open_dataset(path, on_bad_row="skip").scan()
    assert (scan.rows, scan.cases, scan.bad_rows, scan.problem_count) == (7, 3, 4, 4)
    assert [(p.place, p.field, p.message.partition(" is not")[0]) for p in scan.problems] == [
        ("a.csv:3", "response", "byte 6 of the line (0xE9)"),
        ("a.csv:5", "response", "byte 7 of the line (0xE9)"),
        ("a.csv:6", "", "byte 5 of the line (0xE9)"),
        ("a.csv:7", "response", "byte 3 of the line (0xE9)"),
    ]
    assert [case.id for case in open_dataset(path, on_bad_row="skip")] == ["1", "6", "7"]
    with pytest.raises(DatasetError, match="4 rows of 7 cannot be read") as error:
        open_dataset(path).scan()
    assert error.value.problems == scan.problems


def test_a_table_header_that_is_not_utf8_is_the_whole_file(write):
    path = write("a.csv", "\nresponse,café\nx,y\n".encode("latin-1"))
    with pytest.raises(DatasetError, match=r"a\.csv:2: byte 13 of the line \(0xE9\)"):
        open_dataset(path, on_bad_row="skip")


def test_the_first_twenty_and_the_count(write):
    rows = [{"response": {}, "label": "x"}] * 30 + [{"response": "a"}]
    path = write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DatasetError) as error:
        open_dataset(path).scan()
    assert len(error.value.problems) == 20
    assert error.value.count == 60
    assert "30 rows of 31 cannot be read" in str(error.value)
    assert "--on-bad-row skip" in str(error.value)
    assert "and 40 more" in str(error.value)


def test_skipped_rows_are_counted_and_do_not_shift_the_rest(write):
    content = (
        GOOD + "broken\n" + GOOD + '{"id": "x", "response": []}\n{"id": "x", "response": "y"}\n'
    )
    dataset = open_dataset(write("a.jsonl", content), on_bad_row="skip")
    scan = dataset.scan()
    assert (scan.rows, scan.cases, scan.bad_rows, scan.problem_count) == (5, 3, 2, 2)
    cases = list(dataset)
    assert [case.id for case in cases] == ["row_1", "row_3", "x"]
    assert [case.place for case in cases] == ["a.jsonl:1", "a.jsonl:3", "a.jsonl:5"]


def test_a_file_with_nothing_but_bad_rows_is_refused_even_when_skipping(write):
    with pytest.raises(DatasetError, match="none of its 2 rows"):
        open_dataset(write("a.jsonl", "x\ny\n"), on_bad_row="skip").scan()


def test_iterating_stops_at_a_bad_row(write):
    dataset = open_dataset(write("a.jsonl", GOOD + "broken\n"))
    with pytest.raises(DatasetError, match=r"a\.jsonl:2"):
        list(dataset)


def test_absence_and_blanks(read):
    rows = [
        {"input": None, "response": "", "reference": [], "context": None},
        {"input": " ", "response": "x", "reference": "", "context": ["", "b"]},
        {"response": "y"},
    ]
    cases = read("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    got = [(c.input, c.response, c.references, c.context) for c in cases]
    assert got == [
        (None, "", (), ()),
        (" ", "x", ("",), ("", "b")),
        (None, "y", (), ()),
    ]


def test_one_bad_row_far_down_is_found(write):
    content = GOOD * 20_000 + '{"response": [}\n' + GOOD * 20_000
    with pytest.raises(DatasetError, match=r"a\.jsonl:20001: .* column 15"):
        open_dataset(write("a.jsonl", content)).scan()


def test_the_digest_is_of_the_content_not_of_the_file(write):
    from hashlib import sha256

    from closecall.instrument import canonical_json

    row = {
        "id": 'é\u2028\x7f"\\/\n',
        "input": "q",
        "response": "r",
        "reference": ["a"],
        "tags": ["t"],
    }
    one = open_dataset(write("a.jsonl", json.dumps({**row, "note": 1}) + "\n")).scan()
    two = open_dataset(write("b.json", json.dumps([row], indent=1))).scan()
    other = open_dataset(write("c.json", json.dumps([{**row, "response": "R"}]))).scan()
    assert one.digest == two.digest != other.digest
    assert one.sha256 != two.sha256
    content = {
        "context": [],
        "group": None,
        "id": 'é\u2028%7F"\\/%0A',
        "input": "q",
        "label": None,
        "references": ["a"],
        "response": "r",
        "tags": ["t"],
    }
    assert one.digest == sha256(canonical_json(content) + b"\n").hexdigest()


def test_a_file_that_changes_between_passes_is_noticed(write):
    path = write("a.jsonl", GOOD)
    dataset = open_dataset(path)
    dataset.scan()
    path.write_text(GOOD * 2, encoding="utf-8")
    with pytest.raises(DatasetError, match="changed while it was being read"):
        list(dataset)
