"""A comparison in words: the verdict first, counts before percentages, nothing a score could be."""

import msgspec
import numpy as np
import pytest

from closecall.calibration.comparing.comparison import compare_decisions, compare_models
from closecall.calibration.comparing.delong import auc_difference
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import labelled
from closecall.report.comparison import lines
from closecall.report.words import BLIND
from closecall.runs.compared import Candidate, Compared, LeftOut

NOTHING = LeftOut(
    unreadable=0, problems=(), unlabelled=0, picked=0, unmeasured=0, merged=0, conflicts=0
)
TENTH = Goal(max_far=0.1)


def found(comparison, goal=None, left_out=None, a=None, b=None, **more):
    sides = [
        Candidate(name=name, metric="metric", model="model", instrument=name, **(more_ or {}))
        for name, more_ in ((comparison.a, a), (comparison.b, b))
    ]
    out = msgspec.structs.replace(NOTHING, **(left_out or {}))
    return Compared(
        a=sides[0],
        b=sides[1],
        data="fresh.jsonl",
        digest="0" * 64,
        rows=comparison.n,
        left_out=out,
        goal=goal,
        comparison=comparison,
        **{"grouped_by": "question", "picked": 0, "same_score": False, **more},
    )


def decided(a, b, rejects=118, accepts=294, groups=None):
    """Each of the two: (wrong answers it accepts, good ones it rejects, rows left unsure)."""
    labels = np.repeat([False, True], [rejects, accepts])
    rules = []
    for far, frr, *unsure in (a, b):
        rule = np.where(labels, "accept", "reject").astype(object)
        rule[list(far)] = "accept"
        rule[[rejects + at for at in frr]] = "reject"
        rule[list(*unsure)] = "unsure"
        rules.append(rule)
    return compare_decisions(labels, *rules, groups, names=("old", "new"))


def modelled(gap_a, gap_b, n=200, groups=None, stretch=1):
    rng = np.random.default_rng(0)
    accept = np.arange(n) % 2 == 0
    common = rng.normal(size=n)
    a, b = (
        labelled(factor * (common + rng.normal(size=n) + gap * accept), accept, groups, decimals=9)
        for gap, factor in ((gap_a, 1), (gap_b, stretch))
    )
    return found(
        compare_models(a, b, TENTH, names=("small", "large"), resamples=400, seed=3), TENTH
    )


def test_a_verdict_with_its_counts():
    comparison = decided((range(19), range(11)), (range(3), range(9, 21)))
    words = {"words": "calibrated 2026-01-02 on 412 labels"}
    assert lines(found(comparison, b=words)) == [
        "Better: new (B).",
        "  With n = 412 (294 accepts, 118 rejects), new has fewer false accepts, 3 of 118 against 19 by old (p < 0.0001); nothing speaks against it in false rejects, 12 of 294 against 11 by old (p = 1).",
        "Both on the same 412 labelled answers of fresh.jsonl: 118 wrong (rejects), 294 good (accepts).",
        "  A, old: metric with model",
        "  B, new: metric with model; calibrated 2026-01-02 on 412 labels",
        "Wrong answers accepted (false accepts), of 118: 19 by old, 3 by new.",
        "  old alone accepts 16, new alone 0: if the two were alike, so uneven a split would come up less than once in 10,000 times (p < 0.0001).",
        "Good answers rejected (false rejects), of 294: 11 by old, 12 by new.",
        "  old alone rejects 9, new alone 10: as even a split as can be.",
        BLIND,
    ]


def test_few_labels_cannot_tell():
    said = lines(found(decided(([1, 2], []), ([3], []), rejects=10, accepts=14)))
    assert said[0] == "Neither can be called better."
    assert said[1].startswith("  Cannot tell with n = 24 (14 accepts, 10 rejects): 3 answers are ")
    assert "  old alone accepts 2, new alone 1: as even a split as can be." in said


def test_a_trade_says_what_is_gained_and_what_is_paid():
    stricter = decided((range(19), range(11)), (range(3), range(31)))
    assert "  In all, new accepts 16 fewer wrong answers and rejects 20 more good ones." in lines(
        found(stricter)
    )
    laxer = decided((range(3), range(31)), (range(19), range(11)))
    assert "  In all, old accepts 16 fewer wrong answers and rejects 20 more good ones." in lines(
        found(laxer)
    )
    for a, b in (((19, 11), (3, 8)), ((3, 2), (2, 1)), ((3, 2), (3, 1))):
        no_trade = decided(tuple(map(range, a)), tuple(map(range, b)))
        assert not any(line.startswith("  In all") for line in lines(found(no_trade)))


@pytest.mark.parametrize(
    ("rejects", "accepts", "word"), [(0, 40, "wrong"), (40, 0, "good")], ids=["good", "wrong"]
)
def test_one_class_alone_is_said(rejects, accepts, word):
    said = lines(found(decided(([], []), ([], []), rejects, accepts)))
    assert f"  No answer is labelled {word}, so how the two decide such ones is not known." in said
    assert sum("answers accepted" in line or "answers rejected" in line for line in said) == 1


def test_answers_left_to_a_person_and_errors_both_make():
    said = lines(found(decided(([1], [2]), ([1], [2], [50, 51]))))
    assert said[said.index("Left to a person (unsure), of 412: 0 by old, 2 by new.") + 1] == (
        "  old alone leaves 0, new alone 2: if the two were alike, so uneven a split would come "
        "up 50% of the time (p = 0.5)."
    )
    assert said.count("  The same ones by both.") == 2


def test_groups_count_as_wholes():
    groups = np.arange(412) // 4
    said = "\n".join(lines(found(decided((range(8), []), ([20], []), groups=groups))))
    assert "294 good (accepts), in 103 groups by question, which count as wholes." in said
    assert (
        "old alone accepts 8, new alone 1: if the two were alike, so uneven a split over 3" in said
    )


def test_cautions_come_before_the_counts():
    comparison = decided((range(19), []), (range(3), []))
    said = lines(found(comparison, b={"known": 40}, picked=7))
    assert said[2] == (
        "Caution: of these 412 answers 40 belong to questions that new was calibrated on, where "
        "it errs less than elsewhere. Compare on others."
    )
    assert said[3].startswith("Caution: 7 of the labels were picked by score")
    said = lines(found(comparison, a={"known": 3}, b={"known": 40}))
    assert "3 belong to questions that old was calibrated on and 40 belong to questions" in said[2]


def test_rows_left_out_and_why():
    out = {"unreadable": 2, "problems": ("x.csv:3: label: no",), "unmeasured": 5, "conflicts": 4}
    reasons = {f"reason {at}": at for at in range(1, 6)}
    said = lines(found(decided(([], []), ([], [])), left_out=out, b={"unmeasured": reasons}))
    at = said.index(
        "Left out of 412 rows: 2 that cannot be read, 5 labelled, but not measured by both, 4 of "
        "items labelled both ways."
    )
    assert said[at + 1 : at + 5] == [
        "  x.csv:3: label: no",
        "  not measured by new, 5: reason 5",
        "  not measured by new, 4: reason 4",
        "  not measured by new, 3: reason 3",
    ]


def test_models_by_what_they_accept():
    said = lines(modelled(1.5, 4))
    made = modelled(1.5, 4).comparison
    assert said[0] == "Better: large (B)."
    # A name keeps its spelling at the head of a sentence.
    assert said[1].startswith("  large accepts more with n = 200")
    at = said.index(
        "Each at its own cutoff for at most 10% of wrong answers accepted (exact: 4 of 100 may be):"
    )
    tar, kept = made.acceptance.tar_b, made.false_rejects
    assert said[at + 2].startswith(
        f"  large accepts {tar.count} of 100 good answers = {tar.count}% (95% interval "
    )
    assert said[at + 3].startswith(
        f"  small alone accepts {kept.only_b}, large alone {kept.only_a}: with these very cutoffs, "
    )
    assert "this tells nothing" in said[at + 4]
    assert "over 400 draws of these answers (seed 3), each with cutoffs of its own" in said[at + 5]
    assert "the middle 95% put large " in said[at + 5]
    assert not any(line.startswith(("Wrong answers", "Good answers")) for line in said)


def test_models_the_labels_cannot_tell_apart():
    said = "\n".join(lines(modelled(2, 2.2)))
    assert said.startswith("Neither can be called better.\n  Cannot tell with n = 200 (")
    assert "points ahead, so either may be the better one." in said


def test_groups_are_drawn_one_reject_each():
    said = "\n".join(lines(modelled(2, 4, n=400, groups=np.arange(400) // 4)))
    assert "(exact: 4 of 100, one drawn from each group, may be):" in said


def test_a_promise_out_of_reach_is_said_in_options():
    said = lines(modelled(1, 2, n=40))
    assert "--max-far 0.1 at confidence 0.95 needs 29 rejects" in said[1]
    assert "ask for --max-far 0.14 at least." in said[1]
    assert "max_far" not in "\n".join(said)
    assert not any("own cutoff" in line for line in said)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [(0, 2, "new is "), (2, 0, "old is "), (1, 1, "")],
    ids=["B", "A", "alike"],
)
def test_the_order_is_a_share_of_pairs_and_who_is_ahead(a, b, said):
    rng = np.random.default_rng(1)
    accept = np.arange(300) % 2 == 0
    noise = rng.normal(size=300)
    auc = auc_difference(
        noise + a * accept, noise[::-1] + b * accept if a != b else noise + a * accept, accept
    )
    comparison = msgspec.structs.replace(decided(([], []), ([], [])), auc=auc)
    line = next(line for line in lines(found(comparison)) if line.startswith("Order alone"))
    assert line.count("% of pairs by") == 1
    assert line.endswith("This decides nothing.")
    assert said in line
    assert ("points ahead" in line) == bool(said)


def test_one_score_with_two_cutoffs_has_one_order():
    said = lines(found(decided(([], []), ([1], [])), same_score=True))
    assert (
        "Both cut the same score, so they rank the answers alike; only the cutoffs differ." in said
    )


def test_a_score_on_another_scale_changes_no_word():
    assert lines(modelled(1.5, 4, stretch=64)) == lines(modelled(1.5, 4))
    assert lines(modelled(2, 2.2, stretch=0.25)) == lines(modelled(2, 2.2))
