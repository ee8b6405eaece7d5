"""``closecall demo``: the real pipeline on the packaged set, with counts of its errors."""

import contextlib
import io
import re
import sys
from typing import NamedTuple

import pytest

from closecall import Label, Run, State, evaluate
from closecall.cli import run as run_cli


class Demo(NamedTuple):
    code: int
    out: str
    run: Run


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One demo, with a remote provider selected, and the same cases evaluated by hand."""
    saved = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(saved.parent)
        patch.setenv("AI_INFERENCE_PROVIDER", "openai")
        code = run_cli(["demo", "--save", str(saved)])
    assert [path.name for path in saved.parent.iterdir()] == ["demo.jsonl"]
    again = evaluate(saved, "embed_answer_similarity", "minilm", cache=False, guards="off")
    return Demo(code, out.getvalue(), again)


def test_demo_works_whatever_provider_is_selected(demo):
    assert demo.code == 0


def test_demo_shows_how_often_the_cutoff_errs_with_counts(demo):
    counts = demo.run.metrics[0].labelled
    assert f"{counts.false_accepts} / {counts.rejects} (" in demo.out
    assert f"{counts.false_rejects} / {counts.accepts} (" in demo.out
    assert counts.false_accepts > 0
    assert counts.false_rejects > 0
    assert "default cutoff, not calibrated" in demo.out
    assert f"{demo.run.cases.total} answers of a support desk" in demo.out
    assert demo.run.metrics[0].measured == demo.run.cases.total >= 120


def test_demo_counts_every_kind_of_answer_once(demo):
    lines = re.findall(r"^  (\S+) +(right|wrong) +(\d+) / (\d+) +[\d.]+$", demo.out, re.MULTILINE)
    assert sum(int(total) for *_, total in lines) == demo.run.cases.total
    accepted = sum(row.state is State.PASSED for row in demo.run)
    assert sum(int(passed) for _, _, passed, _ in lines) == accepted
    wrong = sum(row.case.label is Label.REJECT for row in demo.run)
    assert sum(int(total) for _, verdict, _, total in lines if verdict == "wrong") == wrong


def test_demo_shows_one_error_of_each_kind_with_its_texts(demo):
    let_in = demo.out[demo.out.index("A wrong answer it let through") :]
    turned = demo.out[demo.out.index("A right answer it turned away") :]
    for block in (let_in, turned):
        assert re.search(r"question .*\n(.*\n)*? +reference .*\n(.*\n)*? +answer ", block)
    assert float(re.search(r"let through \(([\d.]+),", demo.out)[1]) >= 70
    assert float(re.search(r"turned away \(([\d.]+),", demo.out)[1]) < 70


def test_demo_says_where_it_cannot_save(cli):
    said = cli("demo", "--save", "no/such/folder.jsonl")
    assert said.code == 2
    assert "cannot write" in said.err


def test_save_never_replaces_a_file_and_says_what_it_writes(cli, tmp_path):
    mine = tmp_path / "mine.jsonl"
    mine.write_text("precious", encoding="utf-8")
    said = cli("demo", "--save", mine)
    assert (said.code, mine.read_text(encoding="utf-8")) == (2, "precious")
    assert "is there already" in said.err
    assert cli("demo", "--save", tmp_path / "cases.csv").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are a POSIX thing")
def test_what_could_not_be_saved_whole_is_taken_away_again(cli, tmp_path):
    import resource

    mine = tmp_path / "mine.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        said = cli("demo", "--save", mine)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said.code == 2
    assert f"cannot write {mine}" in said.err
    assert not mine.exists()
