"""Two runs of the same cases: what changed, whether it is worse, and what keeps it from green."""

import json
import shutil

import numpy as np
import pytest
from two_runs import BAD, GOOD, cases, compared, run

from closecall import Goal, calibrate, compare_runs, load_run
from closecall.errors import NotComparableError, RunFolderError, UsageError
from closecall.records import State
from closecall.runs.comparing.rule import decided
from closecall.testing import HashEmbedder

N = 40


@pytest.fixture
def before(tmp_path):
    return run(tmp_path / "a", cases([GOOD] * N), name="before")


def after(tmp_path, responses, **options):
    return run(tmp_path / "b", cases(responses), name="after", **options)


def only(found):
    (metric,) = found.metrics
    return metric


def test_passes_lost_beyond_chance_are_a_regression(tmp_path, before):
    found = compare_runs(before, after(tmp_path, [BAD] * 5 + [GOOD] * (N - 5)))
    metric = only(found)
    assert (found.exit_code, found.regressed, metric.outcome) == (1, True, "worse")
    assert (metric.passed_a, metric.passed_b, metric.measured, metric.asked) == (40, 35, 40, 40)
    assert metric.verdicts == {"passed": {"passed": 35, "failed": 5}}
    assert (metric.new_failures, metric.fixed, metric.verdict_flips) == (5, 0, 5)
    assert metric.p_worse == pytest.approx(0.5**5)
    assert metric.flips.p == pytest.approx(2 * 0.5**5)
    assert [case.id for case in metric.first_worse] == [f"c{i:03}" for i in range(5)]
    assert (metric.first_worse[0].response_a, metric.first_worse[0].response_b) == (GOOD, BAD)
    assert found.cases.responses_differ == 5


def test_one_less_cannot_be_told_which_is_said_and_not_green_when_strict(tmp_path, before):
    b = after(tmp_path, [BAD] * 4 + [GOOD] * (N - 4))
    found = compare_runs(before, b)
    assert (found.exit_code, only(found).outcome) == (0, "cannot tell")
    assert only(found).why == (
        "cannot tell with n = 40: 4 pass in A alone and 0 in B alone, which may be chance "
        "(p = 0.062); fewer than 5 cases that tell the two apart prove nothing, even if all "
        "speak for one"
    )
    assert compare_runs(before, b, strict=True).exit_code == 11
    assert compare_runs(before, b, alpha=0.1).exit_code == 1


def test_the_other_way_round_it_is_better(tmp_path, before):
    b = after(tmp_path, [BAD] * 5 + [GOOD] * (N - 5))
    found = compare_runs(b, before)
    assert (found.exit_code, only(found).outcome) == (0, "better")
    assert (only(found).fixed, only(found).new_failures, only(found).p_worse) == (5, 0, None)


def test_equal_verdicts_are_green_even_when_strict(tmp_path, before):
    found = compare_runs(before, after(tmp_path, [GOOD] * N), strict=True, any_flip=True)
    assert (found.exit_code, only(found).outcome) == (0, "alike")
    assert "every response is the same in both" in found.notes[0]


def test_counts_gate_where_chance_would_not(tmp_path, before):
    b = after(tmp_path, [BAD] * 2 + [GOOD] * (N - 2))
    assert compare_runs(before, b).exit_code == 0
    assert compare_runs(before, b, max_new_failures=2).exit_code == 0
    found = compare_runs(before, b, max_new_failures=1)
    assert found.exit_code == 1
    assert found.failed == ("embed_answer_similarity: 2 new failures, more than 1 allowed",)
    assert compare_runs(before, b, any_flip=True).exit_code == 1
    # An improvement is a flip too.
    assert compare_runs(b, before, any_flip=True).exit_code == 1
    assert compare_runs(b, before, max_new_failures=0).exit_code == 0


def test_what_a_measured_and_b_did_not_is_never_green(tmp_path, before):
    found = compare_runs(before, after(tmp_path, [" "] + [GOOD] * (N - 1)))
    metric = only(found)
    assert (found.exit_code, metric.only_a, metric.measured, metric.asked) == (11, 1, 39, 40)
    assert list(metric.absent_reasons.values()) == [1]
    assert [case.id for case in metric.first_absent] == ["c000"]
    assert found.open == (
        "embed_answer_similarity: 1 of 40 cases that A measured are not measured in B",
    )
    # A regression beside it still is one.
    worse = compare_runs(before, run(tmp_path / "c", cases([" "] + [BAD] * 9 + [GOOD] * (N - 10))))
    assert worse.exit_code == 1


def test_what_b_alone_measures_is_counted_and_not_compared(tmp_path):
    a = run(tmp_path / "a", cases([" ", " ", GOOD, " "]))
    b = run(tmp_path / "b", cases([BAD, GOOD, GOOD, " "]))
    metric = only(compare_runs(a, b))
    assert (metric.only_b, metric.only_b_failed, metric.neither, metric.measured) == (2, 1, 1, 1)


def test_nothing_in_common_measured_is_not_green(tmp_path):
    a = run(tmp_path / "a", cases([" ", GOOD]))
    b = run(tmp_path / "b", cases([GOOD, " "]))
    found = compare_runs(a, b)
    assert found.exit_code == 11
    assert "none of 2 cases was measured in both" in " ".join(found.open)


def test_means_and_movers_are_of_the_pairs(tmp_path):
    half = "the sky is grey today"
    a = run(tmp_path / "a", cases([GOOD] * 12 + [BAD, " "]))
    b = run(tmp_path / "b", cases([half] * 12 + [GOOD, GOOD]))
    found = compare_runs(a, b, named=3)
    metric = only(found)
    values = [row.results[0].measurement.value for row in load_run(b)][:13]
    assert metric.mean_b == pytest.approx(sum(values) / 13)
    assert metric.difference == pytest.approx(metric.mean_b - metric.mean_a)
    assert metric.interval.low < metric.difference < metric.interval.high
    assert metric.moved == 13
    assert [case.id for case in metric.rose] == ["c012"]
    assert [case.id for case in metric.fell] == ["c000", "c001", "c002"]  # ties by id


def test_scored_without_a_cutoff_compares_values_and_gates_nothing(tmp_path):
    name = "embedding_similarity:method=euclidean:normalize=false"
    a = run(tmp_path / "a", cases([GOOD] * 8), name)
    b = run(tmp_path / "b", cases([BAD] * 8), name)
    found = compare_runs(a, b)
    assert (only(found).cutoff_a, only(found).flips) == (None, None)
    assert (found.exit_code, only(found).outcome) == (0, "not decided")
    assert only(found).why == "there is no cutoff, so there are values and no verdicts"
    assert only(found).difference < 0
    assert compare_runs(a, b, strict=True).exit_code == 11


def test_errors_on_labelled_cases_stand_beside_each_other(tmp_path):
    labels = ["accept", "reject"] * 6
    a = run(tmp_path / "a", cases([GOOD, BAD] * 6, label=labels))
    b = run(tmp_path / "b", cases([GOOD, GOOD] * 3 + [BAD, BAD] * 3, label=labels))
    metric = only(compare_runs(a, b))
    rates = [
        (
            side.false_accepts.count,
            side.false_accepts.n,
            side.false_rejects.count,
            side.false_rejects.n,
        )
        for side in (metric.labelled_a, metric.labelled_b)
    ]
    assert rates == [(0, 6, 0, 6), (3, 6, 3, 6)]


def test_a_new_label_on_the_same_response_is_said(tmp_path):
    a = run(tmp_path / "a", cases([GOOD, BAD], label=["accept", "accept"]))
    b = run(tmp_path / "b", cases([GOOD, BAD], label=["accept", "reject"]))
    found = compare_runs(a, b)
    assert found.cases.relabelled == 1
    assert any("another label on the same response" in note for note in found.notes)


def test_cases_of_one_group_are_one_piece_of_evidence(tmp_path):
    groups = ["one"] * 6 + [str(i) for i in range(N - 6)]
    a = run(tmp_path / "a", cases([GOOD] * N, group=groups))
    b = run(tmp_path / "b", cases([BAD] * 6 + [GOOD] * (N - 6), group=groups))
    found = compare_runs(a, b)
    assert found.cases.groups == N - 5
    assert only(found).flips.groups == 1
    assert only(found).outcome == "cannot tell"
    assert "groups that tell the two apart" in only(found).why


def test_several_metrics_share_one_false_alarm():
    five = compared([State.PASSED] * 20, [State.FAILED] * 5 + [State.PASSED] * 15)
    same = compared([State.PASSED] * 20, [State.PASSED] * 20, metric="n")
    assert decided([five], 0.05, {})[0].outcome == "worse"
    assert [one.outcome for one in decided([five, same], 0.05, {})] == ["cannot tell", "alike"]
    seven = compared([State.PASSED] * 20, [State.FAILED] * 7 + [State.PASSED] * 13, metric="n")
    # By Holm the second is held to the whole level once the first is beyond half of it.
    assert [one.outcome for one in decided([five, seven], 0.05, {})] == ["worse", "worse"]


def test_a_pass_that_becomes_unsure_is_a_pass_lost_and_no_new_failure():
    metric = compared([State.PASSED] * 6, [State.INCONCLUSIVE] * 6)
    assert (metric.flips.only_b, metric.new_failures, metric.verdict_flips) == (6, 0, 6)
    assert decided([metric], 0.05, {})[0].outcome == "worse"
    metric = compared([State.INCONCLUSIVE] * 6, [State.FAILED] * 6)
    assert (metric.flips.discordant, metric.new_failures) == (0, 6)
    assert decided([metric], 0.05, {})[0].outcome == "cannot tell"


def test_the_order_of_cases_changes_nothing(tmp_path, before):
    rows = cases([BAD] * 5 + [GOOD] * (N - 5))
    one = compare_runs(before, run(tmp_path / "b", rows))
    other = compare_runs(before, run(tmp_path / "c", rows[::-1]))
    assert one.metrics == other.metrics


def cascading(count, kept):
    """Labelled cases whose answers hold about so many of eight words of their reference."""
    draws = np.random.PCG64(7).random_raw((count, 12)) % 400
    rows = []
    for at, row in enumerate(draws.tolist()):
        reference = [f"word{value}" for value in row[:8]]
        share = kept(at, row)
        said = reference[:share] + [f"noise{value}" for value in row[9:12]]
        rows.append(
            {
                "id": f"k{at}",
                "response": " ".join(said),
                "references": [" ".join(reference)],
                "label": "reject" if at % 2 else "accept",
            }
        )
    return rows


def test_a_cascade_is_compared_as_a_whole(tmp_path):
    rows = cascading(400, lambda at, row: row[8] % 6 if at % 2 else 5 + row[8] % 4)
    rungs = [
        calibrate(
            rows, metric, HashEmbedder(), Goal(max_far=0.1, max_frr=0.1), cache=False, lock=False
        )
        for metric in ("chrf", "embed_answer_similarity")
    ]
    options = {"calibration": rungs, "cascade": True, "guards": "off"}
    a = run(tmp_path / "a", rows[:100], None, **options)
    b = run(tmp_path / "b", cascading(100, lambda at, row: 1), None, **options)
    found = compare_runs(a, b)
    assert [one.metric for one in found.metrics] == ["cascade"]
    assert (found.exit_code, only(found).outcome) == (1, "worse")
    assert (only(found).mean_a, only(found).fell) == (None, ())
    states = [row.state for row in load_run(a)]
    assert only(found).passed_a <= states.count(State.PASSED)
    assert only(found).asked == 100
    with pytest.raises(UsageError, match="compared as a whole"):
        compare_runs(a, b, metrics=["embed_answer_similarity"])


def test_an_unfinished_run_is_refused_with_what_to_type(tmp_path, before):
    b = after(tmp_path, [GOOD] * N)
    header = json.loads((b / "run.json").read_text(encoding="utf-8"))
    header["status"] = "running"
    del header["endedAt"]
    (b / "run.json").write_text(json.dumps(header), encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"not finished.*closecall eval --resume"):
        compare_runs(before, b)


def test_a_folder_without_its_last_cases_is_refused(tmp_path, before):
    b = after(tmp_path, [GOOD] * N)
    for name in ("results.ndjson", "ext/closecall/cases.ndjson"):
        lines = (b / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (b / name).write_text("".join(lines[:-3]), encoding="utf-8")
    with pytest.raises(
        RunFolderError, match=r"holds 37 cases of the 40 that its run\.json counts"
    ):
        compare_runs(before, b)


def test_a_line_that_is_broken_is_named(tmp_path, before):
    b = after(tmp_path, [GOOD] * N)
    path = b / "results.ndjson"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[4] = "{}\n"
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"results\.ndjson:5"):
        compare_runs(before, b)


def test_no_folder_and_no_run_are_refused(tmp_path, before):
    with pytest.raises(RunFolderError, match="no such folder"):
        compare_runs(before, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunFolderError, match="not a run folder"):
        compare_runs(tmp_path / "empty", before)


def test_a_run_is_not_compared_with_itself(tmp_path, before):
    shutil.copytree(before, tmp_path / "copy")
    for other in (before, tmp_path / "copy"):
        with pytest.raises(UsageError, match="the same run"):
            compare_runs(before, other)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": 0}, "alpha must be above 0"),
        ({"alpha": 0.6}, "at most 0.5"),
        ({"max_new_failures": -1}, "at least 0"),
        ({"named": 1001}, "from 0 to 1,000"),
        ({"allow": ["embedder"]}, "never comparable"),
        ({"allow": "cases"}, "takes a list"),
        ({"metrics": ["token_f1"]}, "A has no metric 'token_f1'; it has embed_answer_similarity"),
    ],
)
def test_arguments_out_of_range_are_refused(tmp_path, before, options, says):
    b = after(tmp_path, [GOOD] * N)
    with pytest.raises(UsageError, match=says):
        compare_runs(before, b, **options)


def test_long_responses_are_cut_and_say_so(tmp_path):
    long = "word " * 1000
    a, b = run(tmp_path / "a", cases([long])), run(tmp_path / "b", cases([GOOD]))
    (case,) = only(compare_runs(a, b)).rose
    assert case.response_a.endswith("… [5,000 characters in all]")
    assert len(case.response_a) < 1100


def test_error_names_its_axes(tmp_path, before):
    b = run(tmp_path / "b", cases([GOOD] * 3))
    with pytest.raises(NotComparableError) as caught:
        compare_runs(before, b)
    assert (caught.value.exit_code, caught.value.axes) == (13, ("cases",))


def test_memory_does_not_hold_the_texts(tmp_path):
    import tracemalloc

    count, size = 300, 40_000
    a = run(tmp_path / "a", cases([GOOD + " x" * (size // 2)] * count), "token_f1")
    b = run(tmp_path / "b", cases([GOOD + " y" * (size // 2)] * count), "token_f1")
    compare_runs(a, b, named=2)
    tracemalloc.start()
    compare_runs(a, b, named=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < count * size / 2  # the responses of one of the two
