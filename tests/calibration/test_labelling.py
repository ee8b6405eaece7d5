"""Which cases are drawn to be labelled, with which probability, and from which pool."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.labels.items import group_of, item_of
from closecall.calibration.labels.label_stock import take_stock
from closecall.calibration.labels.labelling import certify_batch, improve_batch
from closecall.calibration.labels.strata import allocation, bounds_of, expected_rejects, worth
from closecall.errors import DataError, ShapeError, UsageError
from closecall.records import Case, Label

IDS = tuple(f"c{at:03}" for at in range(200))


def ids_of(batch):
    return [pick.id for pick in batch.picks]


def test_a_certify_batch_is_drawn_once_each_with_its_probability():
    batch = certify_batch(IDS, size=50, seed=3)
    assert len(set(ids_of(batch))) == 50
    assert {pick.inclusion_probability for pick in batch.picks} == {0.25}
    assert (batch.kind, batch.sampling, batch.pool, batch.groups, batch.again) == (
        "certify", "random", 200, None, 0,
    )  # fmt: skip


def test_every_subset_is_as_likely_as_any_other():
    """4000 seeds, 10 subsets of two of five: a chi-square far in the tail would show a bias."""
    seen = Counter(
        frozenset(ids_of(certify_batch(IDS[:5], size=2, seed=seed))) for seed in range(4000)
    )
    assert set(seen) == {frozenset(pair) for pair in combinations(IDS[:5], 2)}
    assert sum((count - 400) ** 2 / 400 for count in seen.values()) < 28  # 99.9% of chi-square 9


def test_groups_are_as_likely_as_any_other_and_cases_within_them():
    groups = ["a", "b", "b", "b", "c"]
    picks = [certify_batch(IDS[:5], groups, size=1, seed=seed).picks[0] for seed in range(3000)]
    assert all(
        pick.inclusion_probability == (1 / 9 if pick.id in IDS[1:4] else 1 / 3) for pick in picks
    )
    seen = Counter(pick.id for pick in picks)
    for at, share in enumerate((1 / 3, 1 / 9, 1 / 9, 1 / 9, 1 / 3)):
        assert abs(seen[IDS[at]] / 3000 - share) < 4 * np.sqrt(share * (1 - share) / 3000)


@given(size=st.integers(1, 60), seed=st.integers(0, 9), data=st.data())
def test_one_case_a_group_and_probabilities_that_add_up(size, seed, data):
    groups = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40))
    batch = certify_batch(IDS[: len(groups)], groups, size=size, seed=seed)
    of = dict(zip(IDS, groups, strict=False))
    drawn = [of[name] for name in ids_of(batch)]
    assert len(drawn) == len(set(drawn)) == min(size, len(set(groups)))
    # Every case has a chance of 1 / its group's size given the group: they sum to the draws.
    chance = Fraction(len(drawn), len(set(groups)))
    for pick in batch.picks:
        assert pick.inclusion_probability == pytest.approx(
            float(chance / groups.count(of[pick.id]))
        )


def test_the_order_of_cases_does_not_matter():
    groups = [f"g{at % 7}" for at in range(30)]
    order = np.random.default_rng(0).permutation(30)
    one = certify_batch(IDS[:30], groups, size=5, seed=1)
    other = certify_batch([IDS[at] for at in order], [groups[at] for at in order], size=5, seed=1)
    assert one == other
    assert ids_of(certify_batch(IDS[:30], groups, size=5, seed=2)) != ids_of(one)


def test_the_draw_is_the_same_on_every_machine():
    assert ids_of(certify_batch(IDS, size=4, seed=0)) == ["c098", "c195", "c143", "c065"]


def test_groups_without_a_label_come_first():
    groups = [f"g{at // 2}" for at in range(12)]
    labels = {"g0": 1, "g1": 1, "g2": 2}
    few = certify_batch(IDS[:12], groups, size=3, labels=labels)
    assert {int(name[1:]) // 2 for name in ids_of(few)} == {3, 4, 5}
    assert few.again == 0
    more = certify_batch(IDS[:12], groups, size=4, labels=labels)
    assert ids_of(more)[:3] == ids_of(certify_batch(IDS[:12], groups, size=4, labels=labels))[:3]
    assert int(ids_of(more)[3][1:]) // 2 in {0, 1}
    assert more.again == 1
    assert more.picks[3].inclusion_probability == 1 / 4
    everything = certify_batch(IDS[:12], groups, size=99, labels=labels)
    assert (len(everything.picks), everything.asked, everything.again) == (6, 99, 3)


def test_nothing_to_draw_from():
    assert certify_batch([], size=5).picks == ()
    assert improve_batch([], [], [], cutoff=0.5, size=6).picks == ()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"size": 0}, UsageError, "size must be"),
        ({"size": True}, UsageError, "size must be"),
        ({"size": 2, "seed": -1}, UsageError, "seed must be"),
        ({"size": 2, "groups": ["a"]}, ShapeError, "do not fit"),
    ],
)
def test_what_a_certify_batch_refuses(options, error, said):
    with pytest.raises(error, match=said):
        certify_batch(IDS[:2], **options)


def test_ids_must_differ():
    with pytest.raises(UsageError, match="ids must differ"):
        certify_batch(["a", "a"], size=1)


def pool(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(50, 12, n).round(3)
    return [f"c{at:04}" for at in range(n)], scores, 1 / (1 + np.exp((scores - 45) / 6))


def test_an_improve_batch_is_stratified_around_the_cutoff():
    ids, scores, rejects = pool()
    batch = improve_batch(ids, scores, rejects, cutoff=60, size=100, seed=5)
    assert (batch.kind, batch.sampling, len(batch.picks)) == ("improve", "active", 100)
    assert [stratum.above for stratum in batch.strata] == [False] * 5 + [True] * 5
    assert sum(stratum.size for stratum in batch.strata) == 1000
    of = dict(zip(ids, scores, strict=True))
    for at, stratum in enumerate(batch.strata):
        inside = [pick for pick in batch.picks if pick.stratum == at]
        assert len(inside) == stratum.drawn >= 3
        assert all(stratum.low <= of[pick.id] <= stratum.high for pick in inside)
        assert {pick.inclusion_probability for pick in inside} == {stratum.drawn / stratum.size}
        assert (stratum.low >= 60) == stratum.above
    assert len(set(ids_of(batch))) == 100


def test_labels_go_where_they_say_more():
    """With rejects rare above the cutoff, a label there is worth many below it."""
    ids, scores, rejects = pool()
    batch = improve_batch(ids, scores, rejects, cutoff=60, size=200)
    above = sum(s.drawn for s in batch.strata if s.above) / sum(
        s.size for s in batch.strata if s.above
    )
    below = sum(s.drawn for s in batch.strata if not s.above) / sum(
        s.size for s in batch.strata if not s.above
    )
    assert above > 2 * below


def test_within_a_stratum_every_case_is_as_likely():
    ids, scores, rejects = pool(24)
    seen, chance = Counter(), {}
    for seed in range(1500):
        batch = improve_batch(ids, scores, rejects, cutoff=50, size=8, seed=seed)
        seen.update(ids_of(batch))
        chance.update({pick.id: pick.inclusion_probability for pick in batch.picks})
    assert set(seen) == set(ids)
    for name, count in seen.items():
        p = chance[name]
        assert abs(count / 1500 - p) <= 4 * np.sqrt(p * (1 - p) / 1500) + 1e-12


def test_scores_that_tie_stay_in_one_stratum_and_rounding_decides_their_side():
    scores = np.repeat([0.1, 0.4999999, 0.9], 20)
    batch = improve_batch(IDS[:60], scores, np.full(60, 0.5), cutoff=0.5, size=30)
    assert [(s.low, s.size, s.above) for s in batch.strata] == [
        (0.1, 20, False), (0.5, 20, True), (0.9, 20, True)
    ]  # fmt: skip


def test_all_scores_on_one_side():
    for cutoff, above in ((0, True), (99, False)):
        batch = improve_batch(
            IDS[:40], np.arange(40.0) + 1, np.full(40, 0.3), cutoff=cutoff, size=20
        )
        assert [s.above for s in batch.strata] == [above] * 3
        assert len(batch.picks) == 20


def test_a_small_batch_makes_fewer_strata():
    ids, scores, rejects = pool(100)
    batch = improve_batch(ids, scores, rejects, cutoff=50, size=7)
    assert [s.drawn for s in batch.strata] in ([3, 4], [4, 3])


def test_an_improve_batch_takes_all_there_is():
    ids, scores, rejects = pool(20)
    batch = improve_batch(ids, scores, rejects, cutoff=50, size=50)
    assert sorted(ids_of(batch)) == sorted(ids)
    assert {pick.inclusion_probability for pick in batch.picks} == {1.0}


def test_an_improve_batch_does_not_depend_on_the_order_of_cases():
    ids, scores, rejects = pool(300)
    order = np.random.default_rng(1).permutation(300)
    one = improve_batch(ids, scores, rejects, cutoff=55, size=40)
    other = improve_batch(
        [ids[at] for at in order], scores[order], rejects[order], cutoff=55, size=40
    )
    assert one == other


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"size": 5}, UsageError, "at least 6"),
        ({"rejects": [0.5, 1.5]}, UsageError, "from 0 to 1"),
        ({"rejects": [0.5, float("nan")]}, UsageError, "from 0 to 1"),
        ({"scores": [1.0]}, ShapeError, "do not fit"),
        ({"rejects": [0.5]}, ShapeError, "do not fit"),
        ({"scores": [1.0, float("nan")]}, DataError, "finite"),
    ],
)
def test_what_an_improve_batch_refuses(change, error, said):
    options = {"scores": [1.0, 2.0], "rejects": [0.5, 0.5], "size": 6, **change}
    with pytest.raises(error, match=said):
        improve_batch(["a", "b"], cutoff=1.5, **options)


@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=10),
    total=st.integers(0, 600),
    least=st.integers(0, 4),
    data=st.data(),
)
def test_an_allocation_adds_up_within_its_bounds(sizes, total, least, data):
    worths = data.draw(
        st.lists(
            st.one_of(st.just(0.0), st.floats(1e-9, 1)), min_size=len(sizes), max_size=len(sizes)
        )
    )
    sizes = np.array(sizes)
    found = allocation(sizes, np.array(worths), total, least)
    low = np.minimum(sizes, least)
    assert found.sum() == min(max(total, low.sum()), sizes.sum())
    assert np.all((found >= low) & (found <= sizes))


def test_an_allocation_is_in_proportion():
    sizes = np.array([1000, 1000, 1000])
    assert allocation(sizes, np.array([1.0, 2.0, 1.0]), 40, 3).tolist() == [10, 20, 10]
    assert allocation(sizes, np.array([0.0, 2.0, 1.0]), 33, 3).tolist() == [3, 20, 10]
    assert allocation(np.array([1000, 5, 1000]), np.array([1.0, 2.0, 1.0]), 45, 3).tolist() == [
        20,
        5,
        20,
    ]
    assert allocation(sizes, np.zeros(3), 30, 3).tolist() == [10, 10, 10]


def test_worth_is_neyman_times_the_slope_of_the_rate():
    sizes, above, shares = np.array([60, 40]), np.array([False, True]), np.array([0.5, 0.1])
    a, b = 0.4 * 0.1, 0.6 * 0.5
    rate = a / (a + b)
    want = [0.6 * rate * 0.5, 0.4 * (1 - rate) * 0.3]
    assert worth(sizes, above, shares) == pytest.approx(want)


def test_bounds_hold_about_as_many_scores_each():
    assert bounds_of(np.arange(100.0), 60, 5) == [0, 12, 24, 36, 48, 60, 68, 76, 84, 92, 100]
    assert bounds_of(np.zeros(9), 1, 5) == [0, 9]


def test_expected_rejects_follow_the_labels():
    rng = np.random.default_rng(2)
    seen = np.concatenate((rng.normal(0, 1, 300), rng.normal(2, 1, 300)))
    labels = np.repeat([False, True], 300)
    found = expected_rejects([-2.0, 1.0, 4.0], seen, labels)
    assert found[0] > 0.95
    assert found[1] == pytest.approx(0.5, abs=0.08)
    assert found[2] < 0.05


@pytest.mark.parametrize(
    ("labels", "share"),
    [([], 0.5), ([True, True, True], 1 / 8), ([False], 3 / 4), ([False, True], 1 / 2)],
    ids=["none", "accepts", "reject", "falling"],
)
def test_where_no_curve_rises_the_share_is_expected(labels, share):
    """Scores that fall with acceptance say nothing of where rejects are."""
    seen = [float(-at) for at in range(len(labels))]
    assert expected_rejects([0.0, 9.0], seen, labels) == pytest.approx([share, share])


# What a file holds of labels.


def case(at, label=None, question=None, response=None, **metadata):
    return Case(
        id=f"c{at}",
        input=question if question is not None else f"Question {at}?",
        response=response if response is not None else f"Answer {at}.",
        label=label,
        metadata=metadata,
        place=f"f:{at}",
    )


A, R = Label.ACCEPT, Label.REJECT


def test_stock_counts_items_and_says_what_does_not_count():
    cases = [
        case(1, A),
        case(2, R, sampling="random"),
        case(3, R, sampling="active"),
        case(4),
        case(5, A, question="Question 1?", response="Answer 1."),  # again, and it agrees
        case(6, R, question="Same?", response="Same."),
        case(7, A, question="Same?", response="Same."),  # again, and it does not
        case(8, question="Question 2?", response="Answer 2."),  # labelled elsewhere
    ]
    stock, left = take_stock(cases)
    assert (stock.rows, stock.repeated, stock.conflicts, stock.active, stock.unlabelled) == (
        8,
        3,
        1,
        1,
        1,
    )
    assert (stock.have.accepts, stock.have.rejects, stock.have.reject_groups) == (1, 1, None)
    assert stock.grouped_by == "question"
    assert left.unlabelled == ("c4",)
    # What was picked by score has not been drawn at random: without it the rest is no sample.
    assert left.undrawn == ("c3", "c4")
    assert left.groups is None


def test_a_label_at_random_outweighs_one_by_score():
    cases = [
        case(1, R, sampling="active"),
        case(2, R, question="Question 1?", response="Answer 1.", sampling="random"),
    ]
    stock, left = take_stock(cases)
    assert (stock.have.rejects, stock.active, left.undrawn) == (1, 0, ())


def test_groups_of_the_stock():
    cases = [
        case(at, label, question=f"Q{at // 3}")
        for at, label in enumerate([R, R, A, R, None, None, A])
    ]
    stock, left = take_stock(cases)
    assert (stock.have.rejects, stock.have.reject_groups, stock.have.accept_groups) == (3, 2, 2)
    assert (stock.groups, left.labels) == (3, {"q:q0": 3, "q:q1": 1, "q:q2": 1})
    assert left.groups == ("q:q1", "q:q1")


def test_a_field_to_group_by():
    cases = [case(at, R, bot={"run": at % 2}) for at in range(6)]
    stock, _ = take_stock(cases, "bot.run")
    assert (stock.have.reject_groups, stock.grouped_by) == (2, "bot.run")
    with pytest.raises(UsageError, match=r"f:0: no 'bot\.name' to group by"):
        take_stock(cases, "bot.name")


def test_what_makes_a_group_when_nobody_says():
    assert group_of(Case(id="a", group="g", input="Q"))[0] == "g:g"
    assert (
        group_of(Case(id="a", input=" What\tis IT? "))[0]
        == group_of(Case(id="b", input="what is it?"))[0]
    )
    assert (
        group_of(Case(id="a", references=("", "Paris")))[0]
        == group_of(Case(id="b", references=("paris",)))[0]
    )
    assert group_of(Case(id="a"))[0] != group_of(Case(id="b"))[0]


def test_an_item_is_its_texts():
    one = Case(id="a", input="Q", response="A\r\n", references=("R",), label=A, tags=("x",))
    assert item_of(one) == item_of(Case(id="b", input="Q", response="A\n", references=("R",)))
    assert item_of(one) != item_of(Case(id="b", input="Q", response="A\n", references=("R", "S")))
