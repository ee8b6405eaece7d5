"""Estimates from weighted labels, against every sample that could have been drawn.

Populations of at most six cases: each design is written out sample by sample with its probability,
so that an expectation is a sum and "unbiased" is an equality.
"""

from itertools import combinations, permutations, product
from math import comb, prod

import numpy as np
import pytest

from closecall.calibration.labels.label_estimates import (
    StratumLabels,
    hajek,
    horvitz_thompson,
    lure,
    lure_weights,
    ppi_mean,
    stratified_false_accept_rate,
    stratified_share,
)
from closecall.calibration.labels.labelling import improve_batch
from closecall.errors import DataError, ShapeError, UsageError

VALUES = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
REAL = np.array([0.3, -1.2, 4.0, 0.05, 2.5, -0.7])
WEIGHTS = np.array([0.30, 0.05, 0.20, 0.25, 0.08, 0.12])
POPULATIONS = [VALUES, REAL, VALUES[:4], REAL[:5]]
exactly = pytest.approx


def sequences(n, size, weights):
    """Yield (order, probabilities at each draw, probability) of drawing without replacement."""
    for order in permutations(range(n), size):
        left, chances = np.array(weights[:n]), []
        for at in order:
            chances.append(left[at] / left.sum())
            left[at] = 0.0
        yield list(order), np.array(chances), prod(chances)


def design(n, size, weights=WEIGHTS):
    """Return [(sample, probability)] and the inclusion probability of each case."""
    chances = {}
    for order, _, chance in sequences(n, size, weights):
        key = tuple(sorted(order))
        chances[key] = chances.get(key, 0.0) + chance
    inclusion = [sum(p for key, p in chances.items() if at in key) for at in range(n)]
    return [(list(key), p) for key, p in chances.items()], np.array(inclusion)


@pytest.mark.parametrize("y", POPULATIONS, ids=lambda y: f"{len(y)}-{y[0]}")
@pytest.mark.parametrize("size", [1, 2, 3])
def test_horvitz_thompson_is_unbiased_under_unequal_chances(y, size):
    samples, inclusion = design(len(y), size)
    found = sum(p * horvitz_thompson(y[s], inclusion[s], len(y)).value for s, p in samples)
    assert found == exactly(y.mean())
    # And not by luck: equal weights are biased here.
    assert abs(sum(p * y[s].mean() for s, p in samples) - y.mean()) > 0.01


def test_horvitz_thompson_with_a_random_number_of_labels():
    """Each case labelled or not by a coin of its own, and none at all in one sample of many."""
    total = 0.0
    for taken in product([False, True], repeat=6):
        mask = np.array(taken)
        p = prod(np.where(mask, WEIGHTS, 1 - WEIGHTS))
        total += p * horvitz_thompson(VALUES[mask], WEIGHTS[mask], 6).value
    assert total == exactly(VALUES.mean())


@pytest.mark.parametrize("y", POPULATIONS, ids=lambda y: f"{len(y)}-{y[0]}")
def test_hajek_is_a_mean_of_labels_when_chances_are_equal_so_unbiased(y):
    n = len(y)
    samples = [list(s) for s in combinations(range(n), 3)]
    found = [hajek(y[s], np.full(3, 3 / n)).value for s in samples]
    assert found == exactly([y[s].mean() for s in samples])
    assert np.mean(found) == exactly(y.mean())
    # Its variance is estimated without bias: (1 - n/N) s^2 / n, over all samples.
    squared = [hajek(y[s], np.full(3, 3 / n)).standard_error ** 2 for s in samples]
    assert np.mean(squared) == exactly(np.var(found))


def test_hajek_is_biased_little_and_exact_where_it_must_be():
    samples, inclusion = design(6, 3)
    found = sum(p * hajek(VALUES[s], inclusion[s]).value for s, p in samples)
    naive = sum(p * VALUES[s].mean() for s, p in samples)
    assert abs(found - VALUES.mean()) < 0.5 * abs(naive - VALUES.mean())
    assert all(hajek(np.full(3, 0.7), inclusion[s]).value == exactly(0.7) for s, _ in samples)
    assert all(0 <= hajek(VALUES[s], inclusion[s]).value <= 1 for s, _ in samples)
    whole = hajek(REAL, np.ones(6))
    assert (whole.value, whole.standard_error) == (exactly(REAL.mean()), 0.0)


def test_a_false_accept_rate_by_hajek():
    """Rejects 0, 2, 3, of which 2 and 3 are accepted: their weights are 4, 2 and 1."""
    accepted = np.array([False, True, True, True])
    reject = np.array([True, False, True, True])
    chance = np.array([0.25, 0.5, 0.5, 1.0])
    assert hajek(accepted[reject], chance[reject]).value == exactly(3 / 7)


STRATA = ((VALUES[:3], 2, True), (VALUES[3:], 2, False))


def stratified_samples(strata):
    """Yield the labels of every stratified sample, all equally likely."""
    for chosen in product(*(combinations(range(len(y)), drawn) for y, drawn, _ in strata)):
        yield [
            StratumLabels(size=len(y), drawn=drawn, rejects=int(y[list(s)].sum()), above=above)
            for (y, drawn, above), s in zip(strata, chosen, strict=True)
        ]


@pytest.mark.parametrize("drawn", [(1, 1), (2, 1), (1, 3), (2, 2)])
def test_a_stratified_share_is_unbiased(drawn):
    strata = [(y, size, above) for (y, _, above), size in zip(STRATA, drawn, strict=True)]
    found = [stratified_share(labels).value for labels in stratified_samples(strata)]
    assert np.mean(found) == exactly(VALUES.mean())


def test_the_parts_of_the_stratified_rate_are_unbiased_and_their_ratio_is_the_rate():
    samples = list(stratified_samples(STRATA))
    for above, share in ((True, VALUES[:3].sum() / 6), (False, VALUES[3:].sum() / 6)):
        silent = [
            [s if s.above == above else StratumLabels(size=s.size, drawn=s.drawn, rejects=0, above=s.above) for s in labels]
            for labels in samples
        ]  # fmt: skip
        assert np.mean([stratified_share(labels).value for labels in silent]) == exactly(share)
    for labels in samples:
        a, b = (labels[at].rejects / labels[at].drawn * 3 / 6 for at in (0, 1))
        assert stratified_false_accept_rate(labels).value == exactly(a / (a + b))


def test_a_census_of_strata_knows():
    strata = [(y, len(y), above) for y, _, above in STRATA]
    (labels,) = stratified_samples(strata)
    found = stratified_false_accept_rate(labels)
    assert (found.value, found.standard_error, found.n) == (exactly(1 / 3), 0.0, 6)
    assert stratified_share(labels).standard_error == 0.0


def test_the_stratified_error_by_hand():
    labels = [
        StratumLabels(size=100, drawn=10, rejects=2, above=True),
        StratumLabels(size=300, drawn=20, rejects=10, above=False),
    ]
    found = stratified_false_accept_rate(labels)
    a, b = 0.25 * 0.2, 0.75 * 0.5
    far = a / (a + b)
    pa, pb = 2.5 / 11, 10.5 / 21
    va = 0.25**2 * pa * (1 - pa) / 10 * 0.9
    vb = 0.75**2 * pb * (1 - pb) / 20 * (1 - 20 / 300)
    want = np.sqrt(((1 - far) * np.sqrt(va)) ** 2 + (far * np.sqrt(vb)) ** 2) / (a + b)
    assert (found.value, found.standard_error) == (exactly(far), exactly(want))


def test_no_reject_no_rate():
    labels = [StratumLabels(size=9, drawn=3, rejects=0, above=True)]
    assert stratified_false_accept_rate(labels) is None
    assert stratified_share(labels).standard_error > 0


@pytest.mark.parametrize("trust", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("rest", ["others", "all"])
@pytest.mark.parametrize("y", POPULATIONS, ids=lambda y: f"{len(y)}-{y[0]}")
def test_ppi_is_unbiased_for_any_model_and_any_fixed_trust(y, rest, trust):
    n, model = len(y), np.array([0.9, 0.2, 0.8, 0.1, 0.4, 0.6])[: len(y)]
    found = []
    for chosen in combinations(range(n), 2):
        s = list(chosen)
        others = [at for at in range(n) if at not in s] if rest == "others" else list(range(n))
        found.append(ppi_mean(y[s], model[s], model[others], trust=trust).value)
    assert np.mean(found) == exactly(y.mean())


def test_ppi_without_trust_is_the_mean_and_tuned_it_needs_less():
    rng = np.random.default_rng(3)
    y = rng.random(4000) < 0.3
    model = np.clip(0.3 + 0.5 * (y - 0.3) + rng.normal(0, 0.1, 4000), 0, 1)
    plain, tuned, errors = [], [], []
    for _ in range(300):
        s = rng.choice(4000, 80, replace=False)
        rest = np.delete(model, s)
        plain.append(ppi_mean(y[s], model[s], rest, trust=0).value)
        assert plain[-1] == exactly(y[s].mean())
        found = ppi_mean(y[s], model[s], rest)
        tuned.append(found.value)
        errors.append(found.standard_error)
    assert np.std(tuned) < 0.6 * np.std(plain)
    assert np.mean(errors) == pytest.approx(np.std(tuned), rel=0.15)
    assert abs(np.mean(tuned) - y.mean()) < 4 * np.std(tuned) / np.sqrt(300)


def test_the_trust_is_the_one_of_least_variance():
    """With as many others as labels, noise of the others counts as much as that of the labels."""
    y, model = np.array([1.0, 0.0, 1.0, 0.0, 1.0]), np.array([0.9, 0.3, 0.6, 0.1, 0.7])
    rest = np.array([0.2, 0.8, 0.5, 0.4, 0.9])
    cov = np.mean((y - y.mean()) * (model - model.mean()))
    want = cov / (2 * np.concatenate((model, rest)).var())
    assert 0 < want < 1
    found = ppi_mean(y, model, rest)
    assert found == ppi_mean(y, model, rest, trust=want)
    assert found.value == exactly(want * rest.mean() + np.mean(y - want * model))
    squared = want**2 * rest.var() / 5 + np.var(y - want * model) / 5
    assert found.standard_error == exactly(np.sqrt(squared))


def test_a_model_that_says_nothing_is_not_trusted():
    y = np.array([1.0, 0.0, 1.0, 0.0])
    assert ppi_mean(y, np.full(4, 0.5), np.full(9, 0.5)).method == "PPI++, trust 0.000"
    assert ppi_mean(y, 1 - y, 1 - y).value == 0.5  # one that is upside down neither


@pytest.mark.parametrize("y", POPULATIONS, ids=lambda y: f"{len(y)}-{y[0]}")
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_lure_is_unbiased_for_labels_drawn_one_after_another(y, size):
    n = len(y)
    found = sum(p * lure(y[o], q, n).value for o, q, p in sequences(n, size, WEIGHTS))
    assert found == exactly(y.mean())
    # Its weights add up to the number of labels on average, and exactly for equal chances.
    total = sum(p * lure_weights(q, n).sum() for _, q, p in sequences(n, size, WEIGHTS))
    assert total == exactly(size)
    equal = 1 / (n - np.arange(size))
    assert lure_weights(equal, n) == exactly(np.ones(size))


def test_lure_is_unbiased_when_each_draw_depends_on_the_labels_before():
    """After a 1 the largest weight left is looked for, after a 0 the smallest."""
    total = 0.0
    for order in permutations(range(5), 3):
        left, q, p = list(range(5)), [], 1.0
        for step, at in enumerate(order):
            lean = 1.0 if step == 0 else 3.0 if VALUES[order[step - 1]] else 0.3
            chances = np.array([WEIGHTS[i] ** lean for i in left])
            q.append(chances[left.index(at)] / chances.sum())
            p *= q[-1]
            left.remove(at)
        total += p * lure(VALUES[list(order)], np.array(q), 5).value
    assert total == exactly(VALUES[:5].mean())


def test_lure_of_all_cases_is_their_mean():
    assert lure(REAL, np.array([0.3, 0.1, 0.5, 0.2, 0.9, 1.0]), 6).value == exactly(REAL.mean())


def test_an_improve_batch_estimates_the_rate_that_counting_it_gets_wrong():
    """3600 cases at a cutoff with 10% of rejects above it: the naive count is far off."""
    rng = np.random.default_rng(4)
    reject = rng.random(3600) < 0.3
    scores = np.where(reject, rng.normal(40, 12, 3600), rng.normal(62, 12, 3600))
    cutoff = float(np.quantile(scores[reject], 0.9))
    truth = float((scores[reject] >= cutoff).mean())
    model = 1 / (1 + np.exp((scores - 47) / 6))
    ids = [f"c{at}" for at in range(3600)]
    weighted, naive, covered, tied = [], [], 0, []
    for seed in range(120):
        batch = improve_batch(ids, scores, model, cutoff=cutoff, size=120, seed=seed)
        at = np.array([int(pick.id[1:]) for pick in batch.picks])
        labels = [
            StratumLabels(
                size=stratum.size,
                drawn=stratum.drawn,
                rejects=int(reject[at[[pick.stratum == h for pick in batch.picks]]].sum()),
                above=stratum.above,
            )
            for h, stratum in enumerate(batch.strata)
        ]
        found = stratified_false_accept_rate(labels)
        weighted.append(found.value)
        covered += abs(found.value - truth) <= 1.96 * found.standard_error
        chance = np.array([pick.inclusion_probability for pick in batch.picks])
        rejected = reject[at]
        tied.append(hajek(scores[at][rejected] >= cutoff, chance[rejected]).value - found.value)
        naive.append((scores[at][rejected] >= cutoff).mean())
    assert abs(np.mean(weighted) - truth) < 0.01
    assert np.mean(naive) - truth > 0.15
    assert covered / 120 >= 0.9
    assert np.abs(tied).max() < 1e-12  # the two ways to weigh are one


def test_samples_of_a_known_design_add_up():
    samples, inclusion = design(6, 3)
    assert len(samples) == comb(6, 3)
    assert sum(p for _, p in samples) == exactly(1)
    assert inclusion.sum() == exactly(3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: hajek([], []), DataError, "no labels"),
        (lambda: hajek([1.0], [0.0]), DataError, "above 0"),
        (lambda: hajek([1.0], [1.2]), DataError, "at most 1"),
        (lambda: hajek([1.0, 0.0], [1.0]), ShapeError, "do not fit"),
        (lambda: hajek([[1.0]], [[1.0]]), ShapeError, "must be"),
        (lambda: hajek([float("nan")], [1.0]), DataError, "finite"),
        (lambda: horvitz_thompson([1.0, 1.0], [1.0, 1.0], 1), UsageError, "population"),
        (lambda: horvitz_thompson([], [], 0), UsageError, "population"),
        (lambda: lure([], [], 3), DataError, "no labels"),
        (lambda: lure([1.0], [0.5, 0.5], 3), ShapeError, "do not fit"),
        (lambda: lure_weights([0.5], 0), UsageError, "population"),
        (lambda: ppi_mean([1.0], [1.0], [1.0]), DataError, "at least 2"),
        (lambda: ppi_mean([1.0, 0.0], [1.0], [1.0]), ShapeError, "do not fit"),
        (lambda: ppi_mean([1.0, 0.0], [1.0, 0.0], [1.0], trust=2), UsageError, "trust"),
        (lambda: stratified_share([]), DataError, "no strata"),
        (lambda: StratumLabels(size=3, drawn=4, rejects=1, above=True), UsageError, "no stratum"),
        (lambda: StratumLabels(size=3, drawn=0, rejects=0, above=True), UsageError, "no stratum"),
    ],
    ids=range(17),
)  # fmt: skip
def test_what_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
