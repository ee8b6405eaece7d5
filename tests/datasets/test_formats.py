"""Files as people write them, in each format."""

import gzip
import json
import os

import pytest

from closecall.datasets import open_dataset
from closecall.errors import DatasetError, UsageError

ROW = {"id": "a", "question": "Größe? 😀", "response": "two\nlines"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_encodings_and_line_ends(read, encoding, newline, last):
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    second = {**ROW, "id": "b"}
    text = newline.join([json.dumps(ROW, ensure_ascii=False), "  ", json.dumps(second)])
    cases = read("a.jsonl", (mark + text + newline * last).encode(encoding))
    assert [(c.id, c.input, c.response) for c in cases] == [
        ("a", "Größe? 😀", "two\nlines"),
        ("b", "Größe? 😀", "two\nlines"),
    ]
    table = newline.join(["id,question,response", 'a,Größe? 😀,"two, or\n""more"""', "b,x,y"])
    if newline != "\r":
        first, other = read("a.csv", (mark + table + newline * last).encode(encoding))
        assert (first.input, first.response) == ("Größe? 😀", 'two, or\n"more"')
        assert other.place == "a.csv:4"


def test_a_json_list_in_a_jsonl_file_and_lines_in_a_json_file(write):
    array = open_dataset(write("a.jsonl", json.dumps([ROW, ROW], indent=2)))
    assert (array.format, array.scan().cases) == ("json", 2)
    compact = open_dataset(write("b.jsonl", json.dumps([ROW])))
    assert (compact.format, compact.scan().cases) == ("json", 1)
    lines = open_dataset(write("c.json", (json.dumps(ROW) + "\n") * 2))
    assert (lines.format, lines.scan().cases) == ("jsonl", 2)
    assert any("JSON Lines" in sentence for sentence in lines.reading)


def test_pretty_printed_objects_say_how_to_put_them_on_lines(write):
    text = (json.dumps(ROW, indent=2) + "\n") * 2
    for name in ("a.jsonl", "a.json"):
        with pytest.raises(DatasetError, match="jq -c"):
            open_dataset(write(name, text))
    dataset = open_dataset(write("b.jsonl", json.dumps({"cases": [ROW]}, indent=2)))
    assert dataset.scan().cases == 1


@pytest.mark.parametrize("key", ["cases", "data", "examples", "items", "rows", "tests", "goldens"])
def test_an_object_around_the_list(write, key):
    dataset = open_dataset(write("a.json", json.dumps({"version": 1, key: [ROW]})))
    assert dataset.scan().cases == 1
    assert any(f"`{key}`" in sentence for sentence in dataset.reading)
    assert next(iter(dataset)).place == "a.json[0]"


@pytest.mark.parametrize("key", ["testCases", "test_cases", "Test Cases", "TESTS"])
def test_the_name_of_the_list_is_spelled_in_any_way(write, key):
    dataset = open_dataset(write("a.json", json.dumps({key: [ROW]})))
    assert dataset.scan().cases == 1
    assert f"the cases are the list under `{key}`" in dataset.reading


def test_what_promptfoo_writes_has_its_list_two_levels_down(write):
    row = {
        "vars": {"question": "How long?"},
        "response": {"output": "Three days"},
        "testCase": {"assert": [{"type": "similar", "value": "3 days"}]},
        "prompt": {"raw": "Answer: How long?"},
    }
    document = {
        "evalId": "e",
        "results": {"version": 3, "prompts": [{}], "results": [row]},
        "config": {"prompts": ["p"], "providers": ["x"], "tests": []},
    }
    mapping = {
        "response": "response.output",
        "input": "vars.question",
        "reference": "testCase.assert.0.value",
    }
    for name in ("a.json", "a.yaml"):
        dataset = open_dataset(write(name, json.dumps(document)), mapping=mapping)
        (case,) = dataset
        assert (case.input, case.response) == ("How long?", "Three days")
        assert case.references == ("3 days",)
        assert "the cases are the list under `results.results`" in dataset.reading


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"cases": [ROW], "Data": [ROW]}, "`cases`, `Data` are all lists"),
        ({"results": {"results": []}}, "`results.results` is empty"),
        ({"cases": [ROW], "data": [ROW]}, "`cases`, `data` are all lists"),
        ({"name": "x"}, "its keys: `name`"),
        ({"cases": []}, "is empty"),
        ({"response": ["a", "b"], "input": ["c", "d"]}, "column by column"),
        ({"response": {"0": "a"}, "input": {"0": "c"}}, "column by column"),
        ({"prompts": ["p"], "tests": [{"vars": {}}]}, "promptfoo configuration"),
        ("text", "holds one str"),
        ([], "no rows"),
    ],
)
def test_other_documents_are_refused_by_what_they_are(write, document, said):
    with pytest.raises(DatasetError, match=said):
        open_dataset(write("a.json", json.dumps(document))).scan()


def test_json_repeated_keys_and_nan_are_rows_not_files(write):
    text = '[{"response": "a"}, {"response": "a", "response": "b"}, {"response": NaN}]'
    dataset = open_dataset(write("a.json", text), on_bad_row="skip")
    scan = dataset.scan()
    assert [str(p) for p in scan.problems] == [
        "a.json[1]: response: the key stands twice in one object; keep one",
        "a.json[2]: response: NaN is not JSON; write null where there is no value",
    ]
    with pytest.raises(DatasetError, match=r"b\.json:2: not valid JSON"):
        open_dataset(write("b.json", '[{"response": "a"},\n {"response" "b"}]'))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(read, delimiter):
    text = f"id{delimiter}response\n1{delimiter}yes; or, no\n".replace(
        "yes; or, no", '"yes; or, no|\t"'
    )
    for name in ("a.csv", "a.tsv"):
        (case,) = read(name, text)
        assert (case.id, case.response) == ("1", "yes; or, no|\t")


def test_excel_names_its_separator(read):
    (case,) = read("a.csv", "sep=;\r\nresponse;id\r\nx,y;1\r\n")
    assert case.response == "x,y"


def test_table_cells_that_are_lists(read):
    cells = [
        ("['it''s', 'b']".replace("''", "\\'"), ("it's", "b")),
        ('["a", "b"]', ("a", "b")),
        ("['a' 'b']", ("a", "b")),
        ("['a'\n \"b, c\"]", ("a", "b, c")),
        ("[]", ()),
        ("[1] says so", ("[1] says so",)),
        ("[1] [2]", ("[1] [2]",)),
        ("[a, b]", ("[a, b]",)),
        ("['a',\n'b', ]", ("a", "b")),
        ("[ 'a' ]", ("a",)),
        ("['a''b']", ("['a''b']",)),
        ("['a', 'b' 'c']", ("['a', 'b' 'c']",)),
        ("['a' 'b',]", ("['a' 'b',]",)),
        ("['a',, 'b']", ("['a',, 'b']",)),
        ("['a'", ("['a'",)),
        ("['a', __import__('os')]", ("['a', __import__('os')]",)),
        ("['\\d']", ("\\d",)),
        ("", ()),
        (" ", (" ",)),
    ]
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["response", "contexts"])
    writer.writerows([f"[{i}]", cell] for i, (cell, _) in enumerate(cells))
    cases = read("a.csv", out.getvalue())
    assert [case.context for case in cases] == [expected for _, expected in cells]
    assert [case.response for case in cases] == [f"[{i}]" for i in range(len(cells))]


@pytest.mark.parametrize(
    "value",
    [
        [{"content": "abc"}, {"text": "def"}],
        ["abc", {"page_content": "def", "score": 0.5}],
        [{"title": "x"}],
        [1, 2],
        ["a", None],
        [["a"]],
        [{"content": float("nan")}],
        ["cut \ud83d"],
        [[[]] * 2, int("9" * 20)],
    ],
)
@pytest.mark.parametrize("field", ["context", "reference", "tags"])
def test_a_json_list_in_a_cell_means_what_it_means_in_json(write, field, value):
    quoted = json.dumps(value).replace('"', '""')
    table = write("a.csv", f'response,{field}\nr,"{quoted}"\ns,\n')
    lines = [{"response": "r", field: value}, {"response": "s"}]
    rows = write("a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    one, two = (open_dataset(path, on_bad_row="skip").scan() for path in (table, rows))
    assert (one.cases, one.digest) == (two.cases, two.digest)
    assert [p[1:] for p in one.problems] == [p[1:] for p in two.problems]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("[" * 70 + "]" * 70, "deeper than 64"),
        ("[" * 50_000 + "]" * 50_000, "deeper than 64"),
        ("[" + "9" * 10_000 + "]", "a number too long"),
        ('[{""text"": ""a"", ""text"": ""b""}]', "twice"),
        ("['\\ud83d']", "half a character"),
    ],
)
def test_lists_in_cells_that_no_case_may_hold(write, cell, said):
    with pytest.raises(DatasetError, match=said):
        open_dataset(write("a.csv", f'response,context\nr,"{cell}"\n')).scan()


@pytest.mark.parametrize("tail", ["x", "]", ", x", ",", "'", "\\"])
def test_cells_made_to_be_slow_are_read_in_one_pass(read, tail):
    # Each would take many minutes if the blanks or items were gone over again from every place.
    many = 300_000
    for cell, items in (
        ("['a'" + " " * many + tail, 1),
        ("[" + " " * many + tail, 0),
        ("['a'" + " 'a'" * (many // 4) + tail, many // 4 + 1),
        ("['a'" + " , 'a'" * (many // 6) + tail, many // 6 + 1),
        ("['a', '" + "\\'" * (many // 2) + tail, None),
    ):
        (case,) = read("a.csv", f'response,context\nr,"{cell}"\n')
        is_list = tail == "]" and items is not None
        assert case.context == (("a",) * items if is_list else (cell,))


def test_one_very_long_line_among_bare_carriage_returns(read, monkeypatch):
    # Read in small pieces, so that copying what came before with each would take many minutes.
    monkeypatch.setattr("closecall.datasets._sniff.HEAD", 32)
    rows = [{"response": "r"}, {"response": "x" * 6_000_000}, {"response": "s"}]
    cases = read("a.jsonl", "\r".join(map(json.dumps, rows)))
    assert [len(case.response) for case in cases] == [1, 6_000_000, 1]


def test_a_long_cell_is_read_whatever_limit_others_set(write):
    import csv

    before = csv.field_size_limit()
    try:
        dataset = open_dataset(write("a.csv", "response\n" + "x" * 200_000 + "\n"))
        csv.field_size_limit(1000)
        assert dataset.scan().cases == 1
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize(
    "value",
    [
        [{"content": "abc"}, {"content": 'it\'s \\ "so"\nü😀'}],
        [
            "abc",
            {"page_content": "def", "score": -0.5e-7, "n": [1, None, True], "m": {"k": False}},
        ],
        [{"title": "x"}],
        [{}],
        [{"text": "cut \ud83d"}],
        [{"text": "a", "deep": json.loads("[" * 70 + "]" * 70)}],
    ],
)
@pytest.mark.parametrize("field", ["context", "reference", "tags"])
def test_a_list_of_objects_as_python_prints_it_means_what_it_means_in_json(write, field, value):
    quoted = [spelling(value).replace('"', '""') for spelling in (repr, json.dumps)]
    one, two = (
        open_dataset(
            write(f"{i}.csv", f'response,{field}\nr,"{cell}"\ns,\n'), on_bad_row="skip"
        ).scan()
        for i, cell in enumerate(quoted)
    )
    assert (one.cases, one.digest) == (two.cases, two.digest)
    assert [p[1:] for p in one.problems] == [p[1:] for p in two.problems]
    assert one.reading == two.reading


@pytest.mark.parametrize(
    "cell",
    [
        "[{'content': 'a'}, __import__('os')]",
        "[{'content': name}]",
        "[{'content': nan}]",
        "[{'content': b'a'}]",
        "[{'content': f'{a}'}]",
        "[{'content': 'a' 'b'}]",
        "[{'content': ('a',)}]",
        "[{1: 'a'}]",
        "[{'a', 'b'}]",
        "[{**{}}]",
        "[{'content': 'a'}] # [1]",
        "[{'content': 'a'}][0]",
        "[{'content': 'a'}",
        "[{'content': 'a'},, {'content': 'b'}]",
        "[{'content': '" + "x" * (1 << 20) + "'}]",
        "[" * 100 + "{",
        "[{'a': " + "-" * 100_000 + "1}]",
    ],
)
def test_python_that_is_no_plain_list_stays_a_text(read, cell):
    (case,) = read("a.csv", f'response,context\nr,"{cell}"\n')
    assert case.context == (cell,)


def test_python_objects_nested_without_end_or_with_a_key_twice_are_refused(write):
    for cell, said in (
        ("[{'a': " * 50_000 + "1" + "}]" * 50_000, "deeper than 64"),
        ("[{'text': 'a', 'text': 'b'}]", "twice"),
    ):
        with pytest.raises(DatasetError, match=said):
            open_dataset(write("a.csv", f'response,context\nr,"{cell}"\n')).scan()


def test_lists_only_in_tables(read):
    (case,) = read("a.jsonl", json.dumps({"reference": '["a"]'}))
    assert case.references == ('["a"]',)


def test_table_shapes(write):
    text = (
        ",response,note,\n"
        "0,good,x,\n"
        ",,,\n"
        "\n"
        "1,a,b,c,d\n"
        "2,short\n"
        '3,"open" x,y,\n'
        "4,nul\0,y,\n"
        '5,"two\nlines",z,\n'
        '6,"never closed,z\n'
    )
    dataset = open_dataset(write("a.csv", text), on_bad_row="skip")
    scan = dataset.scan()
    assert [p.place for p in scan.problems] == [
        "a.csv:5",
        "a.csv:6",
        "a.csv:7",
        "a.csv:8",
        "a.csv:11",
    ]
    said = [p.message for p in scan.problems]
    assert "5 cells where the header names 4" in said[0]
    assert "cut short" in said[1]
    assert "never closed" in said[4]
    assert [c.place for c in dataset] == ["a.csv:2", "a.csv:9"]
    assert any("2 columns without a name" in sentence for sentence in dataset.reading)


def test_a_table_without_rows_and_a_column_named_twice(write):
    with pytest.raises(DatasetError, match="no rows"):
        open_dataset(write("a.csv", "response,reference\n")).scan()
    with pytest.raises(DatasetError, match="`response` twice"):
        open_dataset(write("b.csv", "response,response\na,b\n"))


def test_yaml_values_are_the_text_written(read):
    text = """
# a comment
cases:
  - id: 007
    response: Yes
    expected: [1.50, 2024-01-01, "quoted", no]
    context: ~
    label: true
  - &base
    response: |
      two
      lines
    input: null
    extra: {a: 1}
  - <<: *base
    input: "null"
"""
    first, second, third = read("a.yaml", text)
    assert (first.id, first.response, first.references, first.context) == (
        "007",
        "Yes",
        ("1.50", "2024-01-01", "quoted", "no"),
        (),
    )
    assert first.label == "accept"
    assert (second.response, second.input, second.place) == ("two\nlines\n", None, "a.yaml:9")
    assert (third.response, third.input) == ("two\nlines\n", "null")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- response: !!python/object/apply:os.system [x]\n", r"a\.yml:1: the tag"),
        ("- response: !custom x\n", r"a\.yml:1: the tag"),
        ("- response: a\n  input: b: c\n", r"a\.yml:2: not valid YAML"),
        ("- response: *missing\n", "missing"),
        ("- &a [*a]\n", "inside what it names"),
        ("- {[a]: b}\n", "key must be a text"),
        ("- response: a\n  response: b\n", r"a\.yml:1: response: the key stands twice"),
        ("a: 1\n---\nb: 2\n", "2 documents"),
        ("# nothing\n", "holds no value"),
        ("[" * 70 + "]" * 70, "deeper than 64"),
        ("[" * 20_000, "."),
        ("- response: [a, b]\n", r"a\.yml:1: response: expected a text"),
        ("- just words\n", "got str"),
    ],
)
def test_yaml_that_is_refused(write, text, said):
    with pytest.raises(DatasetError, match=said):
        open_dataset(write("a.yml", text)).scan()


@pytest.mark.parametrize("text", [r'- "\U99999999"', r'- "\UFFFFFFFF"', r'- response: "\ud800"'])
def test_yaml_without_the_c_parser_refuses_the_same(write, monkeypatch, text):
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    with pytest.raises(DatasetError):
        open_dataset(write("a.yaml", text)).scan()


def test_a_yaml_bomb_is_refused(write):
    text = "a0: &a0 [" + ", ".join(["x"] * 10) + "]\n"
    text += "".join(
        f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]\n" for i in range(1, 12)
    )
    with pytest.raises(DatasetError, match="repeat too much"):
        open_dataset(write("a.yaml", text))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.csv", b"\xef\xbb\xbf", "is empty"),
        ("a.json", b" \n\r\n", "white space"),
        ("a.jsonl", "\ufeff \n".encode("utf-16-le"), "is empty"),
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\noid x\n", "git lfs pull"),
        ("a.parquet", b"PAR1....", "Parquet"),
        ("a.jsonl.gz", gzip.compress(b"{}", mtime=0), "gunzip"),
        ("a.csv", b"PK\x03\x04....", "Excel"),
        ("a.json", b"<!DOCTYPE html><html>", "HTML page"),
        ("a.jsonl", '{"response": "x"}'.encode("utf-16-le"), "UTF-16 without"),
        ("a.txt", b'{"response": "x"}', r"\.jsonl, \.ndjson"),
        ("a", b'{"response": "x"}', "without a suffix"),
        ("a.jsonl", b"\xff\xfe{\x00\x00\xd8", "UTF-16"),
    ],
)
def test_files_that_are_something_else(write, name, content, said):
    with pytest.raises(DatasetError, match=said):
        open_dataset(write(name, content)).scan()


def test_paths_that_are_no_files(tmp_path, write):
    path = write("cases.jsonl", json.dumps(ROW))
    with pytest.raises(DatasetError, match=r"no such file. Did you mean .*cases\.jsonl"):
        open_dataset(tmp_path / "case.jsonl")
    with pytest.raises(DatasetError, match=r"is a directory. Name one of its files: cases\.jsonl"):
        open_dataset(tmp_path)
    with pytest.raises(DatasetError, match="cannot be read"):
        open_dataset("nul\0byte.jsonl")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.jsonl")
        with pytest.raises(DatasetError, match="not a regular file"):
            open_dataset(tmp_path / "pipe.jsonl")
    assert open_dataset(path, format="jsonl").scan().cases == 1
    with pytest.raises(UsageError, match="jsonl, json, csv"):
        open_dataset(path, format="xml")
    with pytest.raises(UsageError, match="fail, skip"):
        open_dataset(path, on_bad_row="ignore")


def test_tables_and_lines_are_streamed_not_held(write):
    import tracemalloc

    row = json.dumps({"response": "x" * 2000})
    for name, content in (
        ("a.jsonl", (row + "\n") * 5000),
        ("a.csv", "response\n" + ("x" * 2000 + "\n") * 5000),
    ):
        dataset = open_dataset(write(name, content))
        tracemalloc.start()
        for _ in dataset:
            pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 3_000_000  # the file has 10 million bytes
