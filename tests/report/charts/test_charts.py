"""Each picture holds the data it was given, says how many that are, and is the same every time."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from closecall.calibration.binomial import clopper_pearson
from closecall.calibration.curve import error_curve
from closecall.report.charts.chart import At, Boxes, Chart, Dots, Line, NoChart, Rule
from closecall.report.charts.curves import det, roc
from closecall.report.charts.distributions import bin_edges, distribution, distributions
from closecall.report.charts.errors import errors, precision
from closecall.report.charts.history import RunPoint, history
from closecall.report.charts.movers import Moved, movers
from closecall.report.charts.png import png
from closecall.report.charts.reliability import bins_of, reliability
from closecall.report.charts.scales import deviate
from closecall.report.charts.style import PAPER, themed
from closecall.report.charts.svg import svg

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(1)</script> & \"'\x1b[31m\u202e]]> $x$"


@pytest.fixture(scope="module")
def scores():
    draw = np.random.default_rng(4)
    good = np.clip(np.round(draw.normal(0.75, 0.12, 700), 2), 0, 1)
    bad = np.clip(np.round(draw.normal(0.4, 0.18, 300), 2), 0, 1)
    return good, bad


@pytest.fixture(scope="module")
def curve(scores):
    good, bad = scores
    return error_curve(np.concatenate(scores), [True] * len(good) + [False] * len(bad))


CUT = (At(0.6, "cutoff 0.6"),)


def drawn_of(scores, curve):
    good, bad = scores
    return [
        distributions(good, bad, cutoffs=CUT, of="m"),
        distribution(good, cutoffs=CUT),
        roc(curve, cutoffs=CUT),
        det(curve, cutoffs=CUT),
        errors(curve, cutoffs=CUT, limit=At(0.05, "at most 5%")),
        precision(curve, cutoffs=CUT),
        reliability(curve, cutoffs=CUT, fitted=lambda at: [0.5 for _ in at]),
        history([RunPoint("a", 3, 4), RunPoint("b", 0, 0), RunPoint("c", 4, 4)]),
        movers([Moved("x", 0.1, 0.9), Moved("y", 0.5, 0.2), Moved("z", 1, 1)], of_n=3),
    ]


@pytest.fixture(scope="module")
def charts(scores, curve):
    return drawn_of(scores, curve)


def marks(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def test_the_bars_are_the_histogram_that_numpy_counts(scores, charts):
    good, bad = scores
    chart = charts[0]
    edges = bin_edges(np.concatenate(scores))
    for series, values, sign in zip(marks(chart, Boxes), (good, bad), (1, -1), strict=True):
        # A hair below each edge: 0.3 lies in the bin that begins at 0.3, whatever floats say.
        inner = np.array(edges) - 1e-9
        inner[-1] = edges[-1] + 1e-9
        want, _ = np.histogram(values, inner)
        got = {round(box.x0, 9): sign * box.y1 for box in series.boxes}
        assert got == {round(edge, 9): n for edge, n in zip(edges, want, strict=False) if n}
        assert sum(got.values()) == len(values)
        widths = {round(box.x1 - box.x0, 12) for box in series.boxes}
        assert len(widths) == 1


def test_bins_hold_everything_at_every_scale():
    draw = np.random.default_rng(2)
    for size in (1, 2, 3, 50, 5000):
        for scale in (1e-6, 1.0, 100.0, 1e6):
            values = draw.normal(0.5, 0.2, size) * scale
            edges = bin_edges(values)
            assert edges[0] <= values.min()
            assert edges[-1] >= values.max()
            assert 3 <= len(edges) <= 70


def test_scores_that_are_all_alike_have_bins_too():
    found = distributions([0.5, 0.5], [0.5])
    assert [len(series.boxes) for series in marks(found, Boxes)] == [1, 1]


def test_the_roc_corner_of_each_score_and_its_area(scores, curve, charts):
    from sklearn.metrics import roc_auc_score, roc_curve

    good, bad = scores
    truth = [1] * len(good) + [0] * len(bad)
    far, tar, _ = roc_curve(truth, np.concatenate(scores), drop_intermediate=False)
    line = next(mark for mark in marks(charts[2], Line) if mark.look == "one")
    assert np.allclose(line.points, np.column_stack((far, tar)))
    assert line.name == f"area {roc_auc_score(truth, np.concatenate(scores)):.3f}"
    (dot,) = marks(charts[2], Dots)[0].dots
    wrong = int((bad >= 0.6).sum())
    assert dot.x == wrong / len(bad)
    ends = clopper_pearson(wrong, len(bad))
    assert dot.x_range == (ends.low, ends.high)


def test_det_axes_are_normal_deviates_and_leave_out_what_has_none(curve, charts):
    line = marks(charts[3], Line)[0]
    rates = [
        (a / curve.rejects, b / curve.accepts)
        for a, b in zip(curve.false_accepts.tolist(), curve.false_rejects.tolist(), strict=True)
        if 0 < a < curve.rejects and 0 < b < curve.accepts
    ]
    assert line.points == tuple((deviate(a), deviate(b)) for a, b in rates)


def test_det_says_so_where_no_cutoff_makes_both_errors():
    found = det(error_curve([0.9, 0.8, 0.2, 0.1], [True, True, False, False]))
    assert isinstance(found, NoChart)
    assert "2 accepts and 2 rejects" in found.sentence


def test_errors_step_at_observed_scores_only(scores, charts):
    good, bad = scores
    wrong, missed = (mark for mark in marks(charts[4], Line))
    for at in (0.3, 0.505, 0.6, 0.71):
        for line, want in ((wrong, (bad >= at).mean()), (missed, (good < at).mean())):
            level = [
                y
                for (x, y), (x2, _) in zip(line.points, line.points[1:], strict=False)
                if x >= at > x2 and x != x2
            ]
            assert level == [pytest.approx(want)]


def test_lines_against_the_cutoff_are_stairs(charts):
    for chart in charts[4:6]:
        for line in marks(chart, Line):
            assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(line.points))


def test_precision_is_that_of_the_labels_as_they_are(scores, charts):
    good, bad = scores
    line = marks(charts[5], Line)[0]
    lowest = min(x for x, _ in line.points)
    assert dict(line.points)[lowest] == pytest.approx(len(good) / (len(good) + len(bad)))


def test_reliability_bins_keep_equal_scores_together_and_lose_nobody(scores, curve):
    bins = bins_of(curve)
    assert sum(one.n for one in bins) == 1000
    assert sum(one.accepts for one in bins) == 700
    assert all(before.high < after.low for before, after in pairwise(bins))
    assert min(one.n for one in bins) >= 20
    values = np.concatenate(scores)
    for one in bins:
        assert one.n == ((values >= one.low) & (values <= one.high)).sum()


def test_few_labels_make_one_bin():
    assert len(bins_of(error_curve([0.1, 0.2, 0.3], [False, True, True]))) == 1


def test_a_run_without_a_measured_case_keeps_its_place_and_has_no_rate(charts):
    chart = charts[7]
    assert [dot.x for dot in marks(chart, Dots)[0].dots] == [0, 2]
    assert not marks(chart, Line)
    assert "1 without any" in chart.notes[0]
    assert len(chart.x.ticks) == 3


def test_movers_are_ordered_by_how_far_they_moved(charts):
    chart = charts[8]
    assert [tick.text for tick in chart.y.ticks] == ["x", "y"]
    up, down = marks(chart, Boxes)
    assert up.boxes[0].x1 == pytest.approx(0.8)
    assert down.boxes[0].x1 == pytest.approx(-0.3)
    assert "n = 3" in chart.notes[0]


ONE_SIDED = error_curve([0.5, 0.7], [True, True])


@pytest.mark.parametrize(
    "found",
    [
        distributions([], []),
        distributions([0.5], []),
        distribution([]),
        *(draw(ONE_SIDED) for draw in (roc, det, errors, precision, reliability)),
        history([]),
        history([RunPoint("a", 0, 0)]),
        movers([Moved("a", 1, 1)], of_n=1),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(found):
    assert isinstance(found, NoChart)
    assert found.sentence.endswith(".")


def test_each_picture_is_well_formed_says_what_it_is_and_how_many(charts):
    for at, chart in enumerate(charts):
        root = ET.fromstring(svg(chart, f"c{at}", standalone=True))  # noqa: S314 - our own picture
        assert root.find(f"{SVG}title").text == chart.title
        assert "n = " in root.find(f"{SVG}desc").text
        assert root.get("role") == "img"
        named = root.get("aria-labelledby").split()
        assert [root.find(f"{SVG}title").get("id"), root.find(f"{SVG}desc").get("id")] == named
        words = " ".join(node.text or "" for node in root.iter(f"{SVG}text"))
        assert chart.x.label in words
        assert chart.y.label in words
        shown = [node for node in root.iter() if node.get("x") and node.tag == f"{SVG}text"]
        assert all(-1 <= float(node.get("x")) <= 601 for node in shown)


def test_the_same_data_give_the_same_bytes(scores, curve, charts):
    again = drawn_of(scores, curve)
    for first, second in zip(charts, again, strict=True):
        assert svg(first, "c") == svg(second, "c")
        assert png(first) == png(second)


def test_in_a_page_a_picture_takes_the_page_s_colours(charts):
    for chart in charts:
        inline = svg(chart, "c")
        assert "<style" not in inline
        assert " style=" not in inline
        assert not re.search(r'(fill|stroke)="', inline)
        alone = svg(chart, "c", standalone=True)
        assert PAPER["text"] in alone
        assert "var(" not in alone
    assert "var(--good)" in themed()
    used = {name for chart in charts for name in re.findall(r'class="([^"]+)"', svg(chart, "c"))}
    for name in {
        part
        for names in used
        for part in names.split()
        if part.startswith(("cc-l", "cc-box", "k-"))
    }:
        assert f".{name}" in themed(), name


def test_hostile_names_are_text(scores, curve):
    good, bad = scores
    cut = (At(0.6, HOSTILE),)
    found = [
        distributions(good, bad, cutoffs=cut, score=HOSTILE, of=HOSTILE),
        roc(curve, cutoffs=cut, of=HOSTILE),
        errors(curve, cutoffs=cut, score=HOSTILE, of=HOSTILE),
        history([RunPoint(HOSTILE, 1, 2, HOSTILE)], of=HOSTILE),
        movers([Moved(HOSTILE, 0, 1)], of_n=1, of=HOSTILE),
    ]
    for chart in found:
        root = ET.fromstring(svg(chart, "c", standalone=True))  # noqa: S314 - our own picture
        assert not list(root.iter(f"{SVG}script"))
        assert "\x1b" not in svg(chart, "c")
        assert "\u202e" not in svg(chart, "c")
        assert png(chart).startswith(b"\x89PNG")


def test_many_points_make_no_larger_a_picture():
    draw = np.random.default_rng(0)
    n = 100_000
    labels = [True] * n + [False] * n
    curve = error_curve(
        np.concatenate((draw.normal(1, 1, n), draw.normal(0, 1, n))), labels, decimals=None
    )
    chart = roc(curve)
    line = next(mark for mark in marks(chart, Line) if mark.look == "one")
    assert len(line.points) == 2 * n + 1
    text = svg(chart, "c")
    assert len(text) < 40_000
    # Thinned, it still ends where it should.
    path = max(re.findall(r'class="cc-line k-one" d="([^"]+)"', text), key=len)
    points = [tuple(map(float, one.split())) for one in re.split("[ML]", path)[1:]]
    frame = {
        key: float(value)
        for key, value in re.findall(r'data-(left|top|width|height)="([\d.]+)"', text)
    }
    assert points[0] == pytest.approx((frame["left"], frame["top"] + frame["height"]), abs=0.1)
    assert points[-1] == pytest.approx((frame["left"] + frame["width"], frame["top"]), abs=0.1)


def test_a_page_can_find_the_plot_in_the_picture(charts):
    text = svg(charts[0], "c")
    data = {key: float(value) for key, value in re.findall(r'data-(\w+)="(-?[\d.e-]+)"', text)}
    rule = next(mark for mark in charts[0].marks if isinstance(mark, Rule))
    share = (rule.at - data["low"]) / (data["high"] - data["low"])
    x = float(re.search(r'k-limit" d="M([\d.]+)', text)[1])
    assert x == pytest.approx(data["left"] + share * data["width"], abs=0.01)


def test_charts_are_numbers_and_texts_alone(charts):
    """Whoever draws them next needs no numpy."""
    for chart in charts:
        assert isinstance(chart, Chart)
        assert "np." not in repr(chart)
