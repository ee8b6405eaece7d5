"""``closecall compare``: two run folders in, a report and an exit code out."""

import json

import pytest

from closecall import evaluate
from closecall.testing import HashEmbedder

GOOD, BAD = "the sky is blue", "we open at nine"


def made(folder, responses, embedder=None, **options):
    rows = [
        {"id": f"c{at}", "input": f"{at}?", "response": response, "references": [GOOD]}
        for at, response in enumerate(responses)
    ]
    evaluate(rows, None, embedder or HashEmbedder(), aef=folder, cache=False, **options)
    return folder


@pytest.fixture
def a(tmp_path):
    return made(tmp_path / "a", [GOOD] * 20)


@pytest.mark.parametrize(
    ("responses", "args", "code"),
    [
        ([GOOD] * 20, [], 0),
        ([BAD] * 4 + [GOOD] * 16, [], 0),
        ([BAD] * 4 + [GOOD] * 16, ["--strict"], 11),
        ([BAD] * 4 + [GOOD] * 16, ["--alpha", "0.1"], 1),
        ([BAD] * 4 + [GOOD] * 16, ["--max-new-failures", "4"], 0),
        ([BAD] * 4 + [GOOD] * 16, ["--max-new-failures", "3"], 1),
        ([BAD] + [GOOD] * 19, ["--any-flip"], 1),
        ([BAD] * 5 + [GOOD] * 15, [], 1),
        ([" "] + [GOOD] * 19, [], 11),
        ([GOOD] * 19, [], 13),
        ([GOOD] * 19, ["--allow", "cases"], 0),
    ],
)
def test_the_exit_code_says_what_came_of_it(cli, a, responses, args, code):
    b = made(a.parent / "b", responses)
    said = cli("compare", a, b, *args)
    assert said.code == code, said
    if code == 13:
        assert said.out == ""
        assert "cases: A 20, 1 of them only here" in said.err
        assert "--allow cases" in said.err


def test_another_embedder_is_refused_whatever_is_allowed(cli, tmp_path, a):
    b = made(tmp_path / "b", [GOOD] * 20, HashEmbedder(32))
    said = cli("compare", a, b, "--allow", "cases", "--allow", "cutoff", "--allow", "metadata")
    assert said.code == 13
    assert "embedder: A hash-words, dims 64; B hash-words, dims 32" in said.err


@pytest.mark.parametrize(
    ("suffix", "starts"), [("md", "### "), ("html", "<!doctype"), ("json", "{")]
)
def test_a_file_gets_the_format_of_its_suffix_and_the_verdict_is_said(
    cli, tmp_path, a, suffix, starts
):
    b = made(tmp_path / "b", [BAD] * 20)
    said = cli("compare", a, b, "-o", tmp_path / "new" / f"out.{suffix}")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("closecall: Regression: ")
    assert (tmp_path / "new" / f"out.{suffix}").read_text(encoding="utf-8").startswith(starts)
    assert cli("compare", a, b, "-q", "-o", tmp_path / f"out.{suffix}").err == ""


def test_json_on_stdout_is_only_json(cli, tmp_path, a):
    said = cli("compare", a, made(tmp_path / "b", [BAD] * 20), "--format", "json", "--show", 1)
    document = json.loads(said.out)
    assert (said.code, document["exit_code"]) == (1, 1)
    assert len(document["metrics"][0]["first_worse"]) == 1


def test_runs_are_found_by_the_start_of_their_ids(cli, tmp_path):
    place = tmp_path / ".closecall" / "runs"
    made(place / "run-one", [GOOD]), made(place / "run-two", [GOOD])
    assert cli("compare", "run-o", "run-t").code == 0
    assert cli("compare", "run-o", "run-t", "--dir", tmp_path).code == 2
    assert cli("compare", "run-", "run-t").code == 2


def test_a_report_is_never_written_into_a_run(cli, tmp_path, a):
    b = made(tmp_path / "b", [GOOD] * 20)
    for folder in (a, b):
        said = cli("compare", a, b, "-o", folder / "out.md")
        assert said.code == 2
        assert "is a run folder" in said.err


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--alpha", "0"], 2),
        (["--alpha", "0.7"], 2),
        (["--allow", "embedder"], 2),
        (["-m", "x"], 2),
    ],
)
def test_wrong_options_are_usage_errors(cli, tmp_path, a, args, code):
    assert cli("compare", a, made(tmp_path / "b", [GOOD]), *args).code == code


def test_what_is_no_run_is_exit_4_and_what_is_not_there_2(cli, tmp_path, a):
    (tmp_path / "empty").mkdir()
    assert cli("compare", a, tmp_path / "empty").code == 4
    assert cli("compare", a, tmp_path / "nowhere").code == 2
    assert cli("compare", a, a).code == 2


def test_help_names_the_exit_codes_and_loads_nothing_heavy(cli, process):
    said = cli("compare", "--help")
    assert said.code == 0
    for code in ("0 no regression shown", "1 B is worse", "11 B lacks", "13 the runs"):
        assert code in said.out
    done = process(
        code="import sys; from closecall.cli import run; run(['compare', '--help']); "
        "sys.exit(any(m in sys.modules for m in ('numpy', 'msgspec', 'jinja2', 'scipy')))"
    )
    assert done.returncode == 0
