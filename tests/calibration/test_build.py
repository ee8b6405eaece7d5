"""A calibration is what its labels say: counts, promises, the locked third, and the same bytes."""

import dataclasses

import msgspec
import numpy as np
import pytest
from made_cases import CREATED, answers, made, material, scored, usual
from made_scores import by_hand, normal_scores

from closecall import calibrate, evaluate
from closecall.calibration import (
    Costs,
    Cutoff,
    Infeasible,
    Reason,
    TwoCutoffs,
    decide,
    fit_cutoff,
    fit_two_cutoffs,
    load_calibration,
    save_calibration,
)
from closecall.calibration.artefact import Calibration
from closecall.calibration.binomial import fewest_labels
from closecall.calibration.build import History, build
from closecall.calibration.evidence.held_out import held_out
from closecall.calibration.evidence.locked import lock
from closecall.calibration.evidence.other_limits import MENU
from closecall.calibration.goals import Goal
from closecall.calibration.records import Certificate, Optimum
from closecall.errors import DataError
from closecall.records import Label
from closecall.testing import HashEmbedder

GROUPED = [f"q{at}" for at in np.random.default_rng(5).integers(0, 130, 300)]


def reread(found, folder):
    save_calibration(found, folder / "cutoff.json")
    return load_calibration(folder / "cutoff.json")


# --- what is counted is what is decided ----------------------------------------------------------


@pytest.mark.parametrize("metric", ["embed_answer_similarity", "semantic_similarity"])
def test_reported_counts_are_those_of_the_public_decision_path(tmp_path, metric):
    cases = answers(150, 150)
    made_ = calibrate(cases, metric, HashEmbedder(), Goal(max_far=0.1), cache=False)
    path = tmp_path / "cutoff.json"
    save_calibration(made_, path)
    run = evaluate(cases, metric, HashEmbedder(), calibration=path, cache=False, guards="off")
    decisions = {row.case.id: row.results[0].state.value == "passed" for row in run}
    kinds = [(decisions[case.id], case.label is Label.ACCEPT) for case in cases]
    counts = made_.accept_cutoff.counts
    assert counts.true_accepts == kinds.count((True, True))
    assert counts.false_rejects == kinds.count((False, True))
    assert counts.false_accepts == kinds.count((True, False))
    assert counts.true_rejects == kinds.count((False, False))
    assert 0 < counts.false_accepts < counts.true_accepts


@pytest.mark.parametrize(
    "goal",
    [
        Goal(max_far=0.1),
        Goal(max_far=0.1, where="strict"),
        Goal(max_far=0.1, where="loose"),
        Goal(max_far=0.1, decimals=None),
        Goal(max_frr=0.1),
        Goal(max_far=0.05, guarantee="average"),
        Goal(costs=Costs(false_accept=3, false_reject=1)),
        Goal(objective="f1"),
    ],
    ids=["mid", "strict", "loose", "unrounded", "max_frr", "average", "costs", "f1"],
)
def test_the_stored_cutoff_applied_to_the_stored_scores_gives_the_stored_counts(tmp_path, goal):
    scores, labels = normal_scores(200, 200, seed=3, gap=2.0)
    scores[:40] = np.round(scores[:40], 1)  # ties, at the cutoff too
    measured = scored(np.nextafter(scores, 9), labels)
    back = reread(made(measured, goal), tmp_path)
    sample = back.sample
    said = [decide(back.rule, score).value == "accept" for score in sample.scores]
    kinds = [(yes, mark == "a") for yes, mark in zip(said, sample.accept, strict=True)]
    counts = back.accept_cutoff.counts
    assert (counts.true_accepts, counts.false_accepts) == (
        kinds.count((True, True)), kinds.count((True, False)),
    )  # fmt: skip
    assert (counts.false_rejects, counts.true_rejects) == (
        kinds.count((False, True)), kinds.count((False, False)),
    )  # fmt: skip
    # And so do the scores as they were measured, rounded on the way in.
    again = [decide(back.rule, measurement.value).value == "accept" for _, measurement in measured]
    assert again == said


def test_two_cutoffs_leave_the_rest_to_a_person(tmp_path):
    scores, labels = normal_scores(250, 250, seed=1, gap=1.5, decimals=4)
    back = reread(made(scored(scores, labels), Goal(max_far=0.1, max_frr=0.1)), tmp_path)
    expected = fit_two_cutoffs(scores, labels, max_far=0.1, max_frr=0.1)
    assert back.rule == expected
    assert back.rule.abstains
    said = [decide(back.rule, score).value for score in back.sample.scores]
    assert said.count("unsure") == back.rule.unsure.count > 0
    assert back.reject_cutoff == back.rule.reject
    assert back.accept_cutoff == back.rule.accept
    assert len(back.close_calls) == 2
    assert back.promises == ()
    assert back.slices.errors == "false_accepts"


def test_two_promises_kept_by_one_cutoff_reject_nothing_apart():
    scores, labels = normal_scores(150, 150, gap=8.0, decimals=4)
    found = made(scored(scores, labels), Goal(max_far=0.1, max_frr=0.1))
    assert isinstance(found.rule, TwoCutoffs)
    assert not found.rule.abstains
    assert found.reject_cutoff is None


# --- it is what the array functions say ----------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("looks", [1, 3])
def test_the_menu_is_what_separate_fits_say(grouped, looks):
    columns = {"group": GROUPED} if grouped else {}
    measured = usual(**columns)
    found = made(measured, Goal(max_far=0.1, looks=looks))
    data = found.sample.labelled(6)
    assert [other.limit for other in found.promises] == [x for x in MENU if x != 0.1]
    reached = set()
    for other in found.promises:
        alone = fit_cutoff(data.scores, data.accept, data.groups, max_far=other.limit, looks=looks)
        at_risk = len(set(data.groups[~data.accept])) if grouped else int((~data.accept).sum())
        assert other.n == at_risk
        reached.add(isinstance(alone, Cutoff))
        if isinstance(alone, Infeasible):
            assert (other.value, other.counts, other.observed) == (None, None, None)
            assert other.more == alone.more_rejects
        else:
            assert (other.value, other.counts, other.more) == (alone.value, alone.counts, None)
            assert (other.observed, other.n) == (alone.evidence.observed, alone.evidence.n)
    assert reached == {True, False}


def test_a_promise_on_false_rejects_has_a_menu_of_its_own_kind():
    found = made(usual(), Goal(max_frr=0.05))
    assert [other.limit for other in found.promises] == [x for x in MENU if x != 0.05]
    for other in found.promises:
        alone = fit_cutoff(
            found.sample.scores, [mark == "a" for mark in found.sample.accept],
            max_frr=other.limit,
        )  # fmt: skip
        assert other.value == getattr(alone, "value", None)
        assert other.more == getattr(alone, "more_accepts", None)


@pytest.mark.parametrize(
    "goal",
    [Goal(costs=Costs(false_accept=2, false_reject=1, base_rate=0.7)), Goal(objective="youden")],
    ids=["costs", "objective"],
)
def test_costs_and_objectives_promise_nothing(goal):
    found = made(usual(group=GROUPED), goal)
    assert isinstance(found.rule.evidence, Optimum)
    data = found.sample.labelled(6)
    assert found.rule == fit_cutoff(
        data.scores, data.accept, data.groups, costs=goal.costs, objective=goal.objective
    )
    assert found.promises == ()
    assert (found.slices.limit, found.slices.candidates) == (None, 0)


@pytest.mark.parametrize("looks", [1, 4])
def test_looks_divide_what_every_certificate_may_spend(looks):
    one = made(usual(300, 200), Goal(max_far=0.1, looks=looks), History(lock=False))
    assert one.rule.evidence.delta == 0.05 / looks
    two = made(usual(300, 200), Goal(max_far=0.1, max_frr=0.1, looks=looks), History(lock=False))
    assert two.rule.accept.evidence.delta == two.rule.reject.evidence.delta == 0.025 / looks
    kinds = [f"{'ab'[at % 2]}" for at in range(500)]
    metadata = [{"kind": kind} for kind in kinds]
    sliced = made(
        usual(300, 200, metadata=metadata), Goal(max_far=0.2, looks=looks), History(lock=False),
        slices=["kind"],
    )  # fmt: skip
    assert sliced.slices.candidates == 2
    assert sliced.slices.delta_each == pytest.approx(0.05 / looks / 2)


def test_of_two_promises_slices_are_about_the_one_on_wrong_answers_and_its_half():
    kinds = [{"kind": "ab"[at % 2]} for at in range(400)]
    found = made(usual(200, 200, metadata=kinds), Goal(max_far=0.2, max_frr=0.2), slices=["kind"])
    table = found.slices
    assert (table.errors, table.limit, table.candidates) == ("false_accepts", 0.2, 2)
    assert table.delta_each == 0.025 / 2


def test_the_parts_are_about_the_same_rows():
    found = made(usual(group=GROUPED))
    data = found.sample.labelled(6)
    assert found.held_out == held_out(data, found.goal.fit, seed=0)
    assert found.data.used == found.data.accepts + found.data.rejects == 300
    assert (found.data.accepts, found.data.rejects) == (150, 150)
    assert found.data.groups == len(set(GROUPED))
    assert found.data.grouped_by == "the group column"
    assert found.close_calls[0].n == 300
    counts = found.rule.counts
    assert found.audit.high_rejects == counts.false_accepts
    assert found.audit.low_accepts == counts.false_rejects
    assert found.created == CREATED


# --- no artefact without a cutoff ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("measured", "goal", "reason"),
    [
        (usual(20, 60), Goal(max_far=0.05), Reason.PROMISE_OUT_OF_REACH),
        (usual(9, 60), Goal(objective="f1"), Reason.TOO_FEW_LABELS),
        (scored([0.5] * 80, [True, False] * 40), Goal(max_far=0.1), Reason.CONSTANT_SCORES),
        (
            scored(-normal_scores(60, 60)[0], [False] * 60 + [True] * 60),
            Goal(max_far=0.1),
            Reason.INVERTED_SCORES,
        ),
        (
            scored(np.r_[normal_scores(60, 60)[0], [9.0] * 30], [False] * 60 + [True] * 60 + [False] * 30),
            Goal(max_far=0.1),
            Reason.ACCEPTS_NOBODY,
        ),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)  # fmt: skip
def test_where_there_is_no_cutoff_there_is_no_artefact(measured, goal, reason):
    found = made(measured, goal)
    assert isinstance(found, Infeasible)
    assert found.reason is reason


def test_no_label_at_all_is_an_error_that_says_what_to_do():
    with pytest.raises(DataError, match=r"labels\.csv: no row has a label and a score"):
        made([])


# --- the locked third ----------------------------------------------------------------------------


def many(seed=0, rejects=300, accepts=400, **columns):
    return usual(rejects, accepts, seed, **columns)


def test_locked_rows_only_test_the_cutoff():
    measured = many(group=[f"q{at // 2}" for at in range(700)])
    found = made(measured)
    sample = found.sample
    locked = set(sample.locked)
    assert 0 < found.data.locked == len(locked) == found.locked.n
    groups = [sample.groups[at] for at in range(700)]
    inside = {groups[at] for at in locked}
    assert inside.isdisjoint(groups[at] for at in range(700) if at not in locked)
    assert found.data.used == 700 - len(locked)
    assert found.data.groups == len({groups[at] for at in range(700) if at not in locked})
    # Whatever the locked labels say, nothing but their own test changes.
    flipped = [
        (
            msgspec.structs.replace(case, label=Label.REJECT)
            if at in locked and case.label is Label.ACCEPT
            else case,
            measurement,
        )
        for at, (case, measurement) in enumerate(measured)
    ]
    other = made(flipped)
    assert other.sample.locked == sample.locked
    for part in ("rule", "promises", "held_out", "slices", "close_calls", "probability", "audit",
                 "separation"):  # fmt: skip
        assert getattr(other, part) == getattr(found, part), part
    assert other.locked != found.locked
    used = sample.labelled(6, locked=False)
    assert found.rule == fit_cutoff(used.scores, used.accept, used.groups, max_far=0.1)
    tested = sample.labelled(6, locked=True)
    assert msgspec.to_builtins(found.locked.counts) == by_hand(
        tested.scores, tested.accept, found.rule.value
    )


def test_a_third_is_not_set_aside_where_it_is_not_wanted_or_not_there():
    assert made(many(), history=History(lock=False)).locked is None
    assert made(usual(200, 200)).locked is None


def test_a_promise_that_takes_all_labels_gets_them_all():
    """Whether a third can be spared is asked of the number of labels, not of their scores."""
    needed = fewest_labels(0.02, 0.05)
    measured = many(rejects=needed + 40, accepts=500)
    names = [row.group for row in material(measured).rows.rows]
    aside = lock(names, np.array([c.label is Label.ACCEPT for c, _ in measured]), seed=0)
    free = sum(
        c.label is Label.REJECT and not a for (c, _), a in zip(measured, aside, strict=True)
    )
    assert free < needed
    found = made(measured, Goal(max_far=0.02))
    assert isinstance(found, Calibration)
    assert (found.locked, found.data.locked, found.data.rejects) == (None, 0, needed + 40)
    assert found.rule.evidence.n == needed + 40
    # A promise that the rest can back leaves the third where it is.
    assert made(measured, Goal(max_far=0.1)).locked is not None


def test_scores_that_keep_no_promise_get_no_second_try_with_more_rows():
    measured = many()
    scores = [m.value for _, m in measured]
    worst = scored(
        [9.0 if c.label is Label.REJECT and at % 2 else s
         for at, ((c, _), s) in enumerate(zip(measured, scores, strict=True))],
        [c.label is Label.ACCEPT for c, _ in measured],
    )  # fmt: skip
    found = made(worst)
    assert isinstance(found, Infeasible)
    assert found.reason is not Reason.PROMISE_OUT_OF_REACH
    assert found.rejects < 300
    assert "labels more were set aside to test the cutoff" in found.message


def test_looks_at_locked_rows_are_counted():
    measured = many()
    first = made(measured)
    groups = frozenset(first.sample.groups)
    tested = frozenset(first.sample.groups[at] for at in first.sample.locked)
    assert first.locked.uses == 1

    def uses(**history):
        return made(measured, history=History(**history)).locked.uses

    assert uses(tried=2, tested=tested, uses=1) == 2
    assert uses(tried=3, tested=tested, uses=2) == 3
    assert uses(tested=frozenset({"another"}), uses=4) == 1
    # Rows that helped to choose an earlier cutoff were looked at then.
    assert uses(tried=2, chose=groups) == 2
    assert uses(tried=2, chose=groups - tested, tested=tested, uses=1) == 2
    assert uses(tried=2, chose=groups - tested) == 1


def test_the_locked_digest_is_that_of_rows_and_labels():
    digests = {made(many(), goal).locked.digest for goal in (Goal(max_far=0.1), Goal(max_far=0.2))}
    digests |= {made(many(), history=History(tried=2)).locked.digest}
    assert len(digests) == 1
    assert made(many(), Goal(max_far=0.1, seed=1)).locked.digest not in digests


# --- the same input, the same bytes --------------------------------------------------------------


def test_the_same_input_and_seed_give_the_same_bytes(tmp_path):
    contents = set()
    for at in range(2):
        path = tmp_path / f"{at}.json"
        save_calibration(made(many(group=[f"q{n // 3}" for n in range(700)])), path)
        contents.add(path.read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize(
    ("columns", "size"),
    [({}, 300), ({"group": GROUPED}, 300), ({}, 700), ({"group": (GROUPED * 3)[:700]}, 700)],
    ids=["rows", "groups", "locked rows", "locked groups"],
)
def test_the_order_of_rows_changes_no_number(columns, size):
    measured = usual(size // 2, size // 2, **columns)
    order = np.random.default_rng(2).permutation(size)
    one = made(measured)
    two = made([measured[at] for at in order])
    for part in ("rule", "promises", "held_out", "slices", "close_calls", "probability",
                 "separation", "cautions"):  # fmt: skip
        assert getattr(one, part) == getattr(two, part), part
    assert {one.sample.ids[at] for at in one.sample.locked} == {
        two.sample.ids[at] for at in two.sample.locked
    }


def test_another_seed_draws_other_rows_of_groups():
    measured = usual(group=[f"q{at % 70}" for at in range(300)])
    values = {made(measured, Goal(max_far=0.1, seed=seed)).rule.value for seed in range(8)}
    assert len(values) > 1
    assert isinstance(made(measured).rule.evidence, Certificate)


# --- what stands in it ---------------------------------------------------------------------------


def test_every_row_of_the_file_is_accounted_for():
    measured = usual(60, 60)
    again = [(msgspec.structs.replace(measured[0][0], id="again"), measured[0][1])]
    case, measurement = measured[1]
    against = [(msgspec.structs.replace(case, id="against", label=Label.ACCEPT), measurement)]
    bare = [(msgspec.structs.replace(measured[2][0], id="bare", label=None), measured[2][1])]
    data = made([*measured, *again, *against, *bare]).data
    aside = sum(conflict.accepts + conflict.rejects for conflict in data.conflicts)
    assert (data.unlabelled, data.merged, aside, data.unmeasured) == (1, 1, 2, {})
    assert data.rows == data.used + data.locked + data.unlabelled + data.merged + aside == 123
    assert (data.agreement.pairs, data.agreement.agreed) == (2, 1)


def test_noise_of_labels_bounds_what_can_be_measured():
    measured = usual(100, 100)
    doubles = [
        (msgspec.structs.replace(case, id=f"d{at}", label=Label.ACCEPT if at < 3 else case.label), m)
        for at, (case, m) in enumerate(measured[::2])
    ]  # fmt: skip
    assert made(measured).data.noise_floor is None
    floor = made([*measured, *doubles]).data.noise_floor
    assert 0 < floor < 0.2


def test_the_identity_of_metric_and_embedder_travels_with_it():
    found = calibrate(
        answers(60, 60), "semantic_similarity", HashEmbedder(model="words"), Goal(max_far=0.1)
    )
    assert (found.metric.id, found.metric.version) == ("semantic_similarity", "1")
    assert (found.metric.low, found.metric.high) == (0.0, 1.0)
    assert found.instrument == HashEmbedder(model="words").instrument
    assert found.instrument_digest == found.instrument.digest
    assert found.canaries.dims == 64
    assert found.embedder == "python:HashEmbedder"


def test_the_noise_of_a_score_is_in_its_own_units():
    cases = answers(60, 60)
    unit, hundred = (
        calibrate(cases, metric, HashEmbedder(), Goal(max_far=0.1)).close_calls[0].noise
        for metric in ("semantic_similarity", "embed_answer_similarity")
    )
    assert hundred == pytest.approx(100 * unit)


def test_labels_picked_by_score_back_no_promise():
    metadata = [{"sampling": "active"} if at < 3 else {} for at in range(300)]
    measured = usual(metadata=metadata)
    with pytest.raises(DataError, match="3 of 300 labels say sampling: active"):
        made(measured)
    assert made(measured, Goal(objective="f1")).data.active == 3


def test_a_metric_fitted_on_the_cases_backs_no_promise_from_them():
    parts = material(usual())
    fitted = msgspec.structs.replace(parts.metric, fitted_on=("1" * 64, parts.digest))
    own = dataclasses.replace(parts, metric=fitted)
    with pytest.raises(DataError, match="was fitted on these very cases"):
        build(own, Goal(max_far=0.1), created=CREATED)
    assert isinstance(build(own, Goal(objective="f1"), created=CREATED), Calibration)
