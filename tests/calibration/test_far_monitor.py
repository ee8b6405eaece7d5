"""An alarm on labelled rejects: the evidence by hand, what it keeps, and that it can be stopped."""

import json
import math

import numpy as np
import pytest

from closecall.calibration.drift.far_monitor import FarMonitor
from closecall.errors import DataError, UsageError


def feed(monitor, accepted):
    return [monitor.update(bool(one)) for one in accepted]


def by_hand(limit, accepted):
    """The mean, over 16 bets from 0.05 to 0.9 / limit, of a product over the labels."""
    bets = np.geomspace(0.05, 0.9 / limit, 16)
    return float(np.mean(np.prod([1 + bets * (one - limit) for one in accepted], axis=0)))


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.5, 0.95])
def test_the_evidence_is_a_mean_of_products(limit):
    accepted = np.random.default_rng(0).random(80) < 0.3
    monitor = FarMonitor(limit)
    for at, one in enumerate(accepted.tolist()):
        monitor.update(one)
        want = by_hand(limit, accepted[: at + 1])
        assert monitor.value == pytest.approx(want, rel=1e-9)
        assert monitor.log_value == pytest.approx(math.log(want), abs=1e-9)
    assert (monitor.rejects, monitor.false_accepts) == (80, int(accepted.sum()))


def test_before_any_label_there_is_no_evidence():
    monitor = FarMonitor(0.05)
    assert (monitor.value, monitor.alarm, monitor.alarm_at) == (pytest.approx(1.0), False, None)


def test_too_many_false_accepts_raise_an_alarm_that_stays():
    monitor = FarMonitor(0.05, 0.01)
    said = feed(monitor, [False] * 20 + [True, False, False] * 10 + [False] * 500)
    first = said.index(True)
    assert 20 < first < 50
    assert all(said[first:])
    assert monitor.alarm_at == first + 1
    # It fell again since; what was once shown stays shown.
    assert monitor.value < 100


def test_the_first_step_that_reaches_one_over_the_level():
    monitor, path = FarMonitor(0.1, 0.05), []
    for one in [True, False, True, True, False, True, True]:
        monitor.update(one)
        path.append(monitor.value)
    assert monitor.alarm_at == 1 + next(at for at, value in enumerate(path) if value >= 20)


@pytest.mark.parametrize("accepted", [True, False])
def test_however_long_it_watches_its_value_is_a_number(accepted):
    state = FarMonitor(0.01).state()
    count = 10**7
    state.update(rejects=count, false_accepts=count if accepted else 0)
    monitor = FarMonitor.from_state(state)
    monitor.update(accepted)
    assert math.isfinite(monitor.value)
    assert math.isfinite(monitor.log_value)
    assert monitor.alarm == accepted


def test_it_goes_on_from_its_state_as_if_it_had_never_stopped():
    accepted = np.random.default_rng(3).random(200) < 0.2
    whole, part = FarMonitor(0.05, 0.05), FarMonitor(0.05, 0.05)
    feed(whole, accepted)
    for piece in np.array_split(accepted, 9):
        part = FarMonitor.from_state(json.loads(json.dumps(part.state())))
        feed(part, piece)
    assert part.state() == whole.state()
    assert part.value == whole.value
    assert whole.alarm


@pytest.mark.parametrize(
    "change",
    [
        {"type": "exchangeability-test/1"},
        {"rejects": 1.5},
        {"rejects": 1},
        {"false_accepts": -1},
        {"alarm_at": 4},
        {"alarm_at": 0},
    ],
    ids=["type", "fraction", "fewer", "negative", "late", "early"],
)
def test_a_state_of_something_else_is_refused(change):
    monitor = FarMonitor(0.05)
    feed(monitor, [True, True, False])
    with pytest.raises(DataError, match="not the state of a false-accept monitor"):
        FarMonitor.from_state({**monitor.state(), **change})


@pytest.mark.parametrize("accepted", [1, 0, 0.7, None, "accept"])
def test_a_score_is_no_decision(accepted):
    monitor = FarMonitor(0.05)
    with pytest.raises(UsageError, match="accepted must be True or False"):
        monitor.update(accepted)
    assert monitor.rejects == 0


@pytest.mark.parametrize(("limit", "level"), [(0, 0.01), (1, 0.01), (0.05, 0), (0.05, 1)])
def test_limits_and_levels_lie_between_0_and_1(limit, level):
    with pytest.raises(UsageError):
        FarMonitor(limit, level)
