"""Case files written to break their reader: each is read, or refused with its place, and soon."""

import json
import os
import sys
import time
from itertools import pairwise

import pytest

from closecall.datasets import open_dataset
from closecall.datasets._table import MAX_CELL, MAX_COLUMNS
from closecall.errors import MOST_SAID, DatasetError

GOOD = '{"input": "Open?", "response": "At nine."}\n'


def refusal(path, **options):
    with pytest.raises(DatasetError) as caught:
        open_dataset(path, **options).scan()
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", '{"input": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "deeper than 64"),
        ("a.json", "[" * 1_000_000 + "]" * 1_000_000, "deeper than 64"),
        ("a.json", '{"a": ' * 100_000 + "1" + "}" * 100_000, "deeper than 64"),
        ("a.jsonl", '{"input": ' + "9" * 1_000_000 + "}\n", "number too long"),
        ("a.json", '[{"input": ' + "9" * 1_000_000 + "}]", "number too long"),
        ("a.jsonl", '{"input": 1e400, "response": "x"}\n', "Infinity is not JSON"),
        ("a.jsonl", '{"input": "\\ud800", "response": "x"}\n', "half a character"),
        ("a.jsonl", b'{"input": "\xed\xa0\x80", "response": "x"}\n', "not UTF-8"),
        ("a.jsonl", b'{"input": "a\x00b", "response": "x"}\n', "control character"),
        ("a.jsonl", '{"input": "a", "input": "b"}\n', "twice"),
        ("a.jsonl", b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD.encode(), "a.jsonl:1"),
        ("a.jsonl", GOOD.encode("utf-16") + b"x", "UTF-16"),
        ("a.jsonl", b"\xff\xfe" + GOOD.encode("utf-16-le") + b"\x00\xd8\n\x00", "UTF-16"),
        ("a.jsonl", GOOD.encode("utf-16-le"), "without a byte order mark"),
        ("a.jsonl", b"\x1f\x8b\x08" + bytes(100), "gunzip"),
        ("a.csv", "input,response\na,b\r\nc,d\re,f\n", "carriage return"),
        ("a.csv", 'input,response\na,"' + "x\n" * 100_000, "never closed"),
        ("a.csv", '"' * 100_001, "never closed"),
        ("a.csv", ";" * 100_000 + "\ninput\n", "at most 10,000"),
        ("a.csv", "input,response,references\na,b,[" + "[" * 500_000 + "\n", "deeper than 64"),
        ("a.yaml", "!!python/object/apply:os.system ['true']", "tag"),
        ("a.yaml", "%TAG ! tag:yaml.org,2002:python/\n---\n- !name:os.system x", "tag"),
        ("a.yaml", "- {input: !!binary aGk=}", "tag"),
        ("a.yaml", "&a [*a]", "before or inside"),
        ("a.yaml", "- {input: a, input: b}", "twice"),
        ("a.yaml", "[" * 100_000, "nest"),
        ("a.yaml", "{a: " * 100_000, "deeper than 64"),
        ("a.yaml", "".join(f"{' ' * at}a:\n" for at in range(500)), "deeper than 64"),
        ("a.yaml", "- " * 50_000, "deeper than 64"),
        ("a.yaml", "? " * 50_000, "deeper than 64"),
        ("a.yaml", '- input: "\\Uffffffff"', "not valid YAML"),
    ],
)
def test_what_no_case_file_holds_is_refused_with_its_place(write, name, content, said):
    assert said in refusal(write(name, content))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_text_in_any_encoding_that_says_its_name_is_read(write, encoding):
    scan = open_dataset(write("a.jsonl", GOOD.encode(encoding))).scan()
    assert (scan.cases, scan.bad_rows) == (1, 0)


def test_a_number_of_the_longest_kind_is_a_text(read):
    (case,) = read("a.jsonl", '{"input": ' + "9" * 4_000 + ', "response": "x"}\n')
    assert case.input == "9" * 4_000


def test_aliases_cannot_make_a_small_file_large(write):
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]\n"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n")
    assert "aliases" in refusal(write("a.yaml", "".join(lines)))


def test_merging_many_mappings_takes_time_as_their_number_grows(write):
    def seconds(count):
        merged = ", ".join(f"{{a{at}: 1}}" for at in range(count))
        path = write(f"{count}.yaml", f"cases:\n- input: q\n  <<: [{merged}]\n  response: r\n")
        start = time.process_time()
        (case,) = open_dataset(path)
        assert len(case.metadata) == count
        return time.process_time() - start

    # The square of eight would be 64; a fixed share makes the rest.
    assert seconds(16_000) < 30 * max(seconds(2_000), 0.02)


def test_merged_mappings_keep_their_order_and_the_first_to_name_a_key_wins(read):
    (case,) = read(
        "a.yaml",
        "- input: q\n  <<: [{a: 1, b: 1}, {b: 2, c: 2}]\n  <<: {c: 3, d: 3}\n  d: own\n",
    )
    assert case.metadata == {"a": "1", "b": "1", "c": "2", "d": "own"}


def test_a_cell_of_too_many_characters_is_said_to_be_one(write):
    path = write("a.csv", "input,response\na," + "x" * (MAX_CELL + 1) + "\nb,c\n")
    said = refusal(path)
    assert f"more than {MAX_CELL:,} characters" in said
    assert "a.csv:2" in said


def test_a_table_of_as_many_columns_as_may_be_is_read(write):
    names = ["input", *(f"c{at}" for at in range(MAX_COLUMNS - 1))]
    path = write("a.csv", ",".join(names) + "\n" + ",".join("x" * MAX_COLUMNS) + "\n")
    assert open_dataset(path).scan().cases == 1
    path = write("b.csv", ",".join([*names, "more"]) + "\n" + ",".join("x" * MAX_COLUMNS) + ",x\n")
    assert f"at most {MAX_COLUMNS:,}" in refusal(path)


def test_a_message_stays_short_whatever_the_names_in_it(write):
    name = "k" * 1_000_000
    rows = json.dumps({"input": "a", name: 1}) + "\n" + f'{{"{name}": 1, "{name}": 2}}\n'
    assert len(refusal(write("a.jsonl", rows))) < 3 * MOST_SAID
    assert len(refusal(write("a.yaml", f"- !{name} x"))) < 3 * MOST_SAID
    assert len(refusal(write("a.json", json.dumps({name: 1})))) < 3 * MOST_SAID


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes or devices under a file's name")
def test_pipes_devices_folders_and_loops_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "missing.json")
    (tmp_path / "folder.jsonl").mkdir()
    for path in sorted(tmp_path.iterdir()):
        refusal(path)


@pytest.mark.parametrize("name", ["x" * 5_000 + ".jsonl", "a\0b.jsonl", "..", "."])
def test_names_that_no_file_has_are_refused(tmp_path, name):
    with pytest.raises(DatasetError):
        open_dataset(tmp_path / name)


@pytest.mark.parametrize("change", [lambda text: text * 2, lambda text: text[:-10], lambda _: ""])
def test_a_file_that_grows_or_shrinks_while_it_is_read_is_refused(write, change):
    path = write("a.jsonl", GOOD * 5)
    data = open_dataset(path)
    cases = iter(data)
    next(cases)
    path.write_text(change(GOOD * 5), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    with pytest.raises(DatasetError, match="changed while"):
        list(cases)
    with pytest.raises(DatasetError, match="changed while"):
        data.scan()
