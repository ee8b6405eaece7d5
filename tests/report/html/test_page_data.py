"""The data of the page is the run: every case, every number, every reason, and nothing more."""

import dataclasses
import io
import json
import tracemalloc

import msgspec
import pytest

from closecall import Case, load_run
from closecall.datasets import open_dataset
from closecall.errors import RunFolderError, UsageError
from closecall.records import Measured
from closecall.report.formats import save
from closecall.report.html.columns import LABELS, STATES
from closecall.report.html.data import CHUNK_CASES
from closecall.report.html.page import write, write_runs


def test_every_case_is_there_in_order_with_what_was_found(page, run):
    rows = list(run)
    assert [case["id"] for case in page.cases] == [row.case.id for row in rows]
    for case, row in zip(page.cases, rows, strict=True):
        assert case.get("response", None) == (row.case.response or None)
        assert case["state"] == row.state
        for told, result in zip(case["results"], row.results, strict=True):
            assert told["state"] == result.state
            assert told["reason"] == result.reason
            if isinstance(result.measurement, Measured):
                assert told["value"] == result.measurement.value
            else:
                assert "value" not in told, "an absence has no number"


def test_the_columns_say_the_same_as_the_cases(page, run):
    columns, rows = page.columns, list(run)
    assert columns["ids"] == [row.case.id for row in rows]
    assert [STATES[int(code)] for code in columns["states"]] == [row.state for row in rows]
    assert [LABELS[int(code)] for code in columns["labels"]] == [row.case.label for row in rows]
    assert columns["scores"] == [row.score for row in rows]
    for m, column in enumerate(columns["metrics"]):
        results = [row.results[m] for row in rows]
        assert [STATES[int(code)] for code in column["states"]] == [r.state for r in results]
        assert column["values"] == [
            r.measurement.value if isinstance(r.measurement, Measured) else None for r in results
        ]
        assert [bool(int(f, 16) & 1) for f in column["flags"]] == [r.borderline for r in results]


def test_groups_tags_and_units_are_numbered(page_of, make_run):
    cases = [
        Case(id="a", response="x", references=("x",), group="g", tags=("red", "blue", "red")),
        Case(id="b", response="x", references=("x",), input="Why?", tags=("blue",)),
        Case(id="c", response="x", references=("x",), input="why?  "),
        Case(id="d", response="y", references=("x",), group="g"),
    ]
    columns = page_of(make_run(cases)).columns
    assert columns["groupNames"] == ["g"]
    assert columns["groups"] == [0, -1, -1, 0]
    assert columns["tagNames"] == ["red", "blue"]
    assert columns["tags"] == [[0, 1], [1], [], []]
    assert columns["units"] == [0, 1, 1, 0], "one question asked twice is one unit"


@pytest.mark.parametrize("count", [CHUNK_CASES - 1, CHUNK_CASES, CHUNK_CASES + 1])
def test_blocks_begin_where_the_index_says(page_of, make_run, count):
    page = page_of(make_run([Case(id=str(n), response="x") for n in range(count)]))
    starts = page.index["starts"]
    assert starts == list(range(0, count, CHUNK_CASES))
    for number, start in enumerate(starts):
        assert page.unpacked(f"cc-chunk-{number}")[0]["id"] == str(start)
    assert f"cc-chunk-{len(starts)}" not in page.blocks


def test_a_block_of_long_texts_holds_fewer_cases(page_of, make_run):
    cases = [Case(id=str(n), response="word " * 150_000) for n in range(5)]
    page = page_of(make_run(cases))
    assert page.index["starts"] == [0, 3]
    assert [case["id"] for case in page.cases] == list("01234")


def test_the_same_run_gives_the_same_bytes(run, render):
    assert render(run, "html") == render(run, "html")


def test_a_run_without_content_leaves_no_text_in_the_page(page_of, make_run, tmp_path):
    word = "zanzibar"
    cases = [
        Case(id=f"c{n}", input=f"{word} {n}?", response=f"{word} 7", references=(f"{word} 9",),
             context=(word,), label="accept", group=word, tags=(word,))
        for n in range(3)
    ]  # fmt: skip
    run = make_run(
        cases, ["embed_answer_similarity", "token_f1"], aef=tmp_path / "r", content=False
    )
    page = page_of(load_run(tmp_path / "r"))
    assert page.index["content"] is False
    told = [page.source, str(page.columns), str(page.cases)]
    assert not any(word in text for text in told)
    assert page.columns["labels"] == "111"
    assert "The run kept no texts" in page.text
    del run


def test_labels_written_as_the_page_writes_them_read_back(page, tmp_path, cases):
    fields = ("input", "response", "references", "context", "group", "tags")
    rows = [
        {"id": case["id"], "label": "reject"} | {f: case[f] for f in fields if f in case}
        for case in page.cases
    ]
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    again = list(open_dataset(path))
    assert [case.label for case in again] == ["reject"] * len(cases)
    for before, after in zip(cases, again, strict=True):
        for name in ("id", "input", "references", "context", "group", "tags"):
            assert getattr(after, name) == getattr(before, name)
        assert (after.response or "").strip() == (before.response or "").strip()


def unfinished(make_run, cases, folder):
    class StopError(Exception):
        pass

    def stop(done, total):
        if done:
            raise StopError

    with pytest.raises(StopError):
        make_run(cases, aef=folder, progress=stop)
    return folder


def test_a_run_that_is_not_finished_is_refused_and_nothing_is_written(make_run, cases, tmp_path):
    run = load_run(unfinished(make_run, cases, tmp_path / "open"))
    with pytest.raises(RunFolderError, match="not finished; go on with: closecall eval --resume"):
        save(run, "html", tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_damaged_run_is_refused_and_nothing_is_written(make_run, cases, tmp_path):
    make_run(cases, aef=tmp_path / "r")
    run = load_run(tmp_path / "r")
    results = tmp_path / "r" / "results.ndjson"
    results.write_bytes(results.read_bytes()[:-200])
    with pytest.raises(RunFolderError, match=r"results\.ndjson"):
        save(run, "html", tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_one_run_named_twice_and_no_run_are_refused(run):
    with pytest.raises(UsageError, match="named twice"):
        write_runs([run, run], io.StringIO())
    with pytest.raises(UsageError, match="at least one run"):
        write_runs([], io.StringIO())


def test_the_cases_are_those_of_the_run_that_began_last(make_run, taken_apart):
    first = make_run([Case(id="old", response="x")])
    last = make_run([Case(id="new", response="x")])
    for order in ([first, last], [last, first]):
        out = io.StringIO()
        write_runs(order, out)
        assert taken_apart(out.getvalue()).columns["ids"] == ["new"]


def test_memory_does_not_grow_with_the_texts(make_run):
    made = make_run([Case(id="x", response="word", references=("word",))])
    (row,) = made

    def rows():
        for n in range(1500):
            case = msgspec.structs.replace(row.case, id=f"c{n}", response=f"{n} " * 8000)
            yield msgspec.structs.replace(row, case=case)

    class Sink:
        written = 0

        def write(self, text):
            self.written += len(text)

    run = dataclasses.replace(made, _rows=rows)
    write(made, Sink())  # templates and modules are loaded now
    sink = Sink()
    tracemalloc.start()
    write(run, sink)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    texts = sum(len(one.case.response) for one in rows())
    assert texts > 50e6
    assert peak < texts / 2, f"{peak / 1e6:.0f} MB at the peak, for {texts / 1e6:.0f} MB of texts"
