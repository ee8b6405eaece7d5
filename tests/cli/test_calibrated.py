"""``closecall eval`` and ``score`` with a calibration: exit codes and what they say."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runs"))
from labelled_rows import rows, unlabelled

from closecall import Goal, calibrate, load_calibration, save_calibration


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a calibration of two cutoffs, and the same again by another name."""
    place = tmp_path_factory.mktemp("made")
    found = calibrate(rows(), goal=Goal(max_far=0.1, max_frr=0.2), cache=place)
    for name in ("one.json", "two.json"):
        save_calibration(found, place / name)
    return place


@pytest.fixture
def scores(made):
    """Cases by what two cutoffs say of them."""
    two = load_calibration(made / "two.json")
    found = {"passed": [], "failed": [], "inconclusive": []}
    by_id = {case["id"]: case for case in unlabelled(rows())}
    for name, value in zip(two.sample.ids, two.sample.scores, strict=True):
        accept, reject = two.accept_cutoff.value, two.reject_cutoff.value
        state = "passed" if value >= accept else "failed" if value < reject else "inconclusive"
        found[state].append(by_id[name])
    return found


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("passed",), 0),
        (("passed", "inconclusive"), 11),
        (("passed", "inconclusive", "failed"), 1),
    ],
    ids=["green", "unsure", "red"],
)
def test_exit_codes(*, states, code, cli, write, made, scores):
    cases = [case for state in states for case in scores[state][:4]]
    said = cli("eval", write(*cases), "--calibration", made / "two.json", "--no-aef")
    assert said.code == code
    two = load_calibration(made / "two.json")
    assert f"{two.reject_cutoff.value:.10g} / {two.accept_cutoff.value:.10g}" in said.out
    assert "at most 10% of wrong answers are accepted" in " ".join(said.out.split())
    assert ("left unsure of" in said.out) == (code != 0)


def test_a_pair(cli, made, scores):
    codes = {"passed": 0, "failed": 1, "inconclusive": 11}
    for state, code in codes.items():
        case = scores[state][0]
        said = cli(
            "score", case["reference"], case["response"], "--calibration", made / "two.json"
        )
        assert said.code == code
        first, second = said.out.splitlines()
        assert f"{state}: " in first
        assert second.startswith("calibrated ")
    said = cli("score", "a", "b", "--calibration", made / "one.json", "--json")
    assert said.json["calibrated"] is True
    assert said.json["calibration"]["digest"] == load_calibration(made / "one.json").digest
    assert "at most 10% of wrong answers are accepted" in said.json["cutoffNote"]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--cutoff", "embed_answer_similarity=70"), 2, "and a cutoff of your own; leave out one"),
        (("-m", "semantic_similarity"), 6, "for the metric embed_answer_similarity, which is not"),
        (("--window", "error"), 6, "window chunk then, error now"),
        (("--calibration", "two.json"), 2, "are both for embed_answer_similarity"),
        (("--calibration", "none.json"), 4, "none.json: No such file"),
        (("--calibration", "cases.jsonl"), 4, "cases.jsonl: "),
        (("-o", "one.json"), 2, "that is the calibration; it would be lost"),
        (("--resume", "run"), 2, "leave out FILE"),
    ],
)
def test_what_a_calibrated_run_refuses(*, args, code, said, cli, write, made):
    for name in ("one.json", "two.json"):
        Path(name).write_bytes((made / name).read_bytes())
    found = cli("eval", write(*rows(2, 2)), "--calibration", "one.json", *args)
    assert found.code == code, found
    assert said in found.err
    assert not list(Path().glob(".closecall/runs/*"))
    assert load_calibration("one.json")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--cutoff", "70"), 2, "--cutoff and --calibration exclude each other"),
        (("-m", "semantic_similarity"), 6, "for the metric embed_answer_similarity"),
        (("--window", "truncate"), 6, "window chunk then, truncate now"),
    ],
)
def test_what_a_calibrated_pair_refuses(args, code, said, cli, made):
    found = cli("score", "a", "b", "--calibration", made / "one.json", *args)
    assert found.code == code, found
    assert said in found.err


def test_uncalibrated_needs_a_calibration_and_belongs_to_its_run(cli, write, made):
    path = write(*rows(2, 2))
    said = cli("eval", path, "--uncalibrated")
    assert said.code == 2
    assert "uncalibrated is about calibrations" in said.err
    for option in (("--uncalibrated",), ("--calibration", made / "one.json")):
        said = cli("eval", "--resume", "run", *option)
        assert said.code == 2
        assert f"leave out {option[0]}" in said.err


def test_uncalibrated_from_the_command_line(cli, write, made, scores):
    cases = scores["passed"][:3]
    args = ("--calibration", made / "one.json", "--window", "truncate", "--no-aef")
    assert cli("eval", write(*cases), *args).code == 6
    said = cli("eval", write(*cases), *args, "--uncalibrated")
    assert said.code == 6
    assert said.out.count("UNCALIBRATED") >= 2
    said = cli("eval", write(*cases), *args, "--uncalibrated", "-o", "r.json")
    assert "UNCALIBRATED: 3 passed of 3 cases; exit code 6" in said.err
    assert json.loads(Path("r.json").read_bytes())["exitCode"] == 6
