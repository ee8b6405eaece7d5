"""Every kind of run against the format's own schemas and checker, and against our own."""

import json

import pytest
from every_run import KINDS, OPEN
from folder_helpers import checker

from closecall import load_run, verify_run
from closecall.runs.reader import open_run


@pytest.mark.parametrize("content", [True, False], ids=["texts", "no-texts"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_this_kind_conforms_and_holds(kind, content, tmp_path):
    place = tmp_path / "run"
    KINDS[kind](place, tmp_path, content=content)
    found = verify_run(place)
    assert found.problems == ()
    assert (found.state, found.exit_code) == ("sealed", 0)


@pytest.mark.parametrize("content", [True, False], ids=["texts", "no-texts"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_formats_own_checker_agrees(kind, content, tmp_path, shared_data):
    place = tmp_path / "run"
    KINDS[kind](place, tmp_path, content=content)
    assert checker(shared_data)(place) == []


@pytest.mark.parametrize("kind", OPEN)
def test_a_run_that_was_cut_off_holds_as_far_as_it_came(kind, tmp_path):
    place = tmp_path / "run"
    OPEN[kind](place, tmp_path)
    run = open_run(place)
    assert run.running
    assert 0 < len(list(run.results())) < 40
    found = verify_run(place)
    assert (found.problems, found.state) == ((), "not closed")


def test_the_kinds_have_what_they_are_for(tmp_path):
    """Guards against a kind that no longer makes what its name says."""

    def made(kind):
        place = tmp_path / kind
        scratch = tmp_path / f"{kind}-scratch"
        scratch.mkdir()
        KINDS[kind](place, scratch)
        return place, load_run(place)

    states = {row.state.value for row in made("plain")[1]}
    assert {"passed", "failed", "not_measured"} <= states
    assert {r.state.value for row in made("unscored")[1] for r in row.results} >= {
        "scored", "error", "not_measured",
    }  # fmt: skip
    assert any(r.held for row in made("guarded")[1] for r in row.results)
    assert {one.state.value for one in made("gated")[1].gates} >= {"passed", "failed"}
    assert made("bad_rows")[1].cases.bad_rows == 2
    assert made("cascaded")[1].cascade is not None
    assert made("repeated")[1].repeats[0].flaky
    place, run = made("replayed_trials")
    assert json.loads((place / "run.json").read_bytes())["execution"]["targetMode"] == "replayed"
    assert run.header.runs == 3
    assert made("paneled")[1].metrics[0].agreement is not None
    assert made("uncalibrated")[1].exit_code in {1, 6}
