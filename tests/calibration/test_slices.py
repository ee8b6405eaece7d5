"""What a cutoff does in each slice, and where it is certified, unknown or not backed."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scores import by_hand, normal_scores, split, tied_rows

from closecall.calibration import Costs, fit_cutoff, fit_two_cutoffs
from closecall.calibration.binomial import (
    binomial_cdf,
    clopper_pearson,
    fewest_labels,
    most_errors,
)
from closecall.calibration.curve import curve_of
from closecall.calibration.cutoffs import cutoff_at
from closecall.calibration.evidence.slices import SliceTable, slice_table
from closecall.calibration.groups import clustered_rate, one_per_group
from closecall.calibration.inputs import Labelled, labelled
from closecall.calibration.records import Optimum, TwoCutoffs
from closecall.errors import ShapeError, UsageError

OPTIMUM = Optimum(
    objective="accuracy", estimator="empirical", value=0.0, best=0.0, plateau=None, tied=1
)


def cutoff(data, value):
    """The record of any cutoff that accepts somebody."""
    curve = curve_of(data)
    return cutoff_at(curve, curve.row(value), "mid", OPTIMUM, value)


def by_name(table):
    return {(report.name, report.value): report for report in table.reports}


def in_turn(n, *values, name="kind"):
    return [{name: values[at % len(values)]} for at in range(n)]


def sizes(rejects, accepts=20, seed=0, **options):
    """A slice of each name with so many rejects, and accepts that score higher."""
    parts = [(name, *normal_scores(n, accepts, seed + at)) for at, (name, n) in enumerate(rejects)]
    data = labelled(
        np.concatenate([scores for _, scores, _ in parts]),
        np.concatenate([labels for *_, labels in parts]),
        decimals=6,
    )
    return data, [{"kind": name} for name, scores, _ in parts for _ in scores]


def least_by_hand(scores, limit, delta):
    """The least observed score whose acceptance a slice's rejects back; None if too few."""
    allowed = most_errors(len(scores), limit, delta)
    return None if allowed is None else sorted(scores, reverse=True)[allowed]


def test_a_slice_is_certified_unknown_or_not_backed():
    enough = fewest_labels(0.1, 0.05 / 2)
    data, slices = sizes([("many", 400), ("enough", enough), ("few", enough - 1)])
    table = slice_table(data, slices, cutoff(data, 2.9), limit=0.1, delta=0.05)
    found = {report.value: (report.status, report.needs) for report in table.reports}
    assert found == {
        "many": ("certified", None),
        "enough": ("certified", None),
        "few": ("unknown", 2),  # one more and it only ties with the one before it
    }
    assert (table.examined, table.candidates, table.delta_each) == (3, 2, 0.05 / 2)
    low = slice_table(data, slices, cutoff(data, 0.5), limit=0.1, delta=0.05)
    assert [report.status for report in low.reports] == ["not_backed", "not_backed", "unknown"]
    # The very same labels would do if this were the only slice: the division is what counts.
    assert most_errors(enough - 1, 0.1, 0.05) is not None


def tried(counts, limit, delta):
    """Which slices share delta, looked for from the largest number down; and how many they are."""
    order = sorted(range(len(counts)), key=lambda at: -counts[at])
    for m in range(len(counts), 0, -1):
        if binomial_cdf(0, counts[order[m - 1]], limit) <= delta / m:
            return order[:m], m
    return [], 0


def test_slices_that_could_never_be_certified_take_nothing_from_the_others():
    wide, few = [("a", 150), ("b", 90)], [(f"tiny {at:02d}", 28) for at in range(40)]
    tables = []
    for parts in (wide, wide + few):
        data, slices = sizes(parts)
        tables.append(slice_table(data, slices, cutoff(data, 2.4), limit=0.1, delta=0.05))
    alone, beside = tables
    assert (alone.examined, beside.examined) == (2, 42)
    assert (alone.candidates, beside.candidates) == (2, 2)
    assert alone.delta_each == beside.delta_each == 0.025
    for one, same in zip(alone.reports, beside.reports, strict=False):
        assert one.status == same.status == "certified"
    assert {(report.status, report.at_risk) for report in beside.reports[2:]} == {("unknown", 28)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 70), min_size=2, max_size=7),
    st.sampled_from([(0.1, 0.05), (0.2, 0.05), (0.3, 0.2)]),
)
def test_as_many_slices_share_delta_as_can_and_needs_is_how_many_labels_lack(rejects, promise):
    limit, delta = promise
    names = [(f"{at}", n) for at, n in enumerate(rejects)]

    def told(parts):
        data, slices = sizes(parts, accepts=3)
        middle = float(np.median(data.scores))
        found = slice_table(data, slices, cutoff(data, middle), limit=limit, delta=delta)
        return found, {report.value: report for report in found.reports}

    table, reports = told(names)
    shown = [report.at_risk for report in table.reports]
    rows, m = tried(shown, limit, delta)
    assert table.candidates == m
    assert table.delta_each == (delta / m if m else None)
    known = {table.reports[row].value for row in rows}
    assert known == {name for name, report in reports.items() if report.status != "unknown"}
    for name, report in reports.items():
        if report.status != "unknown":
            assert report.needs is None
            continue
        assert report.needs >= 1
        grown = {other: n + report.needs * (other == name) for other, n in names}
        assert told(grown.items())[1][name].status != "unknown"
        grown[name] -= 1
        # With as many labels as another slice has, which of the two is tried is a matter of order.
        if list(grown.values()).count(grown[name]) == 1:
            assert told(grown.items())[1][name].status == "unknown"


def test_of_equally_many_labels_the_earlier_slice_is_tried():
    n = fewest_labels(0.1, 0.05 / 2)
    assert n < fewest_labels(0.1, 0.05 / 3)
    data, slices = sizes([("c", n), ("a", n), ("b", n)])
    table = slice_table(data, slices, cutoff(data, 2.0), limit=0.1, delta=0.05)
    found = [(report.value, report.status == "unknown") for report in table.reports]
    assert found == [("a", False), ("b", False), ("c", True)]
    assert (table.candidates, table.delta_each) == (2, 0.025)
    assert table.reports[2].needs == 1


@pytest.mark.parametrize("grouped", [False, True])
def test_scores_play_no_part_in_which_slices_are_tried(grouped):
    data, slices = sizes([("a", 100), ("b", 40), ("c", 30), ("d", 12)])
    groups = np.arange(len(slices)) // 2 if grouped else None
    found = set()
    for seed in range(6):
        scores = np.random.default_rng(seed).permutation(data.scores)
        moved = labelled(scores, data.accept, groups, decimals=6)
        table = slice_table(moved, slices, cutoff(moved, 2.0), limit=0.1, delta=0.05)
        unknown = tuple((r.value, r.needs) for r in table.reports if r.status == "unknown")
        found.add((table.candidates, table.delta_each, unknown))
    assert len(found) == 1


def test_certified_exactly_from_the_cutoff_that_the_slice_needs():
    data, slices = sizes([("a", 150), ("b", 90)])
    rows = np.array([row["kind"] == "a" for row in slices])
    reject = least_by_hand(data.scores[rows & ~data.accept], 0.1, 0.025)
    above = data.scores[data.scores > reject].min()
    for value, status in [
        (reject, "not_backed"),
        (np.nextafter(reject, 9), "certified"),
        (above, "certified"),
    ]:
        table = slice_table(data, slices, cutoff(data, float(value)), limit=0.1, delta=0.05)
        assert by_name(table)["kind", "a"].status == status
        assert reject < by_name(table)["kind", "a"].cutoff <= above


def test_false_rejects_are_the_mirror_image():
    data, slices = sizes([("a", 150), ("b", 90), ("c", 10)])
    mirror = Labelled(-data.scores, ~data.accept, None, 6)
    for value in (0.5, 2.0, 2.3, 3.0):
        table = slice_table(data, slices, cutoff(data, value), limit=0.1, delta=0.05)
        # At the mirrored cutoff itself a row is accepted; just above its score it is not.
        other = slice_table(
            mirror, slices, cutoff(mirror, -value), limit=0.1, delta=0.05, errors="false_rejects"
        )
        for one, two in zip(table.reports, other.reports, strict=True):
            assert (one.value, one.status, one.needs) == (two.value, two.status, two.needs)
            assert one.at_risk == one.rejects == two.accepts == two.at_risk
            assert one.false_accept_rate == two.false_reject_rate
            assert (one.cutoff is None) == (two.cutoff is None)
        assert (table.common is None) == (other.common is None)
        assert table.common_counts.false_accepts == other.common_counts.false_rejects


@settings(max_examples=40, deadline=None)
@given(tied_rows(4, 30), st.integers(1, 3), st.booleans())
def test_counts_and_decisions_against_rows_looked_at_one_by_one(rows, kinds, flip):
    scores, labels = split(rows)
    data = labelled(scores, labels, decimals=6)
    slices = in_turn(len(rows), *"abc"[:kinds])
    rule = cutoff(data, float(np.median(scores)))
    errors = "false_rejects" if flip else "false_accepts"
    limit, delta = 0.6, 0.5
    table = slice_table(data, slices, rule, limit=limit, delta=delta, errors=errors)
    assert table.examined == len(table.reports) == (kinds if kinds > 1 else 0)
    at_risk = [report.accepts if flip else report.rejects for report in table.reports]
    rows_tried, m = tried(at_risk, limit, delta)
    for at, report in enumerate(table.reports):
        here = np.array([row["kind"] == report.value for row in slices])
        counts = msgspec.to_builtins(report.counts)
        assert counts == by_hand(scores[here], labels[here], rule.value)
        assert report.n == here.sum() == report.accepts + report.rejects
        n, wrong = (
            (report.accepts, report.counts.false_rejects)
            if flip
            else (report.rejects, report.counts.false_accepts)
        )
        # The promise holds where so few errors are improbable enough under a rate of the limit.
        if at not in rows_tried:
            assert report.status == "unknown"
        else:
            sure = binomial_cdf(wrong, n, limit) <= delta / m
            assert report.status == ("certified" if sure else "not_backed")


def test_rates_carry_their_counts_and_intervals():
    data, slices = sizes([("a", 100), ("b", 60)])
    report = by_name(slice_table(data, slices, cutoff(data, 1.0), limit=0.1, delta=0.05))[
        "kind", "a"
    ]
    rate = report.false_accept_rate
    assert (rate.count, rate.n) == (report.counts.false_accepts, report.rejects)
    assert rate.interval == clopper_pearson(rate.count, rate.n)
    assert report.false_reject_rate.n == report.accepts == 20


def test_a_slice_without_a_class_has_no_rate_of_it():
    data, slices = sizes([("a", 100), ("b", 60)])
    slices = [
        {**row, "good": "yes"} if y else row for row, y in zip(slices, data.accept, strict=True)
    ]
    table = slice_table(data, slices, cutoff(data, 1.0), limit=0.1, delta=0.05)
    report = by_name(table)["good", "yes"]
    assert (report.rejects, report.false_accept_rate, report.status) == (0, None, "unknown")
    assert report.needs == fewest_labels(0.1, 0.05 / 3)
    assert report.false_reject_rate.n == report.n == 40


def test_rows_of_one_group_count_once_and_widen_intervals():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(120), 4)
    labels = np.arange(480) % 2 == 1
    shared = np.repeat(rng.normal(size=120), 4)
    data = labelled(shared + rng.normal(size=480) + 3 * labels, labels, groups, decimals=6)
    slices = [{"half": "first" if group < 70 else "second"} for group in groups]
    table = slice_table(data, slices, cutoff(data, 3.4), limit=0.1, delta=0.05, seed=5)
    assert table.per == "group"
    first, second = table.reports
    assert (first.at_risk, first.rejects, second.at_risk) == (70, 140, 50)
    needed = fewest_labels(0.1, 0.025)
    assert (needed, first.needs, second.needs) == (36, None, None)
    here = groups < 70
    part = Labelled(data.scores[here], data.accept[here], data.groups[here], 6)
    drawn = one_per_group(part, accept=False, seed=5).scores
    assert (first.status == "certified") == (least_by_hand(drawn, 0.1, 0.025) < 3.4)
    rejects = here & ~labels
    seeds = [
        slice_table(data, slices, cutoff(data, 3.4), limit=0.1, delta=0.05, seed=seed)
        for seed in range(5)
    ]
    assert len({table.reports[0].cutoff for table in seeds}) > 1
    assert first.false_accept_rate == clustered_rate(data.scores[rejects] >= 3.4, groups[rejects])
    assert "design effect" in first.false_accept_rate.interval.method
    slices = [{"part": "small" if group < 20 else "large"} for group in groups]
    few = slice_table(data, slices, cutoff(data, 3.4), limit=0.1, delta=0.05)
    assert by_name(few)["part", "small"].needs == needed - 20


@pytest.mark.parametrize("grouped", [False, True])
def test_the_order_of_rows_changes_nothing(grouped):
    data, slices = sizes([("a", 100), ("b", 200), ("c", 30)])
    groups = np.arange(len(slices)) // 2 if grouped else None
    more = [{}, *({"negation": value, "tags:t": "t"} for value in ("cue", "none", "cue", "cue"))]
    slices = [{**row, **more[at % len(more)]} for at, row in enumerate(slices)]
    order = np.random.default_rng(3).permutation(len(slices))
    tables = []
    for rows in (np.arange(len(slices)), order):
        moved = labelled(
            data.scores[rows],
            data.accept[rows],
            None if groups is None else groups[rows],
            decimals=6,
        )
        mapped = [slices[row] for row in rows]
        tables.append(slice_table(moved, mapped, cutoff(moved, 2.2), limit=0.1, delta=0.05))
    assert tables[0] == tables[1]
    names = [(report.name, report.value) for report in tables[0].reports]
    assert names == [
        ("negation", "cue"), ("negation", "none"), ("tags", "t"),
        ("kind", "b"), ("kind", "a"), ("kind", "c"),
    ]  # fmt: skip


def test_values_known_beforehand_keep_their_order():
    data, _ = sizes([("a", 100), ("b", 200)])
    turn = [
        {"references": "6+"},
        {"length": "longest quarter"},
        {"references": "2"},
        {"length": "shortest quarter", "references": "1"},
    ]
    slices = [turn[at % len(turn)] for at in range(len(data.scores))]
    table = slice_table(data, slices, cutoff(data, 2.2), limit=0.1, delta=0.05)
    assert [report.value for report in table.reports] == [
        "shortest quarter", "longest quarter", "1", "2", "6+",
    ]  # fmt: skip


def test_a_slice_of_every_row_says_nothing_and_costs_nothing():
    data, slices = sizes([("a", 100), ("b", 200)])
    alone = slice_table(data, slices, cutoff(data, 2.2), limit=0.1, delta=0.05)
    wide = [{"script": "latin", "tags:x": "x", "tags:y": "y", **row} for row in slices]
    table = slice_table(data, wide, cutoff(data, 2.2), limit=0.1, delta=0.05)
    assert table.uniform == (("script", "latin"), ("tags", "x"), ("tags", "y"))
    assert msgspec.structs.replace(table, uniform=()) == alone
    # One row less, and it is a slice like any other.
    wide[0] = slices[0]
    assert slice_table(data, wide, cutoff(data, 2.2), limit=0.1, delta=0.05).examined == 5


def test_without_slices_there_is_an_empty_table():
    data, slices = sizes([("a", 100)])
    for rows, uniform in [([{}] * len(slices), ()), (slices, (("kind", "a"),))]:
        table = slice_table(data, rows, cutoff(data, 2.2), limit=0.1, delta=0.05)
        assert table == SliceTable(
            reports=(), examined=0, candidates=0, uniform=uniform, delta_each=None, limit=0.1,
            errors="false_accepts", per="row", common=None, common_counts=None,
        )  # fmt: skip


def test_the_common_cutoff_is_the_least_that_all_slices_with_enough_labels_back():
    data, slices = sizes([("a", 150), ("b", 90), ("few", 5)])
    kinds = np.array([row["kind"] for row in slices])
    most = max(
        least_by_hand(data.scores[(kinds == kind) & ~data.accept], 0.1, 0.05 / 3) for kind in "ab"
    )
    table = slice_table(data, slices, cutoff(data, 0.2), limit=0.1, delta=0.05)
    assert most < table.common <= data.scores[data.scores > most].min()
    assert msgspec.to_builtins(table.common_counts) == by_hand(
        data.scores, data.accept, table.common
    )
    again = slice_table(data, slices, cutoff(data, table.common), limit=0.1, delta=0.05)
    assert [report.status for report in again.reports] == ["certified", "certified", "unknown"]
    # A cutoff that all back already stays: a lower one need not keep its own promise.
    strict = slice_table(data, slices, cutoff(data, 3.1), limit=0.1, delta=0.05)
    assert strict.common == 3.1 > table.common


def test_no_common_cutoff_where_a_slice_backs_nobody_or_none_has_enough():
    data, slices = sizes([("a", 150), ("b", 90)])
    rows = np.flatnonzero([row["kind"] == "b" for row in slices] & ~data.accept)
    scores = data.scores.copy()
    scores[rows] = 9.0
    worst = Labelled(scores, data.accept, None, 6)
    table = slice_table(worst, slices, cutoff(worst, 3.0), limit=0.1, delta=0.05)
    assert [(r.status, r.cutoff is None) for r in table.reports] == [
        ("certified", False), ("not_backed", True),
    ]  # fmt: skip
    assert (table.common, table.common_counts) == (None, None)
    data, slices = sizes([("a", 15), ("b", 9)])
    table = slice_table(data, slices, cutoff(data, 3.0), limit=0.1, delta=0.05)
    assert (table.common, table.common_counts) == (None, None)


def test_without_a_promise_errors_are_only_counted():
    data, slices = sizes([("a", 150), ("b", 90)])
    rule = fit_cutoff(data.scores, data.accept, costs=Costs(false_accept=5, false_reject=1))
    table = slice_table(data, slices, rule, limit=None, delta=None)
    assert (table.limit, table.delta_each, table.common, table.examined) == (None, None, None, 2)
    assert [(r.status, r.needs, r.cutoff) for r in table.reports] == [("counted", None, None)] * 2
    assert sum(r.counts.false_accepts for r in table.reports) == rule.counts.false_accepts
    assert [r.at_risk for r in table.reports] == [150, 90]


@pytest.mark.parametrize("errors", ["false_accepts", "false_rejects"])
def test_two_cutoffs_each_with_its_own_promise(errors):
    scores, labels = normal_scores(400, 400)
    slices = in_turn(800, "a", "b")
    rule = fit_two_cutoffs(scores, labels, max_far=0.05, max_frr=0.05)
    assert isinstance(rule, TwoCutoffs)
    assert rule.abstains
    data = labelled(scores, labels, decimals=6)
    table = slice_table(data, slices, rule, limit=0.1, delta=0.05, errors=errors)
    for report in table.reports:
        decided = report.counts.accepts + report.counts.rejects
        assert report.unsure + decided == report.n == 400
        # Rates are of the whole class: leaving a response to a person is no error.
        assert report.false_accept_rate.n == report.false_reject_rate.n == 200
        assert report.false_accept_rate.count == report.counts.false_accepts
        assert report.status == "certified"
    assert sum(report.unsure for report in table.reports) == rule.unsure.count
    at_stake = rule.accept if errors == "false_accepts" else rule.reject
    alone = slice_table(data, slices, at_stake, limit=0.1, delta=0.05, errors=errors)
    assert (alone.common, [r.cutoff for r in alone.reports]) == (
        table.common, [r.cutoff for r in table.reports],
    )  # fmt: skip
    assert table.common == at_stake.value


def test_cutoffs_stand_in_their_gaps_as_the_rule_does():
    data, slices = sizes([("a", 150), ("b", 90)])
    tables = {}
    for where in ("mid", "strict", "loose"):
        rule = fit_cutoff(data.scores, data.accept, max_far=0.2, where=where)
        tables[where] = slice_table(data, slices, rule, limit=0.1, delta=0.05)
    cutoffs = {where: [r.cutoff for r in table.reports] for where, table in tables.items()}
    for loose, mid, strict in zip(*(cutoffs[w] for w in ("loose", "mid", "strict")), strict=True):
        assert loose < mid < strict
        assert strict in data.scores
    assert tables["loose"].common < tables["mid"].common < tables["strict"].common


def test_wrong_arguments_are_refused():
    data, slices = sizes([("a", 20), ("b", 20)])
    rule = cutoff(data, 2.0)
    with pytest.raises(ShapeError, match="slices of 1 rows do not fit 80 scores"):
        slice_table(data, slices[:1], rule, limit=0.1, delta=0.05)
    for limit, delta in [(0.1, None), (None, 0.05)]:
        with pytest.raises(UsageError, match="both a limit and a delta"):
            slice_table(data, slices, rule, limit=limit, delta=delta)
    for limit, delta in [(0.0, 0.05), (1.5, 0.05), (0.1, 0.0)]:
        with pytest.raises(UsageError, match="between 0 and 1"):
            slice_table(data, slices, rule, limit=limit, delta=delta)


def test_a_table_survives_json():
    data, slices = sizes([("a", 150), ("b", 90), ("few", 5)])
    table = slice_table(data, slices, cutoff(data, 2.2), limit=0.1, delta=0.05)
    assert msgspec.json.decode(msgspec.json.encode(table), type=SliceTable) == table
