"""A run read back from its folder is the run that was written, with or without its texts."""

import io
import json
import re

import pytest
from folder_helpers import checker

from closecall.errors import RunFolderError
from closecall.report.formats import FORMATS, write
from closecall.runs.evaluate import evaluate
from closecall.runs.hiding import without_words
from closecall.runs.stored import header_of, load_run
from closecall.testing import HashEmbedder

MARK = "zebra-crossing-4711"
METRICS = "embed_answer_similarity,embed_response_context,embed_query_context,embedding_similarity"


def rows():
    made = [
        {
            "id": f"case-{i}",
            "input": f"what of {MARK} number {i}",
            "response": f"{MARK} answer {i % 3}",
            "references": [f"{MARK} answer 1", f"no {MARK}"][: 1 + i % 2],
            "context": [f"passage on {MARK}", "another"],
            "label": ("accept", "reject")[i % 2],
            "group": f"{MARK} group",
            "tags": [MARK],
        }
        for i in range(8)
    ]
    made[5]["response"] = "  "
    made[6]["references"] = []
    made[7]["context"] = []
    return made


@pytest.fixture
def written(tmp_path):
    return evaluate(rows(), METRICS, HashEmbedder(), aef=tmp_path / "run", cache=False)


def report(run, form):
    out = io.StringIO()
    write(run, form, out)
    return out.getvalue()


def test_what_is_read_is_what_was_written(written):
    read = load_run(written.folder)
    assert read.header == written.header
    assert (read.metrics, read.cases, len(read)) == (written.metrics, written.cases, 8)
    memory = evaluate(rows(), METRICS, HashEmbedder(), cache=False)
    assert [row.results for row in read] == [row.results for row in memory]
    for one, other in zip(read, memory, strict=True):
        for name in ("id", "input", "response", "references", "context", "label", "group", "tags"):
            assert getattr(one.case, name) == getattr(other.case, name)
    assert read.exit_code == written.exit_code


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_of_the_folder_is_the_report_of_the_run(written, form):
    read = load_run(written.folder)
    if form == "json":
        one, other = json.loads(report(read, form)), json.loads(report(written, form))
        one.pop("durationMs"), other.pop("durationMs")
        assert one == other
    else:
        one, other = (re.sub(r' time="[\d.]+"', "", report(run, form)) for run in (read, written))
        assert one == other


@pytest.mark.parametrize("form", FORMATS)
def test_without_kept_texts_no_text_is_in_the_folder_and_reports_still_render(tmp_path, form):
    folder = tmp_path / "run"
    run = evaluate(rows(), METRICS, HashEmbedder(), aef=folder, content=False, cache=False)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert MARK.encode() not in path.read_bytes(), path
    read = load_run(folder)
    for seen in (run, read):
        text = report(seen, form)
        assert "case-3" in text
        assert MARK not in text
    assert (read.cases, len(read)) == (run.cases, 8)


def test_without_kept_texts_the_numbers_are_the_same(written, tmp_path):
    bare = evaluate(
        rows(), METRICS, HashEmbedder(), aef=tmp_path / "b", content=False, cache=False
    )
    assert [row.results for row in bare] == [without_words(row).results for row in written]
    assert bare.metrics == written.metrics


@pytest.mark.parametrize("content", [True, False])
def test_the_folder_keeps_to_the_format(tmp_path, shared_data, content):
    folder = tmp_path / "run"
    evaluate(
        rows(),
        METRICS,
        HashEmbedder(),
        aef=folder,
        content=content,
        subject="the désk / v2",
        subject_version="2.1",
        name="a name: with signs",
    )
    assert checker(shared_data)(folder) == []


def test_two_runs_of_one_question_differ_in_times_and_ids_only(tmp_path):
    for name in ("a", "b"):
        evaluate(rows(), METRICS, HashEmbedder(), aef=tmp_path / name, cache=False)
    one, other = header_of(tmp_path / "a"), header_of(tmp_path / "b")
    assert one.definition_digest == other.definition_digest
    assert one.run_id != other.run_id
    cases = "ext/closecall/cases.ndjson"
    assert (tmp_path / "a" / cases).read_bytes() == (tmp_path / "b" / cases).read_bytes()


DAMAGE = {
    "no header": lambda folder: (folder / "run.json").unlink(),
    "half a header": lambda folder: (folder / "run.json").write_bytes(b'{"runId": '),
    "another's header": lambda folder: (folder / "run.json").write_bytes(
        (folder / "run.json").read_bytes().replace(b'"closecall":', b'"other":')
    ),
    "a state nobody knows": lambda folder: (folder / "results.ndjson").write_bytes(
        (folder / "results.ndjson").read_bytes().replace(b'"state":"passed"', b'"state":"great"')
    ),
    "a result without its number": lambda folder: (folder / "results.ndjson").write_bytes(
        (folder / "results.ndjson").read_bytes().replace(b'"scores":', b'"points":')
    ),
    "a text for a number": lambda folder: (folder / "results.ndjson").write_bytes(
        (folder / "results.ndjson")
        .read_bytes()
        .replace(b'"similarity":', b'"similarity":"x","y":')
    ),
    "results of half a case": lambda folder: (folder / "results.ndjson").write_bytes(
        b"".join((folder / "results.ndjson").read_bytes().splitlines(keepends=True)[:-1])
    ),
    "lines in another order": lambda folder: (folder / "results.ndjson").write_bytes(
        b"".join(sorted((folder / "results.ndjson").read_bytes().splitlines(keepends=True)))
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_refused_in_words(written, damage):
    DAMAGE[damage](written.folder)
    with pytest.raises(RunFolderError) as caught:
        list(load_run(written.folder))
    assert str(written.folder) in str(caught.value)


def test_what_is_no_folder_is_refused(tmp_path):
    for place in (tmp_path / "nowhere", tmp_path, __file__):
        with pytest.raises(RunFolderError):
            load_run(place)


def swap(path, one, other):
    lines = path.read_bytes().splitlines(keepends=True)
    lines[one - 1], lines[other - 1] = lines[other - 1], lines[one - 1]
    path.write_bytes(b"".join(lines))


def test_texts_beside_the_results_of_another_case_are_refused_by_file_and_line(written):
    swap(written.folder / "ext/closecall/cases.ndjson", 2, 3)
    with pytest.raises(RunFolderError, match=r"cases\.ndjson:2: holds case 'case-2'.*'case-1'"):
        list(load_run(written.folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], r"cases\.ndjson:8: case 'case-7' is missing"),
        (lambda lines: lines[1:], r"cases\.ndjson:1: holds case 'case-1'"),
        (
            lambda lines: [*lines, lines[0].replace(b"case-0", b"case-9")],
            r"cases\.ndjson:9: a case without results",
        ),
    ],
    ids=["the last gone", "the first gone", "one more"],
)
def test_as_many_texts_as_cases_or_the_folder_is_refused(written, change, message):
    path = written.folder / "ext/closecall/cases.ndjson"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(RunFolderError, match=message):
        load_run(written.folder)


def test_results_of_two_cases_in_one_place_are_refused_by_file_and_line(written):
    swap(written.folder / "results.ndjson", 5, 9)  # the first metric of two cases
    with pytest.raises(RunFolderError, match=r"results\.ndjson:6: a result of case 'case-1'"):
        load_run(written.folder)


def test_ids_no_line_can_hold_and_texts_that_were_cut_still_pair(tmp_path):
    rows = [
        {"id": f"a\tb{i}" if i else "x" * 5000, "response": "é" * 3_000_000 * (i == 1) + "a"}
        for i in range(3)
    ]
    memory = evaluate(rows, embedder=HashEmbedder(), cache=False)
    evaluate(rows, embedder=HashEmbedder(), aef=tmp_path / "run", cache=False)
    read = list(load_run(tmp_path / "run"))
    assert [row.case.id for row in read] == [row.case.id for row in memory]
    assert [len(row.case.response) < 3_000_000 for row in read] == [True] * 3


def test_a_header_with_a_cutoff_from_nowhere_is_refused(tmp_path):
    """Reports look up what a cutoff is by where it comes from."""
    place = tmp_path / "run"
    evaluate(rows(), METRICS, HashEmbedder(), aef=place, cache=False)
    (place / "seal.json").unlink()
    text = (place / "run.json").read_text(encoding="utf-8")
    document = json.loads(text)
    document["config"]["closecall"]["metrics"][0]["cutoff_source"] = "\u202e"
    (place / "run.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"run\.json.*cutoff_source"):
        load_run(place)


@pytest.mark.parametrize("time", [[], 1, "soon", "2031-02-30T00:00:00Z"])
def test_a_header_that_ends_at_no_time_is_refused(tmp_path, time):
    place = tmp_path / "run"
    evaluate(rows(), METRICS, HashEmbedder(), aef=place, cache=False)
    (place / "seal.json").unlink()
    document = json.loads((place / "run.json").read_bytes()) | {"endedAt": time}
    (place / "run.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"run\.json: endedAt"):
        load_run(place)
