"""The paired randomisation test: against all ways written out, and against chance itself."""

import itertools
import random

import pytest

from closecall.calibration.comparing.paired import mcnemar
from closecall.retrieval.contrasts import Column, contrasts
from closecall.retrieval.estimates import Drawing
from closecall.retrieval.randomisation import randomisation_test


def alone(differences):
    return [f"q{at:04}" for at in range(len(differences))]


def by_hand(sums):
    """Return the p-value by writing out every way to sign the sums."""
    observed = abs(sum(sums))
    ways = list(itertools.product((1, -1), repeat=len(sums)))
    reached = sum(
        abs(sum(s * w for s, w in zip(sums, way, strict=True))) >= observed - 1e-9 for way in ways
    )
    return reached / len(ways)


@pytest.mark.parametrize("seed", range(6))
def test_few_questions_are_counted_out(seed):
    rng = random.Random(seed)
    differences = [round(rng.uniform(-0.3, 0.6), 3) for _ in range(9)] + [0.0] * 5
    found = randomisation_test(differences, alone(differences), seed=0)
    assert found.p == pytest.approx(by_hand(differences[:9]))
    assert (found.method, found.differing, found.draws) == ("exact sign-flip", 9, None)


def test_groups_are_swapped_as_wholes():
    differences = [0.25, 0.25, -0.5, 0.125, 0.5, 0.25]
    groups = ["a", "a", "b", "b", "c", "c"]
    found = randomisation_test(differences, groups, seed=0)
    assert found.p == by_hand([0.5, -0.375, 0.75])
    assert found.differing == 3


def test_hits_are_counted_out_however_many_there_are():
    differences = [1.0] * 60 + [-1.0] * 30 + [0.0] * 500
    found = randomisation_test(differences, alone(differences), seed=0)
    assert found.method == "exact sign-flip"
    assert found.p == pytest.approx(mcnemar(30, 60))


def test_many_questions_are_drawn_and_come_near_the_exact_value():
    differences = [1.0] * 40 + [-1.0] * 22
    exact = randomisation_test(differences, alone(differences), seed=0)
    scaled = [0.37 * one for one in differences]
    found = randomisation_test(scaled, alone(scaled), seed=5)
    assert (found.method, found.draws, found.seed) == ("Monte Carlo sign-flip", 10_000, 5)
    assert found.p == pytest.approx(exact.p, abs=0.01)
    assert found.p == randomisation_test(scaled, alone(scaled), seed=5).p
    assert found.p * 10_001 == pytest.approx(round(found.p * 10_001))


def test_the_p_value_is_never_0():
    differences = [0.3 + at / 1000 for at in range(200)]
    assert randomisation_test(differences, alone(differences), seed=0).p == 1 / 10_001


def test_no_difference_at_all_is_p_1():
    assert randomisation_test([0.0] * 30, alone([0.0] * 30), seed=0).p == 1


def test_of_two_that_are_alike_one_is_named_as_rarely_as_promised():
    rng = random.Random(7)
    named = 0
    for trial in range(200):
        a = {f"q{at}": rng.random() for at in range(40)}
        b = {f"q{at}": rng.random() for at in range(40)}
        (found,) = contrasts(
            Column("a", False, a),
            [Column("b", False, b)],
            {q: q for q in a},
            "map",
            Drawing(resamples=200, seed=trial),
        )
        named += found.verdict != "cannot tell"
    assert named <= 20, "1 in 20 is promised at most: 10 of 200, here with room for chance"
    assert named >= 1


def columns(n, gain):
    a = {f"q{at:03}": 0.5 + gain + (at % 5) / 50 for at in range(n)}
    b = {f"q{at:03}": 0.5 + (at % 3) / 50 for at in range(n)}
    return Column("new", False, a), Column("old", False, b), {q: q for q in a}


def test_better_worse_and_cannot_tell():
    a, b, groups = columns(60, 0.1)
    (better,) = contrasts(a, [b], groups, "map", Drawing())
    assert (better.verdict, better.n) == ("better", 60)
    assert better.why == "new is better than old with n = 60 (p < 0.0001)"
    (worse,) = contrasts(b, [a], groups, "map", Drawing())
    assert worse.verdict == "worse"
    assert worse.difference == pytest.approx(-better.difference)
    few_a, few_b, few = columns(4, 0.1)
    (unsure,) = contrasts(few_a, [few_b], few, "map", Drawing())
    assert unsure.why.startswith("cannot tell with n = 4: the difference may be chance")


def test_more_contrasts_are_held_to_more():
    a, b, groups = columns(60, 0.1)
    alike = Column("alike", True, dict(a.values))
    found = contrasts(a, [b, alike], groups, "map", Drawing())
    assert found[0].adjusted_p == 2 * found[0].p
    assert found[1].adjusted_p == found[1].p == 1
    assert found[1].why == "cannot tell with n = 60: no question comes out differently"
