"""A pair model from labels to verdicts: calibrated, run, resumed, and refused once it changed."""

import json
import random
from pathlib import Path

import pair_world
import pytest
from pair_world import ANIMALS, COLOURS, SIZES, write

from closecall import Goal, calibrate, evaluate, refresh, resume
from closecall.cli import run as cli
from closecall.errors import InstrumentMismatchError, RunFolderError
from closecall.records import State
from closecall.testing import HashEmbedder


def rows(count=160, seed=0):
    """Answers that say the same in another order, and answers that change or drop a fact."""
    draw = random.Random(seed)
    made = []
    for at in range(count):
        animal, colour, size = (draw.choice(words) for words in (ANIMALS, COLOURS, SIZES))
        good = at % 2 == 0
        response = f"the {animal} is {size} and {colour}"
        if not good:
            other = draw.choice([word for word in COLOURS if word != colour])
            response = draw.choice(
                (f"the {animal} is {size} and {other}", f"the {animal} is {size}")
            )
        made.append(
            {
                "id": f"row-{at}",
                "group": f"group-{at}",
                "response": response,
                "reference": f"the {animal} is {colour} and {size}",
                "label": "accept" if good else "reject",
            }
        )
    return made


@pytest.fixture
def spec(folder):
    return f"cross_encoder:model={folder}"


@pytest.fixture
def calibration(spec):
    return calibrate(rows(), spec, goal=Goal(max_far=0.1), embedder=HashEmbedder(), cache=False)


def test_a_cutoff_is_found_and_holds_on_other_rows(calibration, spec):
    run = evaluate(rows(60, seed=9), calibration=calibration, embedder=HashEmbedder(), cache=False)
    assert run.header.metrics[0].id == spec
    states = [row.results[0].state for row in run]
    assert states[1::2] == [State.FAILED] * 30
    assert states[::2].count(State.PASSED) >= 27
    failed = next(row.results[0] for row in run if row.results[0].state is State.FAILED)
    assert failed.reason.startswith("low entailment ")


@pytest.mark.parametrize("changed", ["weights", "labels"])
def test_another_model_in_the_folder_is_refused(calibration, spec, folder, weights, changed):
    if changed == "weights":
        write(folder, (weights[0] * 0.9, weights[1]))
    else:
        write(folder, weights, labels=("contradiction", "neutral", "entailment"))
    with pytest.raises(InstrumentMismatchError) as caught:
        evaluate(rows(4), calibration=calibration, embedder=HashEmbedder(), cache=False)
    assert caught.value.exit_code == 6
    assert f"of {spec}, here is 1+" in str(caught.value)
    if changed == "weights":
        again = refresh(calibration, HashEmbedder(), cache=False).after
        assert again.metric.version != calibration.metric.version
        run = evaluate(rows(40), calibration=again, embedder=HashEmbedder(), cache=False)
        assert run.metrics[0].passed > 0


def test_the_command_line_does_the_same(folder, weights, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8"
    )
    spec = "cross_encoder:model=./nli"
    made = ["calibrate", "rows.jsonl", "-m", spec, "--max-far", "0.1", "-o", "cutoff.json"]
    assert cli(made) == 0, capsys.readouterr().err
    run = ["eval", "rows.jsonl", "--calibration", "cutoff.json", "--no-aef"]
    assert cli(run) == 1  # half of the rows are wrong answers
    said = " ".join(capsys.readouterr().out.split())
    assert "at most 10% of wrong answers are accepted" in said
    assert cli(["calibrate", "--refresh", "cutoff.json", "-o", "again.json"]) == 0
    write(folder, (weights[0] * 0.9, weights[1]))
    assert cli(run) == 6
    assert "1+" in capsys.readouterr().err


def test_a_run_that_was_cut_off_goes_on_with_the_same_model_only(
    spec, folder, weights, tmp_path, monkeypatch
):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 16)
    cases = tmp_path / "rows.jsonl"
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows(64)), encoding="utf-8")

    class StoppedError(Exception):
        pass

    def stop(done, _):
        if done >= 32:
            raise StoppedError

    for name in ("one", "two"):
        with pytest.raises(StoppedError):
            evaluate(cases, spec, aef=tmp_path / name, progress=stop, cache=False)
    whole = evaluate(cases, spec, cache=False)
    found = resume(tmp_path / "one", cache=False)
    assert [row.results for row in found] == [row.results for row in whole]
    write(folder, (weights[0] * 0.9, weights[1]))
    with pytest.raises(RunFolderError):
        resume(tmp_path / "two", cache=False)


def test_a_broken_model_spoils_no_other_metric(folder, weights):
    huge = weights[0].copy()
    huge[pair_world.SIZE + pair_world.IDS["crow"], 0] = 3e38
    huge[pair_world.SIZE + pair_world.IDS["red"], 0] = 3e38
    write(folder, (huge, weights[1]))
    cases = [
        {"id": "1", "response": "the crow is red", "reference": "the crow is red"},
        {"id": "2", "response": "the cat is thin", "reference": "the cat is thin"},
    ]
    metrics = [f"cross_encoder:model={folder}", "token_f1"]
    run = evaluate(cases, metrics, embedder=HashEmbedder(), cache=False)
    states = [[result.state for result in row.results] for row in run]
    assert states == [[State.NOT_MEASURED, State.PASSED], [State.SCORED, State.PASSED]]


def test_a_run_asks_for_no_vector(spec):
    texts = []
    embedder = HashEmbedder(on_embed=texts.extend)
    run = evaluate(rows(8), spec, embedder=embedder, cache=False)
    assert [row.results[0].state for row in run] == [State.SCORED] * 8
    assert texts == []
