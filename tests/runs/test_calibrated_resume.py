"""Calibrated runs that were killed: they end as if they had not been, or say what changed."""

import pytest
from labelled_rows import Turned, made, rows, write

from closecall import Goal, evaluate, load_run, resume, save_calibration
from closecall.errors import CalibrationFileError, RunFolderError
from closecall.runs.reader import open_run
from closecall.testing import HashEmbedder

GOALS = {"one": Goal(max_far=0.1), "two": Goal(max_far=0.1, max_frr=0.2)}


@pytest.fixture(scope="module", params=GOALS)
def calibration(request):
    return made(goal=GOALS[request.param])


@pytest.fixture(scope="module")
def by_name():
    return made(rows(12, 12), goal=Goal(objective="f1"), embedder="minilm")


def run_of(cases, calibration, **options):
    options.setdefault("embedder", HashEmbedder())
    return evaluate(cases, calibration=calibration, cache=False, **options)


class StoppedError(Exception):
    pass


@pytest.fixture
def stopped(calibration, tmp_path, monkeypatch):
    """A run in a folder that was killed half way, and the calibration file it used."""
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 16)
    place = tmp_path / "cutoff.json"
    save_calibration(calibration, place)

    def progress(done, _):
        if done >= 40:
            raise StoppedError

    with pytest.raises(StoppedError):
        run_of(rows(seed=3), place, aef=tmp_path / "run", progress=progress)
    return place, tmp_path / "run"


def test_a_run_that_was_killed_ends_as_if_it_had_not_been(stopped, calibration, shared_data):
    from folder_helpers import checker

    place, folder = stopped
    run = run_of(rows(seed=3), place, aef=folder, resume=True)
    whole = run_of(rows(seed=3), place, name=run.header.name)
    again = load_run(folder)
    for found in (run, again):
        assert [row.results for row in found] == [row.results for row in whole]
        assert (found.metrics, found.cases, found.watched) == (
            whole.metrics,
            whole.cases,
            whole.watched,
        )
        assert found.header.metrics == whole.header.metrics
    assert whole.watched[0].shift.n_run == 120
    assert open_run(folder).verify() == []
    assert checker(shared_data)(folder) == []


@pytest.mark.parametrize("to", ["gone", "other", "edited", "drifted"])
def test_a_run_does_not_go_on_with_another_calibration(to, stopped, calibration):
    place, folder = stopped
    embedder, options = HashEmbedder(), {}
    if to == "gone":
        place.unlink()
        error, said = CalibrationFileError, "No such file"
    elif to == "other":
        save_calibration(made(rows(seed=9), goal=calibration.goal), place)
        error, said = RunFolderError, "the (cutoff|calibration) of embed_answer_similarity"
    elif to == "edited":
        place.write_text(
            place.read_text(encoding="utf-8").replace("row-0001", "row-9999"), encoding="utf-8"
        )
        error, said = CalibrationFileError, "edited after it was written"
    else:
        embedder, options = Turned(), {"uncalibrated": True}
        embedder.on = True
        error, said = RunFolderError, "then, .*, of another embedder now"
    before = (folder / "results.ndjson").read_bytes()
    with pytest.raises(error, match=said):
        run_of(rows(seed=3), place, aef=folder, resume=True, embedder=embedder, **options)
    assert (folder / "results.ndjson").read_bytes() == before


def test_what_was_given_in_python_is_asked_for_again(by_name, tmp_path):
    cases = write(tmp_path / "cases.jsonl", rows())

    def stop(*_):
        raise StoppedError

    with pytest.raises(StoppedError):
        evaluate(cases, calibration=by_name, aef=tmp_path / "run", progress=stop, cache=False)
    with pytest.raises(RunFolderError, match="the calibration of this run were given in Python"):
        resume(tmp_path / "run")


def test_the_folder_alone_says_how_a_run_goes_on(by_name, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 8)
    save_calibration(by_name, tmp_path / "cutoff.json")
    cases = write(tmp_path / "cases.jsonl", rows(6, 6, seed=3))

    def progress(done, _):
        if done == 8:
            raise StoppedError

    with pytest.raises(StoppedError):
        evaluate(
            cases,
            calibration=tmp_path / "cutoff.json",
            aef=tmp_path / "run",
            progress=progress,
            cache=False,
        )
    run = resume(tmp_path / "run", cache=False)
    whole = evaluate(cases, calibration=tmp_path / "cutoff.json", cache=False)
    assert (run.metrics, run.cases, run.watched) == (whole.metrics, whole.cases, whole.watched)
