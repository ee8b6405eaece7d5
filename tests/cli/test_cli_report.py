"""``closecall report``: kept run folders in, a page or any other report out."""

import json

import pytest

from closecall import evaluate, load_run
from closecall.report.formats import FORMATS, save
from closecall.testing import HashEmbedder

GOOD, BAD = "the sky is blue", "we open at nine"


def made(folder, responses, **options):
    rows = [
        {"id": f"c{at}", "input": f"{at}?", "response": response, "references": [GOOD]}
        for at, response in enumerate(responses)
    ]
    evaluate(rows, None, HashEmbedder(), aef=folder, cache=False, **options)
    return folder


@pytest.fixture
def a(tmp_path):
    return made(tmp_path / "a", [GOOD, BAD])


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_any_format_is_what_the_run_would_have_written(cli, a, tmp_path, form):
    save(load_run(a), form, tmp_path / "wanted")
    said = cli("report", a, "--format", form, "-o", "got")
    assert said.code == 0, said.err
    assert (tmp_path / "got").read_bytes() == (tmp_path / "wanted").read_bytes()


def test_a_failed_run_is_reported_all_the_same(cli, a):
    said = cli("report", a, "-o", "r.html")
    assert said.code == 0
    assert said.out == ""
    assert "written to r.html" in said.err


def test_the_suffix_says_the_format_and_without_one_it_is_a_page(cli, a, tmp_path):
    assert cli("report", a, "-o", "r.json").code == 0
    assert json.loads((tmp_path / "r.json").read_text())["stats"]["failed"] == 1
    said = cli("report", a)
    assert said.code == 0
    assert said.out.startswith("<!doctype html>")
    assert said.out == cli("report", a, "-o", "-", "--format", "html").out


def test_a_run_is_found_by_the_beginning_of_its_id(cli, tmp_path):
    made(tmp_path / "kept" / "run-1-abc", [GOOD])
    assert cli("report", "run-1", "--dir", "kept", "-o", "r.html").code == 0
    said = cli("report", "run-2", "--dir", "kept", "-o", "r.html")
    assert said.code == 2
    assert "closecall runs list" in said.err


def test_several_runs_are_one_page_of_the_last_runs_cases(cli, a, tmp_path):
    b = made(tmp_path / "b", [GOOD, GOOD, GOOD])
    assert cli("report", b, a, "-o", "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert f'"run":"{load_run(b).header.run_id}"' in page


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"html"}))
def test_other_formats_take_one_run(cli, a, form):
    said = cli("report", a, a, "--format", form)
    assert said.code == 2
    assert "takes one RUN, and 2 were given; closecall compare" in said.err


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_run_that_is_not_finished_is_refused_and_nothing_is_written(cli, tmp_path, form):
    class StopError(Exception):
        pass

    def stop(done, total):
        if done:
            raise StopError

    with pytest.raises(StopError):
        made(tmp_path / "open", [GOOD], progress=stop)
    said = cli("report", "open", "--format", form, "-o", "r.out")
    assert said.code == 4
    assert "not finished; go on with: closecall eval --resume open" in said.err
    for kind in ("distributions", "history"):
        drawn = cli("plot", "open", "--kind", kind, "-o", "r.svg")
        assert (drawn.code, "not finished; go on" in drawn.err) == (4, True)
    assert not (tmp_path / "r.out").exists()


def test_a_damaged_folder_is_refused_with_its_file(cli, a, tmp_path):
    results = a / "results.ndjson"
    results.write_bytes(results.read_bytes()[:-100])
    said = cli("report", a, "-o", "r.html")
    assert said.code == 4
    assert "results.ndjson" in said.err
    assert not (tmp_path / "r.html").exists()


def test_a_report_is_not_written_into_a_run_folder(cli, a):
    said = cli("report", a, "-o", a / "r.html")
    assert said.code == 2
    assert "run folder" in said.err


def test_eval_and_runs_show_write_the_page_too(cli, a, tmp_path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"id": "x", "response": GOOD, "reference": GOOD}) + "\n")
    said = cli("eval", cases, "--no-aef", "--format", "html", "-o", "e.html")
    assert said.code == 0, said.err
    assert (tmp_path / "e.html").read_text().startswith("<!doctype html>")
    assert cli("runs", "show", a, "-o", "s.html").code == 0
    assert cli("report", a, "-o", "r.html").code == 0
    assert (tmp_path / "s.html").read_bytes() == (tmp_path / "r.html").read_bytes()


def test_help_says_what_the_exit_codes_mean(cli):
    said = cli("report", "--help")
    assert said.code == 0
    assert "Exit codes: 0 the report was written" in said.out


@pytest.mark.parametrize("name", ["results.ndjson", "seal.json"])
def test_a_run_that_was_changed_after_sealing_is_shown_with_a_caution(cli, a, tmp_path, name):
    b = made(tmp_path / "b", [GOOD, GOOD])
    assert "caution" not in cli("report", a, "-o", "r.html").err
    assert "caution" not in cli("compare", a, b).err
    place = a / name
    if name == "results.ndjson":
        place.write_bytes(place.read_bytes().replace(b"high similarity", b"great similarity"))
    else:
        place.write_text("{", encoding="ascii")
    for said in (cli("report", a, "-o", "r.html"), cli("compare", a, b)):
        assert said.code == 0, said.err
        assert f"caution: {place}" in said.err
        assert f"closecall verify {a}" in said.err
