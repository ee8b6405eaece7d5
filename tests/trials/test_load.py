"""Many at once: nothing is lost, nothing is wrong, and both sides count the same."""

import os

import pytest
from trials.forks import side_by_side

from trials import load

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the trials fork"),
]


def held(row):
    assert row.held == row.tried, "\n".join(row.failures)
    assert not row.failures
    return row.also


def test_processes_on_one_cache_lose_no_vector():
    assert held(load.shared_cache(3, 150, 8, print))["different"] > 100


def test_every_text_ends_measured_or_with_a_reason_and_both_sides_count_alike():
    also = held(load.provider_at_its_limit(3, 120, print))
    assert also["measured"] > also["typed absences"] > 0
    assert also["lost"] == 0
    assert also["reply fine"] > 0
    assert sum(also[name] for name in also if name.startswith("reply ")) >= 120


def test_a_text_asked_for_after_it_came_would_be_seen(monkeypatch):
    from closecall.embedders.remote.asking import Asking

    take = Asking._take

    def twice(asking, work, at, got, **more):
        asking.reply([work.texts[place] for place in at], work.expected, work.call.stopped)
        return take(asking, work, at, got, **more)

    monkeypatch.setattr(Asking, "_take", twice)
    row = load.provider_at_its_limit(3, 60, print)
    assert any("asked again for what had come" in line for line in row.failures)
    assert row.held < row.tried


def test_recorders_of_one_tape_go_one_after_the_other():
    held(load.recorders(3, print))


def die(number, shared):
    """A process that ends before it says anything, and one that fails."""
    if number:
        os._exit(3)
    raise KeyError("no such shelf")


def test_a_process_that_dies_or_fails_is_told(monkeypatch):
    here = os.path.dirname(__file__)  # noqa: PTH120 - a path for a variable
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ["PYTHONPATH"]]))
    failed, died = side_by_side("test_load", "die", 2, {})
    assert "no such shelf" in failed["error"]
    assert died == {"died": "process 1"}
