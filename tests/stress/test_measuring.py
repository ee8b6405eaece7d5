"""``stress_test``: counts that add up, rates with their n, and the metric's own words."""

import msgspec
import numpy as np
import pytest

from closecall import EmbeddingSimilarity
from closecall.calibration.groups import rate_of_groups
from closecall.errors import DataError, EmbeddingError, UsageError
from closecall.records import Case
from closecall.stress.edits import FAMILIES
from closecall.stress.measuring import CHANGING, stress_test
from closecall.testing import HashEmbedder

CASES = [
    Case(
        id=f"{n}",
        input=f"How long does the {thing} take?",
        references=(f"The {thing} takes {n + 20} days and is free of charge.", f"{n + 20} days"),
    )
    for n, thing in enumerate(
        ["delivery", "repair", "refund", "exchange", "upgrade", "check", "setup"]
    )
]


def run_on(metrics="token_f1", **options):
    return stress_test(CASES, metrics, HashEmbedder(), cache=False, **options)


def family(metric, name):
    return next(one for one in metric.families if one.family == name)


def test_counts_add_up():
    found = run_on(cutoffs={"token_f1": 0.85})
    (metric,) = found.metrics
    assert [one.family for one in metric.families] == list(FAMILIES)
    made = {one.family: one.made for one in found.made}
    for one in metric.families:
        assert one.measured + sum(one.absent.values()) == made[one.family]
        decided = one.accepted + one.rejected + one.unsure
        assert decided + one.scored == one.measured
        assert one.scored == 0
        if one.measured:
            assert (one.rate.count, one.rate.n) == (one.errors, one.measured)
    assert len(found.answers) == len(found.cases) == sum(made.values())


def test_a_score_of_shared_words_accepts_a_changed_number_and_a_guard_may_hold_it():
    (metric,) = run_on(cutoffs={"token_f1": 0.85}).metrics
    numbers = family(metric, "number")
    assert numbers.by_score == numbers.measured == 7
    assert numbers.accepted + numbers.held == 7
    assert family(metric, "other_answer").by_score == 0
    assert family(metric, "unchanged").rejected == 0


def test_the_figures_are_those_of_the_answers():
    found = run_on(cutoffs={"token_f1": 0.85})
    (metric,) = found.metrics
    for one in metric.families:
        rows = [row for row in found.answers if row.family == one.family]
        values = sorted(row.verdicts[0].value for row in rows)
        if values:
            middle = len(values) // 2
            expected = (values[middle] + values[~middle]) / 2
            assert one.median == pytest.approx(expected)
        assert one.accepted == sum(row.verdicts[0].state == "passed" for row in rows)
        assert one.rejected == sum(row.verdicts[0].state == "failed" for row in rows)
        assert one.as_high == sum(value >= metric.harmless_low for value in values)


def test_nine_in_ten_harmless_edits_reach_the_low_mark():
    found = run_on()
    (metric,) = found.metrics
    values = [r.verdicts[0].value for r in found.answers if r.family in CHANGING]
    at_least = sum(value >= metric.harmless_low for value in values)
    assert at_least >= 0.9 * len(values)
    higher = [value for value in values if value > metric.harmless_low]
    assert len(higher) < 0.9 * len(values)


def test_a_metric_without_cutoff_gets_no_verdict_and_no_rate():
    (metric,) = run_on("answer_alignment").metrics
    assert metric.cutoff is None
    for one in metric.families:
        assert (one.accepted, one.rejected, one.rate) == (0, 0, None)
        assert one.scored == one.measured
    assert family(metric, "unchanged").median == pytest.approx(1)


def test_several_answers_to_one_question_widen_the_interval():
    cases = [msgspec.structs.replace(c, group="one") for c in CASES]
    found = stress_test(
        cases,
        "token_f1",
        HashEmbedder(),
        cache=False,
        families=["case"],
        cutoffs={"token_f1": 1.0},
    )
    (one,) = found.metrics[0].families
    assert (one.groups, one.measured) == (1, 7)
    assert one.rate == rate_of_groups(np.array([7]), np.array([0]))
    assert "design effect" in one.rate.interval.method


def test_what_is_not_measured_is_counted_by_reason_and_in_no_rate():
    def fail(texts):
        bad = [at for at, text in enumerate(texts) if text.startswith("Sure!") or "**" in text]
        if bad:
            raise EmbeddingError("out of order", bad)

    found = stress_test(
        CASES,
        EmbeddingSimilarity(cutoff=0.5),
        HashEmbedder(on_embed=fail),
        cache=False,
        families=["politeness", "markdown"],
    )
    absent = sum(n for one in found.metrics[0].families for n in one.absent.values())
    assert absent > 0
    for one in found.metrics[0].families:
        assert one.measured + sum(one.absent.values()) == 7
        assert one.rate is None or one.rate.n == one.measured


def test_the_example_is_the_clearest_error():
    cases = [
        Case(id=thing, input=f"Which {thing} is it?", references=(f"the {thing} by the {place}",))
        for thing, place in (("lamp", "old sofa"), ("lamp shade", "sofa"), ("chair", "window"))
    ]
    found = stress_test(
        cases,
        "token_f1",
        HashEmbedder(),
        cache=False,
        cutoffs={"token_f1": 0.2},
        families=["other_answer", "case"],
    )
    one = family(found.metrics[0], "other_answer")
    passed = [row for row in found.answers if row.verdicts[0].state == "passed"]
    passed = [row for row in passed if row.family == "other_answer"]
    assert one.accepted == len(passed) > 0
    assert one.example.value == max(row.verdicts[0].value for row in passed)
    assert one.example.id in {row.id for row in passed}
    assert family(found.metrics[0], "case").example is None


def test_it_is_the_same_every_time_and_under_another_order():
    first = run_on(cutoffs={"token_f1": 0.85})
    again = stress_test(
        CASES[::-1], "token_f1", HashEmbedder(), cache=False, cutoffs={"token_f1": 0.85}
    )
    assert again == first


def test_a_file_and_its_bad_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [msgspec.json.encode({"id": c.id, "input": c.input, "reference": list(c.references)})
            for c in CASES]  # fmt: skip
    path.write_bytes(b"\n".join([*rows, b"{"]))
    found = stress_test(path, "token_f1", HashEmbedder(), cache=False, on_bad_row="skip")
    assert found.left_out == {"a row that cannot be read": 1}
    assert (found.name, found.seen, found.sources) == ("rows.jsonl", 8, 7)
    with pytest.raises(DataError):
        stress_test(path, "token_f1", HashEmbedder(), cache=False)


def test_wrong_options_are_refused_before_anything_is_embedded():
    embedder = HashEmbedder()
    with pytest.raises(UsageError):
        stress_test(CASES, "token_f1", embedder, families=["colour"])
    assert embedder.texts == []
