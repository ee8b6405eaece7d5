"""A promise holds for a caller who looks often and keeps what he likes, if looks are counted.

28 looks at a growing sample, 6 limits at each: 168 cutoffs, of which the caller takes one. The
worst caller of all knows the truth and takes a broken promise wherever there is one; none does
worse. The same looks uncounted break far more than stated, so the test can see what it is for.
CLOSECALL_LONG=1 runs twenty times as many callers.
"""

import os
from statistics import NormalDist

import numpy as np
import pytest

from closecall.calibration import Cutoff, Infeasible
from closecall.calibration.binomial import most_errors
from closecall.calibration.curve import error_curve
from closecall.calibration.cutoffs import certify, spent_delta
from closecall.calibration.labels.planning import Have, plan

DELTA = 0.05
SIZES = np.arange(60, 620, 20)
LIMITS = (0.03, 0.05, 0.08, 0.1, 0.15, 0.2)
LOOKS = len(SIZES) * len(LIMITS)
CALLERS = 40_000 if os.environ.get("CLOSECALL_LONG") == "1" else 2000
NORMAL = NormalDist()
GAP = 1.8


def slack(callers, p=DELTA):
    return 4 * np.sqrt(p * (1 - p) / callers)


def samples(callers, seed):
    """Rejects N(0, 1), accepts N(1.8, 1): (callers, 600) each, in the order they were labelled."""
    rng = np.random.default_rng(seed)
    shape = (callers, int(SIZES[-1]))
    # Rounded as a calibration rounds them.
    return np.round(rng.normal(size=shape), 6), np.round(rng.normal(GAP, 1, size=shape), 6)


def menu(rejects, delta):
    """Return the cutoffs of all looks, (callers, looks, limits): NaN where none is granted.

    The (k + 1)-th largest reject of those so far; a cutoff just above it accepts k of them.
    """
    found = np.full((len(rejects), len(SIZES), len(LIMITS)), np.nan)
    for look, n in enumerate(SIZES):
        falling = -np.sort(-rejects[:, :n], axis=1)
        for at, limit in enumerate(LIMITS):
            allowed = most_errors(int(n), limit, delta)
            if allowed is not None:
                found[:, look, at] = falling[:, allowed]
    return found


def broken(cutoffs):
    """Return which promises are broken: the true rate above the limit. NaN breaks none."""
    highest = np.array([NORMAL.inv_cdf(1 - limit) for limit in LIMITS])
    return cutoffs < highest


def kept(cutoffs, accepts):
    """Return the share of the accepts so far that each cutoff accepts."""
    found = np.zeros(cutoffs.shape)
    for look, n in enumerate(SIZES):
        for at in range(len(LIMITS)):
            found[:, look, at] = (accepts[:, :n] > cutoffs[:, look, at, None]).mean(axis=1)
    return found


@pytest.fixture(scope="module")
def looked():
    # In parts: a million scores at a time.
    parts = []
    for seed in range(0, CALLERS, 2000):
        rejects, accepts = samples(2000, 1000 + seed)
        cutoffs = menu(rejects, spent_delta(DELTA, LOOKS))
        parts.append((broken(cutoffs), np.isnan(cutoffs), kept(cutoffs, accepts)))
    return tuple(np.concatenate(found) for found in zip(*parts, strict=True))


def first(wanted):
    """Return for each caller the first look and limit that he wants, and whether there is one."""
    flat = wanted.reshape(len(wanted), -1)
    return flat.argmax(axis=1), flat.any(axis=1)


def chosen_broken(bad, wanted):
    at, any_ = first(wanted)
    return bad.reshape(len(bad), -1)[np.arange(len(bad)), at] & any_, any_


def test_the_menu_is_what_the_library_grants():
    rejects, accepts = samples(2, seed=5)
    for looks in (1, LOOKS):
        cutoffs = menu(rejects, spent_delta(DELTA, looks))
        for caller in range(2):
            for look in (0, 5, 27):
                n = SIZES[look]
                curve = error_curve(
                    np.concatenate((rejects[caller, :n], accepts[caller, :n])),
                    np.repeat([False, True], n),
                )
                for at, limit in enumerate(LIMITS):
                    found = certify(curve, limit, DELTA, looks=looks, where="loose")
                    want = cutoffs[caller, look, at]
                    if isinstance(found, Infeasible):
                        assert np.isnan(want)
                    else:
                        assert isinstance(found, Cutoff)
                        assert found.gap.low == want < found.value


def test_a_caller_who_knows_the_truth_breaks_no_more_than_stated(looked):
    bad, _, _ = looked
    assert bad.any(axis=(1, 2)).mean() <= DELTA + slack(CALLERS)


@pytest.mark.parametrize(("wish", "granted"), [(0.4, 0.99), (0.6, 0.99), (0.8, 0.2)])
def test_a_caller_who_stops_at_the_first_look_he_likes(looked, wish, granted):
    """The first cutoff that accepts so many of the accepts, at the smallest limit that does."""
    bad, absent, share = looked
    wrong, some = chosen_broken(bad, (share >= wish) & ~absent)
    assert some.mean() > granted
    assert wrong.mean() <= DELTA + slack(CALLERS)


def test_a_caller_who_takes_the_most_accepting_cutoff_for_its_limit(looked):
    """At each limit the look at which the most is accepted, then the limit that gains most."""
    bad, absent, share = looked
    score = np.where(absent, -1.0, share - share.mean(axis=0))
    wrong, some = chosen_broken(bad, score == score.max(axis=(1, 2), keepdims=True))
    assert some.all()
    assert wrong.mean() <= DELTA + slack(CALLERS)


def test_uncounted_looks_break_more_than_stated():
    """What division by the number of looks is for; also that these callers are hard enough."""
    rejects, accepts = samples(1000, seed=7)
    cutoffs = menu(rejects, DELTA)
    bad = broken(cutoffs)
    assert bad.any(axis=(1, 2)).mean() > 4 * DELTA
    share = kept(cutoffs, accepts)
    score = np.where(np.isnan(cutoffs), -1.0, share - share.mean(axis=0))
    wrong, _ = chosen_broken(bad, score == score.max(axis=(1, 2), keepdims=True))
    assert wrong.mean() > DELTA + slack(1000)


def test_a_plan_counts_looks_as_a_certificate_does():
    for n in (60, 200, 600):
        for limit in LIMITS:
            said = plan(max_far=limit, looks=LOOKS, have=Have(accepts=50, rejects=n)).promises[0]
            assert said.allowed == most_errors(n, limit, spent_delta(DELTA, LOOKS))
