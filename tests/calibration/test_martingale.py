"""An alarm on scores as they come: what it sees, what it keeps, and that it can be stopped."""

import json
import math

import numpy as np
import pytest

from closecall.calibration.drift.martingale import ExchangeabilityTest
from closecall.errors import DataError, NonFiniteError, ShapeError, UsageError


def fresh(n=300, seed=0, level=0.01, at=0.0):
    return ExchangeabilityTest(
        np.random.default_rng(seed).normal(at, 1, n), level=level, seed=seed
    )


def feed(test, scores):
    return [test.update(float(score)) for score in scores]


def by_hand(reference, stream, parts):
    """The simple jumper, as it is printed, on conformal p-values by counting."""
    seen, fortune, path = list(reference), {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}, []
    for score, part in zip(stream, parts, strict=True):
        seen.append(score)
        p = (sum(s > score for s in seen) + part * sum(s == score for s in seen)) / len(seen)
        total = sum(fortune.values())
        fortune = {
            bet: (0.99 * kept + 0.01 / 3 * total) * (1 + bet * (p - 0.5))
            for bet, kept in fortune.items()
        }
        path.append(sum(fortune.values()))
    return path


@pytest.mark.parametrize("decimals", [6, 1], ids=["distinct", "ties"])
def test_it_is_the_simple_jumper_on_conformal_p_values(decimals):
    rng = np.random.default_rng(1)
    reference, stream = (np.round(rng.normal(size=n), decimals).tolist() for n in (40, 60))
    test, path = ExchangeabilityTest(reference, level=0.01, seed=5), []
    for score in stream:
        test.update(score)
        path.append(test.value)
    raw = np.random.PCG64(5 * 1_000_003 + 900_006).random_raw(60)
    parts = [(int(bits) >> 11) / 2**53 for bits in raw]
    assert path == pytest.approx(by_hand(reference, stream, parts), rel=1e-12)
    assert test.log_value == pytest.approx(math.log(path[-1]))


@pytest.mark.parametrize("move", [-1.0, 1.0], ids=["down", "up"])
def test_scores_that_move_raise_an_alarm_that_stays(move):
    test = fresh()
    assert not any(feed(test, np.random.default_rng(1).normal(0, 1, 200)))
    assert (test.alarm, test.alarm_at, test.steps) == (False, None, 200)
    said = feed(test, np.random.default_rng(2).normal(move, 1, 200))
    first = said.index(True)
    assert first < 120
    assert all(said[first:])
    assert (test.alarm_at, test.steps) == (201 + first, 400)
    assert test.value > 100


def test_it_raises_the_alarm_at_the_first_step_that_reaches_one_over_the_level():
    test, path = fresh(level=0.05), []
    for score in np.random.default_rng(3).normal(1.5, 1, 100):
        test.update(float(score))
        path.append(test.value)
    assert test.alarm_at == 1 + next(at for at, value in enumerate(path) if value >= 20)


def test_a_constant_score_is_no_news():
    test = ExchangeabilityTest([0.5] * 50, level=0.01, seed=0)
    assert not any(feed(test, [0.5] * 2000))


def test_rounding_is_that_of_every_score():
    one, two = (ExchangeabilityTest([0.2, 1.0], level=0.01, seed=0) for _ in range(2))
    feed(one, [1.0] * 5)
    feed(two, [0.99999996] * 5)
    assert one.value == two.value


def test_a_very_long_quiet_stream_does_not_end_in_nothing():
    """The fortune may fall below the smallest float; it can still rise again."""
    test = fresh(20)
    for _ in range(150_000):
        test._bet(0.5)
        test._bet(0.0)
        test._bet(1.0)
        if test.log_value < -800:
            break
    assert test.value == 0.0
    assert math.isfinite(test.log_value)
    for _ in range(4000):
        test._bet(0.1)
    assert test.log_value > 100


def test_a_fortune_beyond_the_largest_float_stays_a_number():
    test = fresh(20)
    for _ in range(4000):
        test._bet(0.0)
    assert test.log_value > 800
    assert test.value == pytest.approx(1.797e308, rel=1e-3)


def test_it_goes_on_from_its_state_as_if_it_had_never_stopped():
    scores = np.random.default_rng(4).normal(0.4, 1, 300).round(1)
    whole, part = fresh(seed=7), fresh(seed=7)
    feed(whole, scores)
    for piece in np.array_split(scores, 6):
        part = ExchangeabilityTest.from_state(json.loads(json.dumps(part.state())))
        feed(part, piece)
    assert part.state() == whole.state()
    assert (part.value, part.alarm_at) == (whole.value, whole.alarm_at)
    assert whole.alarm


def test_it_is_the_same_on_every_machine():
    test = ExchangeabilityTest([0.1, 0.4, 0.4, 0.9], level=0.01, seed=2)
    feed(test, [0.4, 0.5, 0.9, 0.9, 0.95, 0.4])
    assert test.value.hex() == GOLDEN


@pytest.mark.parametrize(
    "change",
    [
        {"type": "far-monitor/1"},
        {"steps": "3"},
        {"steps": 400},
        {"scores": []},
        {"scores": [3.0, 1.0], "steps": 1},
        {"scores": [1.0, math.inf], "steps": 1},
        {"fortunes": [0.0, 0.5, 0.5]},
        {"fortunes": [math.nan, 0.5, 0.5]},
        {"alarm_at": 4},
        {"level": None},
    ],
    ids=lambda change: ",".join(map(str, change)) + str(len(str(change))),
)
def test_a_state_of_something_else_is_refused(change):
    test = fresh()
    feed(test, [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="not the state of an exchangeability test"):
        ExchangeabilityTest.from_state({**test.state(), **change})


def test_a_score_that_is_no_number_changes_nothing():
    test = fresh()
    feed(test, [0.1, 0.2])
    before = test.state()
    with pytest.raises(NonFiniteError):
        test.update(float("nan"))
    assert test.state() == before


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"reference_scores": []}, ShapeError),
        ({"reference_scores": [[0.1]]}, ShapeError),
        ({"reference_scores": [math.inf]}, NonFiniteError),
        ({"level": 0.0}, UsageError),
        ({"level": 1.0}, UsageError),
        ({"seed": -1}, UsageError),
    ],
    ids=["empty", "matrix", "infinite", "level-0", "level-1", "seed"],
)
def test_arguments_out_of_range(wrong, error):
    with pytest.raises(error):
        ExchangeabilityTest(**{"reference_scores": [0.1], "level": 0.01, "seed": 0, **wrong})


GOLDEN = "0x1.1aca42ee2cef1p+0"
