"""Round trips through every format, and bytes nobody meant."""

import csv
import io
import json
import tempfile
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from closecall.datasets import open_dataset
from closecall.errors import DatasetError
from closecall.records import Case, Label

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# What YAML and a table can hold: no control characters; a table has no empty text either.
tame = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"
    ),
    min_size=1,
    max_size=20,
)


def cases(texts):
    return st.lists(
        st.builds(
            Case,
            id=st.just(""),
            input=texts | st.none(),
            response=texts,
            references=st.lists(texts, max_size=3).map(tuple),
            context=st.lists(texts, min_size=1, max_size=3).map(tuple),
            label=st.sampled_from([None, *Label]),
            group=tame | st.none(),
            tags=st.lists(st.sampled_from(["a", "b b", "ü"]), max_size=2).map(tuple),
        ),
        min_size=1,
        max_size=5,
    )


def numbered(given_cases):
    return [msgspec.structs.replace(c, id=f"c{i}") for i, c in enumerate(given_cases)]


def as_row(case):
    row = msgspec.to_builtins(case)
    del row["metadata"], row["place"]
    return row


def back(name, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        dataset = open_dataset(path)
        dataset.scan()
        return [msgspec.structs.replace(case, place="", metadata={}) for case in dataset]


quiet = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@quiet
@given(cases(text), st.booleans())
def test_json_lines(given_cases, ascii_only):
    wanted = numbered(given_cases)
    lines = "\n".join(json.dumps(as_row(case), ensure_ascii=ascii_only) for case in wanted)
    assert back("a.jsonl", lines.encode()) == wanted


@quiet
@given(cases(text), st.sampled_from([None, 2]))
def test_json(given_cases, indent):
    wanted = numbered(given_cases)
    document = json.dumps({"cases": [as_row(case) for case in wanted]}, indent=indent)
    assert back("a.json", document.encode()) == wanted


@quiet
@given(cases(tame), st.sampled_from([("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t")]))
def test_tables(given_cases, form):
    name, delimiter = form
    wanted = numbered(given_cases)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["id", "input", "response", "references", "context", "label", "group", "tags"])
    for case in wanted:
        writer.writerow(
            [
                case.id,
                case.input or "",
                case.response,
                json.dumps(case.references),
                json.dumps(case.context),
                case.label or "",
                case.group or "",
                ";".join(case.tags),
            ]
        )
    assert back(name, out.getvalue().encode()) == wanted


@quiet
@given(cases(tame))
def test_yaml(given_cases):
    wanted = numbered(given_cases)
    rows = [as_row(case) for case in wanted]
    assert back("a.yaml", yaml.safe_dump(rows, allow_unicode=True).encode()) == wanted


pieces = st.lists(
    st.sampled_from(
        [
            b'"response"',
            b":",
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b"\n",
            b"\r",
            b'"',
            b"'",
            b"a",
            b"- ",
            b"\x00",
            b"\xef\xbb\xbf",
            b"\xff\xfe",
            b"\xe9",
            b"\\ud800",
            b"NaN",
            b"&a ",
            b"*a",
            b"<<",
            b"!!x ",
            b"? ",
            b"|",
            b"\t",
            b"#",
            b"%",
            b"---\n",
            b"input",
            b"answer",
            b"1e999",
            b"9" * 5000,
        ]
    ),
    max_size=40,
).map(b"".join)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.yaml"])
@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(content=pieces | st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(name, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            dataset = open_dataset(path, on_bad_row="skip")
            scan = dataset.scan()
        except DatasetError:
            return
        assert scan.cases == len(list(dataset)) > 0
