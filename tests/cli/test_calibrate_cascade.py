"""``calibrate --cascade``: the rungs in a folder, their sum in words, and ``eval`` with them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from judged_rows import CANARIES, rows
from number_reader import FinerReader, put

from closecall import load_calibration

ASKED = ("--cascade", "--max-far", "0.2", "--max-frr", "0.4", "--confidence", "0.9", "--no-lock")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    monkeypatch.setattr("closecall.runs.calibrate.record_canaries", CANARIES)
    put(monkeypatch, tmp_path, FinerReader())


@pytest.fixture
def calibrate(cli, write, cache):
    def call(*args, cases=None):
        path = write(*(rows(400) if cases is None else cases))
        return cli("calibrate", path, *args, "--cache-dir", cache)

    return call


def text(said):
    return " ".join(said.split())


def test_two_rungs_come_of_themselves_and_eval_takes_the_folder(calibrate, cli, cache, write):
    said = calibrate(*ASKED, "-o", "rungs")
    assert said.code == 0, said
    assert sorted(path.name for path in Path("rungs").iterdir()) == [
        "1-answer_alignment.json",
        "2-answer_support.json",
    ]
    out = text(said.out)
    assert "Rung 1, answer_alignment: at most 10% of wrong answers accepted and 20% of good" in out
    assert "Rung 2, answer_support: " in out
    assert "good ones rejected, at confidence 95 %" in out
    assert (
        "The rungs' promises add up to: at most 20% of wrong answers are accepted and at most 40% "
        "of good answers are rejected, at confidence 90 %"
    ) in out
    assert "eval ANSWERS --calibration rungs --cascade" in text(said.err)
    fresh = write(*rows(40, seed=5))
    said = cli("eval", fresh, "--calibration", "rungs", "--cascade", "-q", "--aef", "run",
               "--cache-dir", cache)  # fmt: skip
    assert said.code in {0, 1, 11}
    assert "rung 2, answer_support" in text(said.out)
    again = cli("eval", "-q", "--resume", "run", "--cache-dir", cache)
    assert again.code == said.code


def test_made_again_it_counts_its_tries_and_keeps_no_rung_of_before(calibrate):
    assert calibrate(*ASKED, "-m", "token_recall,chrf", "-o", "rungs").code == 0
    said = calibrate(*ASKED, "-m", "token_recall,chrf", "-o", "rungs")
    assert said.code == 0, said
    assert load_calibration("rungs/1-token_recall.json").tried == 2
    other = calibrate(*ASKED, "-m", "chrf", "-o", "rungs")
    assert other.code == 2
    assert "holds 1-token_recall.json, which is no rung of this cascade" in text(other.err)


def test_json_lists_the_rungs(calibrate):
    said = calibrate(*ASKED, "-m", "token_recall", "--format", "json", "-q")
    assert [(one["rung"], one["goal"]["max_far"]) for one in said.json] == [
        ("token_recall", 0.1),
        ("answer_support", 0.1),
    ]
    assert "sample" not in said.json[0]


def test_a_rung_that_keeps_not_its_share_exits_with_7_and_nothing_is_written(calibrate):
    strict = ("--cascade", "--max-far", "0.01", "--max-frr", "0.01")
    said = calibrate(*strict, "-o", "rungs", cases=rows(40))
    assert said.code == 7
    assert "Nothing was written" in text(said.out)
    assert "No cutoff: " in said.out
    assert not Path("rungs").exists()


@pytest.mark.parametrize("there", [False, True])
def test_an_empty_folder_is_left_only_where_it_was_there(calibrate, there):
    if there:
        Path("out/rungs").mkdir(parents=True)
    strict = ("--cascade", "--max-far", "0.01", "--max-frr", "0.01", "-o", "out/rungs")
    assert calibrate(*strict, cases=rows(40)).code == 7
    assert (Path("out").exists(), Path("out/rungs").exists()) == (there, there)


def test_an_error_on_the_way_leaves_no_folder(calibrate, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("closecall.runs.rungs.calibrate", interrupted)
    assert calibrate(*ASKED, "-o", "rungs").code == 130
    assert not Path("rungs").exists()


def test_the_help_names_the_rungs_of_cases_with_a_context_alone_too(cli):
    said = text(cli("calibrate", "--help").out)
    assert "where no labelled case has a reference context_alignment,context_support]" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--cascade",), "add --max-far RATE and --max-frr RATE"),
        (("--cascade", "--max-far", "0.1"), "add --max-far RATE and --max-frr RATE"),
        ((*ASKED, "--judge"), "--cascade and --judge exclude each other"),
        ((*ASKED, "-o", "cases.jsonl"), "that is a file; --cascade writes a folder"),
        (("-o", "."), "that is a folder; a calibration is written to a file"),
    ],
)
def test_what_does_not_go_together_exits_with_2(args, said, calibrate):
    found = calibrate(*args, cases=rows(20))
    assert found.code == 2
    assert said in text(found.err)


def test_it_is_no_part_of_a_refresh(cli, calibrate):
    assert calibrate("-m", "token_recall", "--objective", "f1", "-o", "one.json").code == 0
    said = cli("calibrate", "--refresh", "one.json", "--cascade")
    assert said.code == 2
    assert "leave out --cascade" in text(said.err)
