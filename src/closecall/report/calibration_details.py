"""What is behind a cutoff: its proof, its errors, other limits, the worth of what it accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closecall.calibration.artefact import Calibration, OtherPromise
from closecall.calibration.binomial import fewest_labels
from closecall.calibration.evidence.precision import WrongAmongAccepted, wrong_among_accepted
from closecall.calibration.evidence.probability import probability
from closecall.calibration.figures import at_most, limit, one_in, percent, plain, share_of
from closecall.calibration.head.promise import SIMULATED
from closecall.calibration.records import Certificate, Cutoff, Errors, Optimum, Rate
from closecall.calibration.words import ESTIMATORS, OBJECTIVES
from closecall.report.calibration_terms import (
    CLASS,
    ONE,
    PROMISED,
    backing,
    unit,
    units,
)

_DONE: dict[Errors, str] = {"false_accepts": "accepted", "false_rejects": "rejected"}
_GOT: dict[Errors, str] = {"false_accepts": "got through", "false_rejects": "were turned away"}


def lines(calibration: Calibration) -> Iterator[str]:
    """Yield a statement a line; lines that begin with two spaces belong above."""
    yield from _evidence(calibration)
    yield from _counts(calibration)
    yield from _others(calibration)
    yield from _held_out(calibration)
    yield from _locked(calibration)
    yield from _accepted(calibration)
    yield from _close(calibration)
    yield from _probability(calibration)


def accepted_wrong(made: Calibration) -> WrongAmongAccepted | None:
    """Return how many of the accepted answers are wrong, at the share of good ones stated."""
    cutoff, costs = made.accept_cutoff, made.goal.costs
    counts = cutoff.counts
    base = None if costs is None else costs.base_rate
    if base is None:
        base = counts.accepts / (counts.accepts + counts.rejects)
    found = wrong_among_accepted(cutoff, base) if 0 < base < 1 else None
    return None if found is None or found.share is None else found


def _evidence(made: Calibration) -> Iterator[str]:
    found = made.accept_cutoff.evidence
    if isinstance(found, Optimum):
        name = OBJECTIVES.get(found.objective, f"{found.objective} per answer")
        yield (
            f"Nothing is proved: {name} {found.value:.3g} on the labels that chose the cutoff, "
            f"{ESTIMATORS[found.estimator]}."
        )
        return
    backed = list(backing(made))
    broken = at_most(sum(each.violation_probability or 0.0 for each in backed))
    if found.guarantee == "exact":
        yield (
            f"Proof: this procedure breaks that promise in at most {broken} of calibrations "
            f"({_spent(made, backed)}), if the labels are a random sample of the answers to come."
        )
    elif found.guarantee == "average":
        yield "Backed on average, if the labels are a random sample of the answers to come."
    elif made.approximate:
        yield (
            "Not proved, because the labels that chose the cutoff trained the judge too, though "
            f"none scored itself: aimed at ({_spent(made, backed)}) and not proved. {SIMULATED}"
        )
    else:
        yield (
            f"Not proved, because how alike the answers of one {unit(made)} are is an estimate: "
            f"meant to fail as rarely as an exact guarantee ({_spent(made, backed)})."
        )
    for each in backed:
        yield from _counted(made, each)


def _counted(made: Calibration, each: Certificate) -> Iterator[str]:
    """Say what a promise was counted on."""
    done = f"{'is' if each.observed == 1 else 'are'} {_DONE[each.errors]}"
    seen = f"{each.observed:,} {done} ({each.allowed:,} may be)"
    if each.per == "row":
        worth, found = "", each.clusters
        if found is not None and found.design_effect > 1:
            independent = each.n / found.design_effect
            worth = (
                f" in {found.groups:,} {unit(made)}s, worth {independent:.0f} independent ones,"
            )
        yield f"  Of {each.n:,} {CLASS[each.errors]}{worth} {seen}."
        return
    counts = made.accept_cutoff.counts
    if made.reject_cutoff is not None and each.errors == "false_rejects":
        counts = made.reject_cutoff.counts
    wrong = each.errors == "false_accepts"
    errors, n = (
        (counts.false_accepts, counts.rejects) if wrong else (counts.false_rejects, counts.accepts)
    )
    what = unit(made)
    to = "to" if what == "question" else "of"
    yield (
        f"  It looks at one {ONE[each.errors]} a {what} ({each.n:,} of your {n:,}), because "
        f"answers {to} one {what} are alike; it is about {what}s. Of those {each.n:,}, {seen}. "
        f"Counting every answer, {errors:,} of {n:,} {_GOT[each.errors]}."
    )


def _spent(made: Calibration, backed: list[Certificate]) -> str:
    """Return how often the promises may be broken, and what that is a share of."""
    spent, looks = sum(each.delta or 0.0 for each in backed), made.goal.looks
    shared = f": {at_most(made.goal.delta)} shared among {looks} looks" if looks > 1 else ""
    both = ", half for each promise" if len(backed) > 1 else ""
    return f"{at_most(spent)} was allowed{shared}{both}"


def _counts(made: Calibration) -> Iterator[str]:
    rule = made.rule
    accept, reject = (rule, rule) if isinstance(rule, Cutoff) else (rule.accept, rule.reject)
    yield "On the labels that chose it:"
    yield from _pair(accept.false_accept_rate, reject.false_reject_rate)


def _pair(accepts: Rate | None, rejects: Rate | None) -> Iterator[str]:
    if accepts is not None:
        yield (
            f"  false accepts: {accepts.count:,} of {accepts.n:,} wrong answers = "
            f"{share_of(accepts)}"
        )
    if rejects is not None:
        yield (
            f"  false rejects: {rejects.count:,} of {rejects.n:,} good answers = "
            f"{share_of(rejects)}"
        )


def _others(made: Calibration) -> Iterator[str]:
    if not made.promises:
        return
    goal = made.goal
    errors: Errors = "false_rejects" if goal.max_far is None else "false_accepts"
    yield f"Other limits on {PROMISED[errors]}, from the same labels:"
    lacking = [other for other in made.promises if other.value is None and other.more]
    if lacking:
        needs = ", ".join(f"{limit(other.limit)} {other.more:,}" for other in lacking)
        here = lacking[0].n
        yield f"  {units(made, errors)} still to label, at least: {needs} ({here:,} are there)"
    beyond = [other for other in made.promises if other.value is None and not other.more]
    if beyond:
        named = ", ".join(limit(other.limit) for other in beyond)
        yield f"  out of reach: {named}; scores at that end carry the wrong label too often"
    yield from _reached(made.promises)
    looks = 1 + len(made.promises)
    if goal.guarantee == "average":
        yield "  A limit picked after reading this list is promised nothing, not even on average."
    elif goal.looks < looks:
        yield (
            f"  A limit picked after reading this list is promised only by --looks {looks}, one "
            "for each limit and the cutoff above."
        )


def _reached(others: Sequence[OtherPromise]) -> Iterator[str]:
    for other in others:
        if other.value is None or other.counts is None:
            continue
        counts = other.counts
        yield (
            f"  {limit(other.limit)}: cutoff {plain(other.value)} accepts "
            f"{counts.false_accepts:,} of {counts.rejects:,} wrong answers and rejects "
            f"{counts.false_rejects:,} of {counts.accepts:,} good ones"
        )


def _held_out(made: Calibration) -> Iterator[str]:
    found = made.held_out
    if found is None:
        return
    fits = found.repeats * found.folds
    by = "" if found.groups is None else f" by {unit(made)}"
    how = f"{found.repeats}x{found.folds} cross-validation{by}"
    if found.shown is None:
        short = _short_of(made, found.folds)
        if short:
            yield f"Held out: no fit on four fifths of the labels has enough {short} ({how})."
        else:
            none = f"none of {fits} fits on four fifths of the labels had a cutoff"
            yield f"Held out: {none} ({how})."
        return
    yield f"Held out ({how}, the median of {found.repeats}; approximate intervals):"
    yield from _pair(found.false_accept_rate, found.false_reject_rate)
    if made.approximate:
        yield "  the cutoff chosen anew each time, and the judge not fitted anew"
    moved = [
        f"{min(counts):,} to {max(counts):,} {what}"
        for counts, what in (
            ([each.false_accepts for each in found.counts], "false accepts"),
            ([each.false_rejects for each in found.counts], "false rejects"),
            (found.unsure, f"of {made.data.used:,} left to a person"),
        )
        if min(counts) < max(counts)
    ]
    if moved:
        yield f"  over the {found.repeats} repeats: {', '.join(moved)}"
    if any(found.unsure) and min(found.unsure) == max(found.unsure):
        yield f"  and {found.unsure[0]:,} of {made.data.used:,} left to a person"
    if found.infeasible:
        yield f"  {found.infeasible} of {fits} fits on fewer labels had no cutoff; not counted"


def _short_of(made: Calibration, folds: int) -> str | None:
    """Return the label of which a fit on all folds but one has too few for the promise."""
    for each in backing(made):
        if each.guarantee != "exact" or each.delta is None:
            continue
        # Some fold holds at least its share, so the fit without it has at most the rest.
        if each.n - each.n // folds < fewest_labels(each.limit, each.delta):
            return units(made, each.errors)
    return None


def _locked(made: Calibration) -> Iterator[str]:
    found = made.locked
    if found is None:
        return
    yield f"Tested on {found.n:,} labels set aside, which had no part in choosing the cutoff:"
    yield from _pair(found.false_accept_rate, found.false_reject_rate)
    if found.unsure:
        yield f"  left to a person: {found.unsure:,} of {found.n:,}"
    if found.uses > 1:
        yield (
            f"  Look number {found.uses} at these labels: a cutoff picked for doing well on them "
            "looks better than it is."
        )


def _accepted(made: Calibration) -> Iterator[str]:
    found = accepted_wrong(made)
    if found is None:
        return
    costs, counts = made.goal.costs, made.accept_cutoff.counts
    n = counts.accepts + counts.rejects
    told = costs is not None and costs.base_rate is not None
    whose = "as you said" if told else f"as {counts.accepts:,} of these {n:,} labels are"
    share = limit(found.base_rate) if told else percent(found.base_rate, n)
    now = one_in(found.share)
    verb = "are" if now.endswith("%") else "is"
    now = "none seen" if now == "0" else f"about {now}"
    yield (
        f"If {share} of your answers are good ({whose}): of the accepted ones {now} {verb} wrong; "
        f"{one_in(found.upper)} with both error rates at the bad end of their intervals."
    )


def _close(made: Calibration) -> Iterator[str]:
    # Two that are one have two bands, and both are the same.
    cutoffs = filter(None, (made.accept_cutoff, made.reject_cutoff))
    for band, cutoff in zip(made.close_calls, cutoffs, strict=False):
        yield (
            f"Close calls: {band.count:,} of {band.n:,} labelled answers score "
            f"{plain(band.low)} to {plain(band.high)}, too near {plain(cutoff.value)} to be sure "
            "of."
        )


def _probability(made: Calibration) -> Iterator[str]:
    if made.probability is None:
        yield "Probability that a person accepts: not told, scores do not rise with acceptance."
        return
    n = made.data.used
    at = float(probability(made.probability, [made.accept_cutoff.value])[0])
    yield (
        f"Of answers that score just the cutoff, a person accepts about {percent(at, 100)} (a "
        f"curve through all {n:,} labels). The cutoff decides, not this."
    )
