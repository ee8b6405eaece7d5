"""A report needs the run folder only: an old run renders as the new one did."""

import json

import pytest

from closecall import load_run
from closecall.report.formats import FORMATS


@pytest.fixture(scope="module")
def pair(make_run, cases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "aef"
    run = make_run(cases, aef=folder)
    return run, load_run(folder)


def test_everything_that_is_not_a_time_reads_back_the_same(pair):
    run, again = pair
    assert again.header == run.header
    assert again.metrics == run.metrics
    assert again.cases == run.cases
    for before, after in zip(run, again, strict=True):
        assert after.results == before.results
        assert after.case.response == before.case.response
        assert after.case.label == before.case.label


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"json", "junit"}))
def test_a_report_without_times_is_the_same_byte_for_byte(pair, render, form):
    run, again = pair
    assert render(again, form) == render(run, form)


def test_the_json_report_differs_in_duration_only(pair, render):
    first, second = (json.loads(render(run, "json")) for run in pair)
    assert first.pop("durationMs") > 0
    assert second.pop("durationMs") is None, "nobody measured the work of an old run"
    assert first == second
