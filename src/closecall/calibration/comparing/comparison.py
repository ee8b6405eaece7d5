"""Which of two is better on the same labelled answers, or that these labels cannot tell.

Two entries. ``compare_decisions`` takes what two rules decided, whatever made them: two cutoffs of
one model, or two models each with its own. ``compare_models`` takes the scores of two models and
calibrates both, for one promise.

Scores of two models are never compared with each other: 0.8 of one is not 0.8 of another. No
function here takes a difference of raw scores or of cutoffs; what is compared is decisions, what
each model accepts at its own cutoff, and order.

The verdict is A, B or "cannot tell", and errs towards the last. Of two that are alike it names
either with probability 1 - level at most (of models about so: their interval is not exact), in one
comparison; whoever compares many models, or again with every few labels, gives it more chances.
"""

from __future__ import annotations

import msgspec
import numpy as np

from closecall.calibration.binomial import complement
from closecall.calibration.comparing.delong import AucDifference, auc_difference
from closecall.calibration.comparing.model_bootstrap import (
    RESAMPLES,
    BootstrapDifference,
    bootstrap_acceptance,
    check_same_rows,
    passed,
    rounded,
)
from closecall.calibration.comparing.outcomes import Decisions, outcomes
from closecall.calibration.comparing.paired import Flips, flips, untested
from closecall.calibration.comparing.verdicts import Pair, Verdict, on_decisions, on_models
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import Bools, Groups, Labelled, Labels, labelled
from closecall.calibration.records import Infeasible
from closecall.errors import ShapeError, UsageError

UNTESTED = "not tested: the cutoffs were chosen on these rejects"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two rules or models, A and B, on the same labelled answers.

    ``false_accepts`` is over the rejects, ``false_rejects`` over the accepts, ``unsure`` over all
    answers. An unsure decision is not an error: it counts among the answers of its class as one
    that was decided neither way, and in ``unsure`` as one left to a person. Each is None where
    there is nothing to count: no answer of the class, nothing unsure, no cutoff (then
    ``decided_differently`` is None as well). ``auc`` and ``acceptance`` are for models, and None
    where they could not be had. ``level`` is the confidence of the verdict and of every interval;
    ``why`` gives the verdict in words.
    """

    a: str
    b: str
    n: int
    accepts: int
    rejects: int
    groups: int | None
    decided_differently: int | None
    false_accepts: Flips | None
    false_rejects: Flips | None
    unsure: Flips | None
    auc: AucDifference | None
    acceptance: BootstrapDifference | None
    level: float
    verdict: Verdict
    why: str


def compare_decisions(
    accept_labels: Labels,
    decisions_a: Decisions,
    decisions_b: Decisions,
    groups: Groups | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    level: float = 0.95,
) -> Comparison:
    """Compare two sets of decisions on the same answers; neither may have been fitted on them.

    Each kind of error is tested by itself (``flips``). One of the two is named when it

    - makes significantly fewer errors of one kind, by Holm's (1979) correction for the kinds, and
    - gives no reason to doubt it on any other kind: a reason is more errors of that kind, with a
      p-value of at most ``DOUBT``, or with all answers that tell the two apart against it (what a
      stricter cutoff does). Then it is a trade, and what an error costs decides.

    Kinds are false accepts, false rejects and, where a decision is unsure, unsure ones. Below ten
    labels of either class there is no verdict.

    Parameters
    ----------
    accept_labels
        (n,): what a person said: bools, ``Label``, or "accept" and "reject".
    decisions_a, decisions_b
        (n,): bools, ``Decision``, or "accept", "reject" and "unsure", in the order of the labels.
    groups
        (n,) texts or whole numbers, where several answers belong to one question.
    names
        What to call the two, in ``why``.
    level
        Confidence of the verdict.

    Raises
    ------
    DataError
        A label, decision or group is malformed, or lengths differ.
    UsageError
        A name or the level is out of range.
    """
    alpha = complement(level)
    rows = accept_labels if isinstance(accept_labels, np.ndarray) else list(accept_labels)
    if np.ndim(rows) != 1 or len(rows) == 0:
        raise ShapeError("labels must be (n,) with n of at least 1")
    # Scores play no part: zeros stand in for them where labels and groups are checked.
    data = labelled(np.zeros(len(rows)), rows, groups, decimals=None)
    pair = _pair(data, names)
    a, b = outcomes(decisions_a, pair.a), outcomes(decisions_b, pair.b)
    for found, name in ((a, pair.a), (b, pair.b)):
        if len(found.accepted) != pair.n:
            raise ShapeError(
                f"{len(found.accepted)} decisions of {name} do not fit {pair.n} labels"
            )
    accept = data.accept
    false_accepts = _of_class(data, ~accept, a.accepted, b.accepted)
    false_rejects = _of_class(data, accept, a.rejected, b.rejected)
    unsure = flips(a.unsure, b.unsure, data.groups) if (a.unsure | b.unsure).any() else None
    kinds = {
        "false accepts": false_accepts,
        "false rejects": false_rejects,
        "unsure answers": unsure,
    }
    verdict, why = on_decisions(
        pair,
        {kind: found for kind, found in kinds.items() if found is not None},
        a.differ(b),
        alpha,
    )
    return Comparison(
        **pair._asdict(),
        decided_differently=a.differ(b),
        false_accepts=false_accepts,
        false_rejects=false_rejects,
        unsure=unsure,
        auc=None,
        acceptance=None,
        level=level,
        verdict=verdict,
        why=why,
    )


def compare_models(
    a: Labelled,
    b: Labelled,
    goal: Goal,
    *,
    names: tuple[str, str] = ("A", "B"),
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two models by what each accepts at its own cutoff for one promise.

    One of the two is named when the interval of the difference in true-accept rates
    (``bootstrap_acceptance``) excludes 0, and the accepts that only one cutoff accepts are no
    even share either (``flips``), which keeps a verdict from resting on a handful of answers. The
    areas under the curve are given and decide nothing: they are about cutoffs nobody would use.

    False accepts are counted, not tested: by the promise, both cutoffs were put where few of
    these very rejects pass.

    Parameters
    ----------
    a, b
        The same answers in the same order, with the scores of each model; none was fitted on
        them.
    goal
        With ``max_far`` alone, guarantee ``exact`` or ``average``.
    names
        What to call the two, in ``why``.
    level
        Confidence of the verdict and the intervals.
    resamples, seed
        For the bootstrap.

    Raises
    ------
    UsageError
        Another goal, or an argument that is out of range.
    DataError
        Labels or groups of the two differ.
    """
    alpha = complement(level)
    check_same_rows(a, b)
    a, b = rounded(a, goal.decimals), rounded(b, goal.decimals)
    pair = _pair(a, names)
    found = bootstrap_acceptance(a, b, goal, resamples=resamples, seed=seed, level=level)
    auc = None
    if pair.accepts and pair.rejects:
        auc = auc_difference(a.scores, b.scores, a.accept, level, groups=a.groups)
    rules = [goal.fit(model) for model in (a, b)]
    false_accepts = false_rejects = None
    differently, at_fault = None, ""
    if isinstance(found, Infeasible):
        both = [name for name, rule in zip(names, rules, strict=True) if rule == found]
        at_fault = " and ".join(both) or pair.b
    else:
        passed_a, passed_b = passed(rules[0], a), passed(rules[1], b)
        differently = int(np.count_nonzero(passed_a != passed_b))
        false_accepts = untested(passed_a[~a.accept], passed_b[~a.accept], UNTESTED)
        false_rejects = _of_class(a, a.accept, ~passed_a, ~passed_b)
    verdict, why = on_models(pair, goal, found, false_rejects, alpha, at_fault=at_fault)
    return Comparison(
        **pair._asdict(),
        decided_differently=differently,
        false_accepts=false_accepts,
        false_rejects=false_rejects,
        unsure=None,
        auc=auc,
        acceptance=None if isinstance(found, Infeasible) else found,
        level=level,
        verdict=verdict,
        why=why,
    )


def _pair(data: Labelled, names: tuple[str, str]) -> Pair:
    a, b = names
    if not (a.strip() and b.strip()) or a == b:
        raise UsageError(f"names must be two different texts, got {a!r} and {b!r}")
    accepts = int(np.count_nonzero(data.accept))
    return Pair(
        a=a,
        b=b,
        n=len(data.accept),
        accepts=accepts,
        rejects=len(data.accept) - accepts,
        groups=None if data.groups is None else len(np.unique(data.groups)),
    )


def _of_class(data: Labelled, chosen: Bools, wrong_a: Bools, wrong_b: Bools) -> Flips | None:
    """Test one kind of error on the answers of its class."""
    groups = None if data.groups is None else data.groups[chosen]
    return flips(wrong_a[chosen], wrong_b[chosen], groups)
