"""The soak: memory, descriptors and threads of every kind of work, and that growth is seen."""

import sys

import pytest
from trials.memory import Seen

from trials import memory

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the trial reads /proc"),
]


@pytest.fixture(scope="module")
def rows():
    return {row.what: row for row in memory.run(seed=1, scale=0.0, seconds=1.0)}


@pytest.mark.parametrize("kind", memory.KINDS)
def test_memory_stays_flat(kind, rows):
    row = rows[f"memory over {kind}"]
    assert row.held == row.tried, "\n".join(row.failures)
    assert row.also["from"] <= row.also["MB per 1,000"] <= row.also["to"]


def samples(mb=lambda at: 50.0, files=lambda at: 9, threads=lambda at: 3):
    return [Seen(at, mb(at), files(at), threads(at)) for at in range(10, 3000, 10)]


def test_what_grows_is_seen():
    flat = memory.judged("work", samples(lambda at: 50.0 + 0.3 * (at % 7)))
    assert flat.held == flat.tried
    for grown, word in (
        (samples(lambda at: 50.0 + 0.004 * at), "added by 1,000"),
        (samples(files=lambda at: 9 + at // 500), "files grew"),
        (samples(threads=lambda at: 3 + at // 500), "threads grew"),
    ):
        row = memory.judged("work", grown)
        assert row.held == 0
        assert word in row.failures[0]


def test_the_slope_is_that_of_theil_and_sen():
    from scipy.stats import theilslopes

    points = [(float(at), 40 + 0.002 * at + (at * 7 % 13) / 10) for at in range(0, 2000, 40)]
    found = memory.slope(points)
    expected = theilslopes([mb for _, mb in points], [at for at, _ in points], alpha=0.95)
    assert found.value == pytest.approx(1000 * expected[0])
    assert found.low == pytest.approx(1000 * expected[2], rel=0.05)
    assert found.high == pytest.approx(1000 * expected[3], rel=0.05)


def test_a_kind_of_work_that_fails_is_told(monkeypatch):
    monkeypatch.setattr(memory, "KINDS", {"nothing": None})
    (row,) = memory.run(seed=1, scale=0.0, seconds=1.0)
    assert row.held == 0
    assert "KeyError" in row.failures[0]
