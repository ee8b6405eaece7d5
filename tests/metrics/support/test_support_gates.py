"""``check-gates`` decides by a folder of calibrations of support metrics, or refuses it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from pump_rows import file_of
from word_reader import WordReader

from closecall.cli import run

METRICS = ("answer_support", "context_support")
GATES = ("--gate", "pass_rate(answer_support) >= 0.9", "--gate", "all(context_support)")
CUTOFFS = Path("cutoffs")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a calibration of each support metric, made once."""
    folder = tmp_path_factory.mktemp("calibrated") / "cutoffs"
    folder.mkdir()
    labelled = file_of(folder.with_name("rows.jsonl"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("closecall.metrics.support.base.bundled", WordReader)
        for name in METRICS:
            file = folder / f"{name}.json"
            asked = ["calibrate", str(labelled), "-m", name, "--max-far", "0.1", "-o", str(file)]
            assert run(asked) == 0
    return folder


@pytest.fixture
def check(named, made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    shutil.copytree(made, CUTOFFS)
    file_of(Path("cases.jsonl"), 8)

    def call(*more, gates=GATES):
        capsys.readouterr()
        code = run(["check-gates", "cases.jsonl", "--guards", "off", *gates, *map(str, more)])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), err

    return call


def test_a_folder_of_calibrations_decides_which_bad_answers_pass(check, named):
    # A model of words takes a denial for a tenth, and another number for one word of seven.
    denied = check("--calibration", CUTOFFS, "--families", "negation")
    assert denied[0] == 0
    assert "negation: stopped; 0 / 8 (0.0 %) accepted" in denied[1]
    assert "stopped by: all(context_support): 0 < 8" in denied[1]
    assert [len(pairs) for pairs in named.asked] == [8, 8]  # only counted, so not explained
    counted = check("--calibration", CUTOFFS, "--families", "number")
    assert counted[0] == 1
    assert "number: LET THROUGH; 8 / 8 (100.0 %) accepted" in counted[1]


@pytest.mark.parametrize("name", METRICS)
def test_a_calibration_of_another_model_is_refused_and_what_is_advised_helps(
    check, monkeypatch, name
):
    other = WordReader(digest="bb22")
    monkeypatch.setattr("closecall.metrics.support.base.bundled", lambda: other)
    file = CUTOFFS / f"{name}.json"
    asked = ("--calibration", file, "--families", "negation")
    gates = ("--gate", f"all({name})")
    code, out, err = check(*asked, gates=gates)
    assert (code, out, other.asked) == (6, "", [])
    assert f"made with version 2+aa11 of {name}, here is 2+bb22" in err
    (advised,) = re.findall(r"closecall (calibrate --refresh .+)", err)
    assert shlex.split(advised)[2] == str(file.absolute())
    assert run(shlex.split(advised)) == 0
    assert check(*asked, gates=gates)[0] == 0


def test_a_calibration_of_the_other_support_metric_is_refused(check, named):
    file = CUTOFFS / "answer_support.json"
    code, out, err = check("-m", "context_support", "--calibration", file, gates=GATES[2:])
    assert (code, out, named.asked) == (6, "", [])
    assert "is for the metric answer_support, which is not among those of this run" in err
