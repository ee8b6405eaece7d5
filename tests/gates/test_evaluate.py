"""Gates on runs whose values are known: states, figures, absences, filters, exit codes."""

import math
import statistics

import numpy as np
import pytest
from given_values import BROKEN, NOTHING, Given, run_of
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.calibration.groups import rate_of_groups
from closecall.errors import UsageError
from closecall.gates.evaluate import MAX_GATES, GateKeeper, evaluate_gates, gates_exit
from closecall.gates.parsing import parse_gate
from closecall.runs.gate_results import GateState
from closecall.runs.stored import load_run

PASSED, FAILED, OPEN, ABSENT = (
    GateState.PASSED, GateState.FAILED, GateState.INCONCLUSIVE, GateState.NOT_MEASURED,
)  # fmt: skip
VALUES = [3, 4, 4, 5, 2, 3, 5, 4]


def one(run, rule):
    (found,) = evaluate_gates(run, [rule])
    return found


@pytest.mark.parametrize(
    ("rule", "state", "value", "margin"),
    [
        ("mean(given) >= 3.75", PASSED, 3.75, 0.0),
        ("mean(given) > 3.75", FAILED, 3.75, 0.0),
        ("mean(given) <= 3.7", FAILED, 3.75, -0.05),
        ("median(given) >= 4", PASSED, 4.0, 0.0),
        ("min(given) >= 2.5", FAILED, 2.0, -0.5),
        ("max(given) <= 4.5", FAILED, 5.0, -0.5),
        ("p10(given) >= 2", PASSED, 2.0, 0.0),
        ("p90(given) >= 4.5", PASSED, 5.0, 0.5),
        ("count(given < 3) <= 1", PASSED, 1.0, 0.0),
        ("count(given < 4) == 2", FAILED, 3.0, -1.0),
        ("share(given >= 4) >= 0.625", PASSED, 0.625, 0.0),
        ("pass_rate(given) >= 87.5%", PASSED, 0.875, 0.0),
        ("pass_rate(given) >= 0.9", FAILED, 0.875, -0.025),
        ("fail_rate(given) <= 0.125", PASSED, 0.125, 0.0),
        ("all(given)", FAILED, 7.0, -1.0),
        ("all(given >= 2)", PASSED, 8.0, 0.0),
        ("none(given < 2)", PASSED, 0.0, 0.0),
        ("none(given)", FAILED, 7.0, -7.0),
        ("measured(given) == asked", PASSED, 8.0, 0.0),
    ],
)
def test_a_value_its_limit_and_its_margin(rule, state, value, margin):
    found = one(run_of(VALUES), rule)
    assert (found.state, found.value) == (state, value)
    assert found.margin == pytest.approx(margin)
    assert (found.measured, found.asked) == (8, 8)


def test_a_rate_at_its_limit_is_compared_as_a_fraction():
    # 0.07 * 100 is no whole number in floating point, and 7 / 100 <= 0.07 all the same.
    run = run_of([2] * 7 + [4] * 93)
    assert one(run, "fail_rate(given) <= 7%").state is PASSED
    assert one(run, "pass_rate(given) >= 0.93").state is PASSED
    assert one(run, "pass_rate(given) > 0.93").state is FAILED


def test_a_mean_at_its_limit_is_not_lost_in_the_last_digit():
    run = run_of([0.1] * 3, Given(0.0, low=0.0, high=1.0))
    assert one(run, "mean(given) >= 0.1").state is PASSED
    assert one(run, "mean(given) <= 0.1").state is PASSED


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=30),
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=5),
)
def test_figures_are_those_of_a_plain_recount(values, groups):
    run = run_of(values, groups=groups, labels=["accept", "reject", None])
    n = len(values)
    rules = ["mean(given) >= 2", "median(given) >= 2", "p25(given) >= 2", "share(given > 2) >= 0.5",
             "pass_rate(given) >= 0.5", "false_accept_rate(given) <= 0.5"]  # fmt: skip
    mean, median, p25, share, passes, accepted = evaluate_gates(run, rules)
    assert mean.value == pytest.approx(sum(values) / n)
    assert median.value == statistics.median(values)
    assert p25.value == float(np.quantile(values, 0.25, method="inverted_cdf"))
    assert share.count == sum(v > 2 for v in values)
    assert passes.count == sum(v >= 3 for v in values)
    wrong = [v for i, v in enumerate(values) if i % 3 == 1]
    assert accepted.asked == len(wrong)
    if wrong:
        assert accepted.count == sum(v >= 3 for v in wrong)
    by_group = {}
    for i, value in enumerate(values):
        name = groups[i % len(groups)]
        pair = by_group.setdefault(name or f"row {i}", [0, 0])
        pair[0] += 1
        pair[1] += value >= 3
    sizes, hits = np.array(list(by_group.values())).T
    expected = rate_of_groups(sizes, hits).interval
    assert (passes.interval.low, passes.interval.high) == pytest.approx(
        (expected.low, expected.high)
    )


@pytest.mark.parametrize(
    ("values", "rule", "state"),
    [
        ([4] * 9 + [BROKEN], "pass_rate(given) >= 0.9", PASSED),
        ([4] * 9 + [BROKEN], "pass_rate(given) >= 0.95", ABSENT),
        ([4] * 5 + [2] * 4 + [BROKEN], "pass_rate(given) >= 0.9", FAILED),
        ([4] * 9 + [BROKEN], "fail_rate(given) <= 0.1", PASSED),
        ([4] * 9 + [BROKEN], "fail_rate(given) <= 0.05", ABSENT),
        ([4] * 9 + [BROKEN], "count(given < 3) <= 1", PASSED),
        ([4] * 9 + [BROKEN], "count(given < 3) == 0", ABSENT),
        ([4] + [BROKEN] * 3, "count(given >= 4) == 2", ABSENT),
        ([4] + [BROKEN] * 3, "count(given >= 4) == 5", FAILED),
        ([4] * 9 + [BROKEN], "all(given)", ABSENT),
        ([4] * 8 + [2, BROKEN], "all(given)", FAILED),
        ([2] * 9 + [BROKEN], "none(given)", ABSENT),
        ([4] * 9 + [BROKEN], "none(given)", FAILED),
        ([4] * 9 + [BROKEN], "mean(given) >= 3.7", PASSED),
        ([4] * 9 + [BROKEN], "mean(given) >= 3.8", ABSENT),
        ([4] * 9 + [BROKEN], "mean(given) >= 4.2", FAILED),
        ([4] * 9 + [BROKEN], "median(given) >= 4", PASSED),
        ([4] * 9 + [BROKEN], "min(given) >= 3", ABSENT),
        ([2] * 9 + [BROKEN], "min(given) >= 3", FAILED),
        ([4] * 9 + [BROKEN], "measured(given) == asked", FAILED),
        ([4] * 9 + [BROKEN], "measured(given) >= 9", PASSED),
        ([BROKEN] * 3, "mean(given) >= 2", ABSENT),
        ([BROKEN] * 3, "all(given)", ABSENT),
        ([BROKEN] * 3, "none(given)", ABSENT),
        ([BROKEN] * 3, "fail_rate(given) <= 0.5", ABSENT),
        ([BROKEN] * 3, "measured(given) == asked", FAILED),
        ([NOTHING] * 3, "measured(given) == asked", ABSENT),
        ([NOTHING] * 3, "all(given)", ABSENT),
    ],
)
def test_a_case_that_was_not_measured_turns_no_gate_green_and_none_red(values, rule, state):
    found = one(run_of(values), rule)
    assert found.state is state
    if state is ABSENT:
        assert found.reason


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 5]), min_size=1, max_size=8),
    st.sampled_from(
        ["mean(given) >= 3.2", "mean(given) < 3", "median(given) >= 3", "p30(given) > 2",
         "min(given) > 1", "max(given) < 5", "count(given >= 4) == 2", "count(given < 3) <= 2",
         "share(given > 2) >= 0.6", "pass_rate(given) >= 0.5", "fail_rate(given) < 0.4",
         "all(given)", "none(given)", "false_accept_rate(given) <= 0.3",
         "false_accept_upper(given) <= 0.7", "false_reject_rate(given) < 0.5"]
    ),
    st.data(),
)  # fmt: skip
def test_losing_a_number_never_turns_a_verdict_around(values, rule, data):
    labels = ["accept", "reject"]
    whole = one(run_of(values, labels=labels), rule).state
    lost = data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1))
    partly = [BROKEN if i in lost else v for i, v in enumerate(values)]
    found = one(run_of(partly, labels=labels), rule).state
    assert found in {whole, ABSENT}


def test_an_absence_on_a_scale_without_ends_leaves_a_mean_open():
    run = run_of([4] * 9 + [BROKEN], Given(3.0, low=None, high=None))
    assert one(run, "mean(given) >= 0.5").state is ABSENT
    assert one(run, "median(given) >= 4").state is PASSED
    assert one(run, "min(given) >= 1").state is ABSENT
    assert one(run, "max(given) >= 3").state is PASSED


def test_an_absence_says_why_and_what_could_come_of_it():
    found = one(run_of([4] * 9 + [BROKEN]), "pass_rate(given) >= 0.95")
    assert "1 case that was not measured: the judge broke" in found.reason
    assert (found.lowest, found.highest) == (0.9, 1.0)
    assert (found.measured, found.asked, found.count) == (9, 10, 9)


def test_unsure_is_no_pass_and_no_fail():
    from closecall import Case, evaluate
    from closecall.testing import HashEmbedder

    cases = [Case(id="a", response="It takes 30 days.", references=("It takes 20 days.",)),
             Case(id="b", response="It takes 20 days.", references=("It takes 20 days.",))]  # fmt: skip
    run = evaluate(cases, "token_f1", HashEmbedder(), cache=False)
    assert run.metrics[0].inconclusive == 1
    passes, fails = evaluate_gates(
        run, ["pass_rate(token_f1) >= 0.5", "fail_rate(token_f1) < 0.1"]
    )
    assert (passes.count, fails.count) == (1, 0)
    assert gates_exit((passes, fails), run) == 0
    assert one(run, "all(token_f1)").state is FAILED


def test_upper_is_the_upper_end_of_the_interval():
    values = [4] * 2 + [2] * 38
    run = run_of(values, labels=["reject"])
    found = one(run, "false_accept_upper(given) <= 0.2")
    expected = rate_of_groups(np.ones(40, int), np.array([1] * 2 + [0] * 38)).interval.high
    assert (found.value, found.state, found.count) == (expected, PASSED, 2)
    tight = one(run, "false_accept_upper(given) <= 0.1")
    assert tight.state is FAILED
    assert "more cases with errors as rare as these would do" in tight.reason
    hopeless = one(run, "false_accept_upper(given) <= 0.01")
    assert (hopeless.state, hopeless.reason) == (FAILED, "")


def test_without_a_label_there_is_no_error_rate():
    found = one(run_of(VALUES), "false_accept_upper(given) <= 0.9")
    assert (found.state, found.asked) == (ABSENT, 0)
    assert found.reason == "no case is labelled reject"


def test_filters_choose_the_cases():
    run = run_of(
        VALUES, tags=["x", "y"], groups=["g", "h", "h", "h"], labels=["accept", "reject"],
        metadata=[{"product": {"line": "a"}, "old": True}, {"product": {"line": "b"}, "old": 3}],
    )  # fmt: skip
    even, odd = VALUES[::2], VALUES[1::2]
    for where, expected in (
        ("tag = x", even), ("tag != x", odd), ("label = reject", odd),
        ("slice.product.line = a", even), ('slice.old = "true"', even), ("slice.old = 3", odd),
        ("group = g", VALUES[::4]), ("tag = x and group != g", VALUES[2::4]),
    ):  # fmt: skip
        found = one(run, f"mean(given where {where}) >= 1.5")
        assert (found.value, found.asked) == (sum(expected) / len(expected), len(expected))
    nobody = one(run, "mean(given where tag = nope) >= 1.5")
    assert (nobody.state, nobody.asked) == (ABSENT, 0)
    assert 'no case where tag = "nope"' in nobody.reason


def test_a_folder_says_what_it_does_not_keep(tmp_path):
    facts = {"tags": ["x", "y"], "metadata": [{"product": "a"}], "labels": ["accept", None]}
    run = run_of(VALUES, aef=tmp_path / "whole", **facts)
    for found in (run, load_run(tmp_path / "whole")):
        assert one(found, "mean(given where tag = x) >= 1.5").asked == 4
        sliced = one(found, "mean(given where slice.product = a) >= 1.5")
        assert sliced.state is ABSENT
        assert "keeps not all metadata" in sliced.reason
    bare = run_of(VALUES, aef=tmp_path / "bare", content=False, **facts)
    tagged = one(bare, "mean(given where tag = x) >= 1.5")
    assert tagged.state is ABSENT
    assert "keeps no tags" in tagged.reason
    assert one(bare, "mean(given where label = accept) >= 1.5").asked == 4
    (note,) = one(bare, "mean(given) >= 1.5").notes
    assert "count as independent" in note
    assert one(run, "mean(given) >= 1.5").notes == ()


def test_a_keeper_that_watches_a_run_knows_the_metadata():
    run = run_of(VALUES, metadata=[{"product": "a"}, {"product": "b"}])
    keeper = GateKeeper(["mean(given where slice.product = b) >= 1.5"], run.header.metrics)
    for row in run:
        keeper.add([row])
    assert keeper.results()[0].asked == 4


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("mean(other) >= 3", "the run has no metric 'other'; it has given"),
        ("mean(given) >= 35", "lies from 1 to 5, so 35 is off its scale"),
        ("mean(given) >= 1", ">= 1 holds for every value of given"),
        ("min(given) < 1", "< 1 holds for no value of given"),
        ("count(given < 9) <= 3", "9 is off its scale"),
        ("mean(cascade) >= 3", "no metric 'cascade'"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_case(rule, words):
    with pytest.raises(UsageError, match="gate ") as caught:
        GateKeeper([parse_gate(rule, place="closecall.toml:3")], run_of([3]).header.metrics)
    assert words in str(caught.value)
    assert str(caught.value).startswith("closecall.toml:3: ")


def test_a_percentage_where_a_scale_ends_at_100_is_pointed_out():
    run = run_of([70], Given(60.0, low=0.0, high=100.0))
    with pytest.raises(UsageError, match=r"did you mean 70\?"):
        evaluate_gates(run, ["mean(given) >= 0.7"])


def test_verdicts_need_a_cutoff():
    run = run_of(VALUES, Given(None))
    for rule in ("pass_rate(given) >= 0.5", "all(given)", "false_accept_upper(given) <= 0.5"):
        with pytest.raises(UsageError, match="has no cutoff, so nothing passes or fails"):
            evaluate_gates(run, [rule])
    assert one(run, "share(given >= 3) >= 0.5").state is PASSED
    assert one(run, "all(given >= 2)").state is PASSED


def test_a_metric_goes_by_its_id_and_by_its_name_where_that_is_plain():
    run = run_of(VALUES, Given(name="given:a=1"), Given(4.0, name="given:a=2"), Given(name="own"))
    assert one(run, "pass_rate(given:a=1) >= 0.5").count == 7
    assert one(run, "pass_rate(given:a=2) >= 0.5").count == 5
    with pytest.raises(UsageError, match="several metrics have that name"):
        evaluate_gates(run, ["mean(given) >= 2"])
    assert one(run_of(VALUES, Given(name="given:a=1")), "mean(given) >= 2").metric == "given:a=1"


def test_exit_codes():
    good, bad, partly = run_of(VALUES), run_of([2, 4]), run_of([4] * 9 + [BROKEN])
    assert gates_exit((), good) == good.exit_code == 1
    assert gates_exit(evaluate_gates(good, ["mean(given) >= 3"]), good) == 0
    assert gates_exit(evaluate_gates(bad, ["all(given)"]), bad) == 1
    passing = evaluate_gates(partly, ["mean(given) >= 3"])
    assert passing[0].state is PASSED
    assert gates_exit(passing, partly) == 11
    both = evaluate_gates(partly, ["mean(given) >= 3", "max(given) < 4"])
    assert gates_exit(both, partly) == 1
    unsure = evaluate_gates(bad, ["surely pass_rate(given) >= 0.4"])
    assert unsure[0].state is OPEN
    assert gates_exit(unsure, bad) == 11


def test_a_number_missing_beside_a_failure_is_not_forgotten():
    # The case failed, which outweighs the other metric's absence; the absence still counts.
    class Other(Given):
        def texts(self, case):
            from closecall.records import State, Unmeasured

            return Unmeasured("broke", State.ERROR) if case.id == "c0" else ()

    run = run_of([2, 4, 4], Given(), Other(name="other"))
    assert run.cases.unmeasured == 0
    results = evaluate_gates(run, ["mean(given) >= 2"])
    assert results[0].state is PASSED
    assert gates_exit(results, run) == 11


def test_gates_are_limited():
    with pytest.raises(UsageError, match="at most 100 gates"):
        GateKeeper(["mean(given) >= 2"] * (MAX_GATES + 1), run_of([3]).header.metrics)


def test_no_figure_is_ever_nan():
    run = run_of([4] * 3 + [BROKEN])
    rules = ["mean(given) >= 2", "median(given) > 1", "p05(given) > 1", "share(given>2) >= 0.1"]
    for found in evaluate_gates(run, rules):
        numbers = [found.value, found.limit, found.margin, found.lowest, found.highest]
        numbers += [found.interval.low, found.interval.high] if found.interval else []
        assert all(n is None or math.isfinite(n) for n in numbers)


def test_a_cascade_is_gated_as_a_whole_and_rung_by_rung(monkeypatch):
    import msgspec

    from closecall.runs.record import Run
    from closecall.runs.summary import RunTally

    run = run_of([4, NOTHING, 2], Given(name="cheap"), Given(name="dear"))
    rows = [
        msgspec.structs.replace(row, cascade=True,
            results=(row.results[0], msgspec.structs.replace(row.results[1])))
        for row in run
    ]  # fmt: skip
    header = msgspec.structs.replace(run.header, cascade=True)
    tally = RunTally(header.metrics, cascade=True)
    tally.add(rows)
    whole = Run(header, tally.summaries(), tally.counts(0), cascade=tally.cascade(),
                _rows=lambda: iter(rows))  # fmt: skip
    found = one(whole, "pass_rate(cascade) >= 0.4")
    assert (found.count, found.asked) == (1, 2)
    assert one(whole, "pass_rate(cheap) >= 0.4").asked == 2
