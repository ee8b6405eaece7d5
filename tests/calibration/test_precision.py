"""How many of the accepted are wrong: against a count by hand and against every table there is."""

from fractions import Fraction

import pytest
from made_scores import normal_scores

from closecall.calibration import Costs, fit_cutoff
from closecall.calibration.binomial import clopper_pearson, observed_rate
from closecall.calibration.evidence.precision import wrong_among_accepted
from closecall.calibration.groups import clustered_rate
from closecall.calibration.records import Counts, Cutoff, Gap, Optimum
from closecall.errors import UsageError

OPTIMUM = Optimum(
    objective="accuracy", estimator="empirical", value=0.0, best=0.0, plateau=None, tied=1
)


def cutoff(false_accepts, rejects, true_accepts, accepts):
    counts = Counts(
        true_accepts=true_accepts,
        false_rejects=accepts - true_accepts,
        false_accepts=false_accepts,
        true_rejects=rejects - false_accepts,
    )
    return Cutoff(
        value=0.5, gap=Gap(low=None, high=0.5), where="mid", decimals=6, counts=counts,
        false_accept_rate=observed_rate(false_accepts, rejects),
        false_reject_rate=observed_rate(accepts - true_accepts, accepts), evidence=OPTIMUM,
    )  # fmt: skip


def test_by_hand():
    # Of 1000 answers 800 are good: 640 of them are accepted, and 10 of the 200 wrong ones.
    found = wrong_among_accepted(cutoff(5, 100, 80, 100), 0.8)
    assert found.share == pytest.approx(10 / 650)
    assert (found.rejects, found.accepts, found.base_rate, found.level) == (100, 100, 0.8, 0.95)
    far = clopper_pearson(5, 100).high
    tar = 1 - clopper_pearson(20, 100).high
    assert found.upper == pytest.approx(0.2 * far / (0.2 * far + 0.8 * tar))


@pytest.mark.parametrize("base", [0.1, 0.5, 0.9])
def test_against_every_small_table(base):
    good = Fraction(base)
    for rejects in range(1, 6):
        for accepts in range(1, 6):
            for a in range(rejects + 1):
                for b in range(accepts + 1):
                    found = wrong_among_accepted(cutoff(a, rejects, b, accepts), base)
                    wrong, right = (1 - good) * Fraction(a, rejects), good * Fraction(b, accepts)
                    if a == b == 0:
                        assert found.share is None
                    else:
                        assert found.share == pytest.approx(float(wrong / (wrong + right)))
                        assert found.share <= found.upper <= 1


def test_among_the_labels_themselves_it_is_their_own_share():
    scores, labels = normal_scores(120, 200)
    found = fit_cutoff(scores, labels, costs=Costs(false_accept=3, false_reject=1))
    counts = found.counts
    share = wrong_among_accepted(found, 200 / 320).share
    assert share == pytest.approx(
        counts.false_accepts / (counts.false_accepts + counts.true_accepts)
    )


def test_more_good_answers_mean_fewer_wrong_ones_among_the_accepted():
    shares = [
        wrong_among_accepted(cutoff(5, 100, 80, 100), base / 10).share for base in range(1, 10)
    ]
    assert shares == sorted(shares, reverse=True)


def test_rows_of_one_group_widen_the_upper_end():
    scores, labels = normal_scores(120, 120)
    groups = [f"q{at // 4}" for at in range(240)]
    plain = fit_cutoff(scores, labels, max_frr=0.2)
    grouped = fit_cutoff(scores, labels, groups, max_frr=0.2, guarantee="approximate")
    rate = clustered_rate(scores[~labels] >= grouped.value, [at // 4 for at in range(120)])
    assert grouped.false_accept_rate.interval.high == pytest.approx(rate.interval.high)
    found = wrong_among_accepted(grouped, 0.5)
    far = rate.interval.high
    tar = 1 - grouped.false_reject_rate.interval.high
    assert found.upper == pytest.approx(far / (far + tar))
    assert isinstance(plain, Cutoff)


def test_without_a_class_nothing_is_said():
    scores, labels = normal_scores(30, 30)
    found = fit_cutoff(scores, labels, objective="f1")
    from msgspec.structs import replace

    assert wrong_among_accepted(replace(found, false_accept_rate=None), 0.5) is None
    assert wrong_among_accepted(replace(found, false_reject_rate=None), 0.5) is None


@pytest.mark.parametrize("base", [0, 1, -0.1, float("nan")])
def test_a_base_rate_is_a_share(base):
    with pytest.raises(UsageError, match="base_rate"):
        wrong_among_accepted(cutoff(5, 100, 80, 100), base)
