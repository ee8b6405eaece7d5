"""Axes hold what is drawn, with round numbers on them."""

import math
import random

import pytest

from closecall.report.charts.scales import (
    deviate,
    deviate_axis,
    nice_axis,
    nice_step,
    score_axis,
    share_axis,
    tick_text,
)


def test_steps_are_1_2_or_5_times_a_power_of_ten():
    draw = random.Random(0)
    for _ in range(300):
        width = 10 ** draw.uniform(-6, 9)
        step = nice_step(width, 6)
        digit = step / 10 ** math.floor(math.log10(step) + 1e-9)
        assert digit == pytest.approx(1) or digit == pytest.approx(2) or digit == pytest.approx(5)
        assert 2 <= width / step <= 6.0001


@pytest.mark.parametrize("pad", [True, False])
def test_an_axis_holds_both_ends_and_its_ticks_lie_on_it(pad):
    draw = random.Random(1)
    for _ in range(300):
        low = draw.uniform(-50, 50)
        high = low + 10 ** draw.uniform(-5, 4)
        axis = nice_axis("x", low, high, pad=pad)
        room = 1e-9 * max(abs(low), abs(high))
        assert axis.low <= low + room
        assert axis.high >= high - room
        assert len(axis.ticks) >= 2
        assert all(axis.low - room <= tick.at <= axis.high + room for tick in axis.ticks)
        assert len({tick.text for tick in axis.ticks}) == len(axis.ticks)


@pytest.mark.parametrize("value", [0.0, 0.7, -3.0, 1e9])
def test_one_value_alone_gets_room_on_both_sides(value):
    for axis in (nice_axis("x", value, value), score_axis("x", [value, value])):
        assert axis.low < value < axis.high


def test_what_is_counted_has_ticks_at_whole_numbers():
    axis = nice_axis("answers", 0, 2, whole=True)
    assert [tick.text for tick in axis.ticks] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (0.1 + 0.2, 0.1, "0.3"),
        (-0.0, 0.1, "0.0"),
        (12000, 2000, "12,000"),
        (0.25, 0.05, "0.25"),
        (-1e-17, 0.2, "0.0"),
    ],
)
def test_a_tick_has_the_decimals_of_its_step(value, step, text):
    assert tick_text(value, step) == text


def test_shares_are_in_percent():
    assert [t.text for t in share_axis("x").ticks] == ["0%", "20%", "40%", "60%", "80%", "100%"]


def test_deviates_hold_both_rates_and_their_ticks_do_not_crowd():
    for low, high in ((0.003, 0.4), (0.0002, 0.9995), (0.5, 0.5), (1e-7, 1 - 1e-7)):
        axis = deviate_axis("x", low, high)
        assert axis.low <= max(deviate(low), deviate(0.0001)) + 1e-12
        assert axis.high >= min(deviate(high), deviate(0.9999)) - 1e-12
        gaps = [b.at - a.at for a, b in zip(axis.ticks, axis.ticks[1:], strict=False)]
        assert min(gaps) >= (axis.high - axis.low) / 13 - 1e-12
