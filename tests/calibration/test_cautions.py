"""Each caution is raised by data made for it, and none by clean data."""

import datetime as dt

import msgspec
import numpy as np
import pytest
from made_cases import CREATED, answers, made, material, scored, usual
from made_scores import normal_scores

from closecall import calibrate, evaluate
from closecall.calibration import Calibration, Infeasible, Reason, save_calibration
from closecall.calibration.build import History, build
from closecall.calibration.cautions import CAUTIONS, WORST_FIRST, Caution
from closecall.calibration.goals import Goal
from closecall.calibration.records import Costs
from closecall.records import Label
from closecall.report.overview import overview
from closecall.testing import HashEmbedder


def said(found):
    assert isinstance(found, Calibration), found
    codes = [caution.code for caution in found.cautions]
    assert len(set(codes)) == len(codes)
    assert codes == sorted(codes, key=lambda code: int(code[1:]))
    return {caution.code: caution.text for caution in found.cautions}


def test_clean_data_raise_none():
    assert said(made(usual())) == {}
    assert said(made(usual(), Goal(max_far=0.1, max_frr=0.1))) == {}
    assert said(made(usual(), Goal(objective="accuracy"))) == {}


def test_every_code_means_something_and_says_what_to_do():
    assert list(CAUTIONS) == [f"W{number}" for number in range(1, 17)]
    for what, do in CAUTIONS.values():
        for part in (what, do):
            assert part
            assert part == part.strip().rstrip(".")
            assert "|" not in part  # it stands in a table
    assert Caution(code="W4", text="x").meaning is CAUTIONS["W4"]
    # Those that come with a run, or as a refusal, are none of a calibration's own.
    assert set(CAUTIONS) - set(WORST_FIRST) == {"W5", "W10", "W11", "W14", "W15"}


# --- W1: few labels ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rejects", "accepts", "text"),
    [
        (99, 100, "only 99 rejects: the intervals are wide"),
        (100, 99, "only 99 accepts: the intervals are wide"),
        (60, 70, "only 60 rejects and 70 accepts: the intervals are wide"),
        (100, 100, None),
    ],
)
def test_w1_few_labels_of_a_class(rejects, accepts, text):
    assert said(made(usual(rejects, accepts))).get("W1") == text


def test_w1_counts_the_labels_that_chose_not_those_that_tested():
    found = said(made(usual(120, 60), Goal(max_far=0.2)))
    assert "60 accepts" in found["W1"]


# --- W2: at the edge -----------------------------------------------------------------------------


def test_w2_a_cutoff_that_everybody_reaches():
    scores, labels = normal_scores(150, 150, gap=3.0)
    scores[200] = -9.0  # a good answer at the very bottom
    goal = Goal(costs=Costs(false_accept=1, false_reject=10_000), estimator="empirical")
    found = said(made(scored(scores / 10, labels), goal))
    assert "the cutoff lies at the edge" in found["W2"]
    assert "every labelled answer scores as high" in found["W2"]


def test_w2_a_cutoff_that_only_the_highest_score_reaches():
    scores, labels = normal_scores(150, 150, gap=1.0)
    scores[100] = 8.0  # one wrong answer on top of all but one
    scores[200] = 9.0
    found = said(made(scored(scores / 10, labels), Goal(max_far=0.02)))
    assert "only the highest labelled score reaches it" in found["W2"]


def test_w2_names_which_of_two_cutoffs():
    scores, labels = normal_scores(150, 150, gap=1.0)
    scores[200] = -9.0  # a good answer at the very bottom: nobody may be rejected
    goal = Goal(max_far=0.2, max_frr=0.025)
    found = said(made(scored(scores / 10, labels), goal))
    assert "the cutoff to reject below lies at the edge" in found["W2"]
    assert "to accept from" not in found["W2"]


# --- W3: room for the cutoff ---------------------------------------------------------------------


def test_w3_a_wide_gap():
    labels = np.repeat([False, True], [120, 120])
    ranks = np.linspace(0, 0.1, 120)
    scores = np.concatenate((ranks, ranks + 0.5))
    found = said(made(scored(scores, labels), Goal(objective="youden", estimator="empirical")))
    assert "could stand anywhere above 0.1 and up to 0.5" in found["W3"]
    # On a scale that is twenty times as wide the same gap is narrow.
    wide = made(
        scored(scores, labels), Goal(objective="youden", estimator="empirical"),
        metric="embed_answer_similarity",
    )  # fmt: skip
    assert "W3" not in said(wide)


def test_w3_a_cutoff_that_moves_from_fold_to_fold():
    rng = np.random.default_rng(1)
    scores = np.concatenate((rng.uniform(-1, 0.9, 40), rng.uniform(-0.9, 1, 40)))
    labels = np.repeat([False, True], 40)
    found = said(made(scored(scores, labels), Goal(objective="accuracy", estimator="empirical")))
    assert "chosen on 4 of 5 parts of the labels, the cutoff moves between" in found["W3"]


# --- W4, W5: separation --------------------------------------------------------------------------


def test_w4_a_score_that_barely_tells():
    scores, labels = normal_scores(150, 150, gap=0.5)
    found = said(made(scored(scores / 10, labels), Goal(max_far=0.2)))
    assert found["W4"].startswith("the score barely tells accepts from rejects")
    assert "150 accepts, 150 rejects" in found["W4"]
    assert "W4" not in said(made(scored(*normal_scores(150, 150, gap=1.5)), Goal(max_far=0.2)))


def test_w5_a_score_that_runs_the_wrong_way_is_refused():
    scores, labels = normal_scores(60, 60)
    found = made(scored(-scores, labels), Goal(max_far=0.1))
    assert isinstance(found, Infeasible)
    assert found.reason is Reason.INVERTED_SCORES


# --- W6: ties ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tied", "raised"), [(16, True), (15, False)])
def test_w6_many_answers_of_one_score_next_to_the_cutoff(tied, raised):
    scores, labels = normal_scores(150, 150, gap=3.0, decimals=4)
    plain = made(scored(scores / 10, labels))
    # More than a twentieth of all share the score just above the cutoff.
    accepted = np.flatnonzero(labels)
    scores[accepted[:tied]] = plain.rule.gap.high * 10
    found = said(made(scored(scores / 10, labels)))
    assert ("W6" in found) == raised
    if raised:
        assert "of 300 labelled answers share one score next to the cutoff" in found["W6"]


def test_w6_ties_just_below_the_cutoff_count_as_much():
    scores, labels = normal_scores(150, 150, gap=3.0, decimals=4)
    plain = made(scored(scores / 10, labels))
    first_rejected = plain.rule.gap.low * 10
    good = np.flatnonzero(labels & (scores < first_rejected))
    bad = np.flatnonzero(~labels & (scores < first_rejected))
    scores[np.concatenate((good, bad[: 16 - len(good)]))] = first_rejected
    found = made(scored(scores / 10, labels))
    assert found.rule.value == plain.rule.value
    assert "17 of 300 labelled answers share one score next to the cutoff" in said(found)["W6"]


# --- W7: groups ----------------------------------------------------------------------------------


def test_w7_rows_that_belong_together():
    groups = [f"q{at // 2}" for at in range(300)]
    assert said(made(usual(group=groups)))["W7"] == (
        "150 rejects come from 75 groups, and rows of one group are not independent"
    )
    # Of a promise about good answers, the good ones count.
    mixed = [f"q{at}" if at < 150 else f"r{at // 3}" for at in range(300)]
    assert "W7" not in said(made(usual(group=mixed)))
    found = said(made(usual(group=mixed), Goal(max_frr=0.1)))
    assert found["W7"].startswith("150 accepts come from 50 groups")


# --- W8: slices ----------------------------------------------------------------------------------


def test_w8_slices_of_which_nothing_is_known():
    kinds = [{"kind": "rare" if at % 15 == 0 else "common"} for at in range(300)]
    found = made(usual(metadata=kinds), slices=["kind"])
    assert said(found)["W8"] == "too few labels to say anything of 1 of 2 parts"
    assert "W8" not in said(made(usual(metadata=kinds), Goal(objective="f1"), slices=["kind"]))
    many = [{"kind": f"k{at % 20}"} for at in range(300)]
    assert "of 20 of 20 parts" in said(made(usual(metadata=many), slices=["kind"]))["W8"]


# --- W9: labels that clash -----------------------------------------------------------------------


def doubled(measured, rows, against):
    """The same items once more; of ``rows`` the first ``against`` with the other label."""
    again = []
    for at, row in enumerate(rows):
        case, found = measured[row]
        other = Label.REJECT if case.label is Label.ACCEPT else Label.ACCEPT
        label = other if at < against else case.label
        again.append((msgspec.structs.replace(case, id=f"again-{row}", label=label), found))
    return [*measured, *again]


def test_w9_contradictions_and_little_agreement():
    measured = usual(160, 160)
    assert "W9" not in said(made(doubled(measured, range(0, 320, 8), 0)))
    one = said(made(doubled(measured, range(0, 320, 8), 1)))
    assert one["W9"] == "1 item carries both labels, set aside"
    poor = said(made(doubled(measured, range(0, 320, 8), 12)))
    assert poor["W9"].startswith("12 items carry both labels, set aside; two labels of one ")
    assert "agree in 28 of 40 cases (kappa 0." in poor["W9"]


# --- W12, W13: how labels and scores came about --------------------------------------------------


def test_w12_labels_that_were_picked_by_score():
    metadata = [{"sampling": "active"} if at < 30 else {} for at in range(300)]
    found = said(made(usual(metadata=metadata), Goal(objective="accuracy")))
    assert found["W12"].startswith("30 of 300 labels were picked by score")


def test_w13_texts_that_were_read_in_part():
    found = said(made(usual(truncated=[at < 7 for at in range(300)])))
    assert found["W13"] == "7 labelled rows have a text that was read only in part"
    one = said(made(usual(truncated=[at < 1 for at in range(300)])))
    assert one["W13"] == "1 labelled row has a text that was read only in part"


def test_w13_sends_nobody_to_an_option_that_a_pair_model_does_not_have():
    do = CAUTIONS["W13"].do
    assert "--window chunk; a pair model never does, so look at those yourself" in do


# --- W16: several tries --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tried", "looks", "raised"), [(1, 1, 0), (2, 1, 1), (3, 3, 0), (4, 3, 1)]
)
def test_w16_more_tries_than_were_paid_for(tried, looks, raised):
    found = said(made(usual(), Goal(max_far=0.1, looks=looks), History(tried=tried)))
    assert ("W16" in found) == raised
    if raised:
        assert f"calibration number {tried} on these labels" in found["W16"]
        assert f"{looks} look" in found["W16"]
        assert "--looks" in found["W16"]


@pytest.mark.parametrize(
    "goal", [Goal(objective="f1"), Goal(max_far=0.1, guarantee="average")], ids=["f1", "average"]
)
def test_w16_names_no_option_that_does_nothing(goal):
    found = said(made(usual(), goal, History(tried=2)))
    assert "looks better than it is" in found["W16"]
    assert "--looks" not in found["W16"]


def test_w16_is_counted_from_one_calibration_to_the_next():
    cases = answers(120, 120)
    first = calibrate(cases, "semantic_similarity", HashEmbedder(), Goal(max_far=0.1))
    second = calibrate(
        cases, "semantic_similarity", HashEmbedder(), Goal(max_far=0.2), previous=first
    )
    assert (first.tried, second.tried) == (1, 2)
    assert "W16" not in said(first)
    assert "W16" in said(second)


def test_the_words_say_no_more_than_a_line():
    metadata = [{"kind": f"k{at % 20}"} for at in range(160)]
    scores, labels = normal_scores(80, 80, gap=0.8, decimals=1)
    found = build(
        material(
            doubled(
                scored(scores, labels, metadata=metadata, truncated=[True] * 160), range(9), 9
            ),
            slices=["kind"],
        ),
        Goal(max_far=0.2),
        created=CREATED,
        history=History(tried=9),
    )
    assert len(said(found)) >= 7
    for caution in found.cautions:
        assert "\n" not in str(caution)
        assert str(caution).startswith(f"{caution.code}: ")


# --- W10, W11, W14, W15: seen in a run -----------------------------------------------------------


def test_what_a_run_differs_in_surfaces_in_its_overview(tmp_path):
    metadata = {"system": "red"}
    cases = answers(120, 120, metadata=metadata)
    found = calibrate(cases, "semantic_similarity", HashEmbedder(), Goal(max_far=0.1), cache=False)
    long_ago = dt.datetime.now(dt.UTC) - dt.timedelta(days=400)
    old = msgspec.structs.replace(found, created=long_ago.strftime("%Y-%m-%dT%H:%M:%SZ"))
    path = tmp_path / "cutoff.json"
    save_calibration(old, path)
    same = [
        msgspec.structs.replace(case, id=f"s{at}", label=None)
        for at, case in enumerate(answers(120, 120, seed=1, metadata=metadata))
    ]
    run = evaluate(same, None, HashEmbedder(), calibration=path, cache=False)
    quiet = overview(run).notes
    assert not any(f"W{code}:" in note for note in quiet for code in (10, 11, 14, 15))
    other = [
        msgspec.structs.replace(
            case,
            id=f"new-{at}",
            label=None,
            response=f"{case.response} and a great many more words than any answer had before",
            references=(*case.references, "another one", "and a third"),
            metadata={"system": "blue"},
        )
        for at, case in enumerate(answers(600, 600, seed=2))
    ]
    run = evaluate(other, None, HashEmbedder(), calibration=path, cache=False)
    notes = overview(run).notes
    for code, words in [
        ("W10", "answers are longer"),
        ("W11", "'blue' has 1200 of 1200 cases here and none among the labels"),
        ("W14", "cases have more references"),
        ("W15", "400 days old"),
    ]:
        assert any(f"{code}: " in note and words in note for note in notes), (code, notes)
    assert any("label these, drawn at random" in note for note in notes)
