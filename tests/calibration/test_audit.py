"""The list of labels to look at again: which, in what order, and how many there are in all."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from made_scores import by_hand, split, tied_rows

from closecall.calibration import fit_cutoff, fit_two_cutoffs
from closecall.calibration.curve import curve_of
from closecall.calibration.cutoffs import certify, cutoff_at
from closecall.calibration.inputs import labelled
from closecall.calibration.labels.audit import Conflict, LabelAudit, label_audit
from closecall.calibration.records import TwoCutoffs
from closecall.errors import ShapeError, UsageError
from closecall.records import Label

HIGH, LOW, BOTH = "high-scoring reject", "low-scoring accept", "conflicting duplicate"
CLASH = Conflict(ids=("q1", "q7", "q9"), places=("a.csv:2", "", "a.csv:10"), accepts=2, rejects=1)


def names(n):
    return [f"row{at:03}" for at in range(n)], [f"a.csv:{at + 2}" for at in range(n)]


@pytest.fixture
def overlapping():
    """Ten rows from 0.0 to 0.9: rejects 0.7 and 0.8, accepts 0.1, 0.3 and 0.2 are odd."""
    scores = np.arange(10) / 10
    accept = np.isin(np.arange(10), [1, 2, 3, 5, 6, 9])
    data = labelled(scores, accept, decimals=6)
    curve = curve_of(data)
    return data, cutoff_at(curve, curve.row(0.45), "mid", None)


def audit(data, rule, conflicts=(), **options):
    return label_audit(*names(len(data.scores)), data, rule, conflicts, **options)


def test_the_furthest_first_and_rejects_before_accepts(overlapping):
    found = audit(*overlapping)
    assert [(entry.kind, entry.id, entry.score) for entry in found.entries] == [
        (HIGH, "row008", 0.8),
        (HIGH, "row007", 0.7),
        (LOW, "row001", 0.1),
        (LOW, "row002", 0.2),
        (LOW, "row003", 0.3),
    ]
    assert (found.high_rejects, found.low_accepts, found.conflicts) == (2, 3, 0)
    first, second = found.entries[0], found.entries[2]
    assert (first.label, second.label) == (Label.REJECT, Label.ACCEPT)
    assert (first.place, second.place) == ("a.csv:10", "a.csv:3")


def test_conflicts_come_first_and_say_where_all_rows_are(overlapping):
    found = audit(*overlapping, [CLASH])
    first = found.entries[0]
    assert found.conflicts == 1
    assert (first.kind, first.id, first.place) == (BOTH, "q1", "a.csv:2")
    assert (first.score, first.label) == (None, None)
    assert first.note == (
        "labelled accept 2 times and reject once; the same item stands at q7, a.csv:10"
    )
    assert [entry.kind for entry in found.entries[1:]].count(BOTH) == 0


def test_each_kind_is_cut_and_all_are_counted(overlapping):
    found = audit(*overlapping, [CLASH] * 3, most=1)
    assert [entry.kind for entry in found.entries] == [BOTH, HIGH, LOW]
    assert (found.high_rejects, found.low_accepts, found.conflicts) == (2, 3, 3)


@given(tied_rows(most=20))
def test_without_a_limit_every_error_of_the_rule_is_listed_once(rows):
    scores, labels = split(rows)
    data = labelled(scores, labels, decimals=6)
    curve = curve_of(data)
    cutoff = cutoff_at(curve, (len(curve.levels) + 1) // 2, "mid", None)
    found = audit(data, cutoff, most=99)
    counts = by_hand(scores, labels, cutoff.value)
    assert found.high_rejects == counts["false_accepts"]
    assert found.low_accepts == counts["false_rejects"]
    listed = [entry.id for entry in found.entries]
    assert len(set(listed)) == len(listed) == found.high_rejects + found.low_accepts
    high = [entry.score for entry in found.entries if entry.kind == HIGH]
    low = [entry.score for entry in found.entries if entry.kind == LOW]
    assert high == sorted(high, reverse=True)
    assert low == sorted(low)


def test_what_two_cutoffs_leave_to_a_person_is_no_error():
    rng = np.random.default_rng(3)
    scores = np.concatenate((rng.normal(0, 1, 300), rng.normal(1.5, 1, 300)))
    accept = np.repeat([False, True], 300)
    rule = fit_two_cutoffs(scores, accept, max_far=0.05, max_frr=0.05)
    assert isinstance(rule, TwoCutoffs)
    assert rule.abstains
    found = audit(labelled(scores, accept, decimals=6), rule, most=600)
    assert found.high_rejects == rule.accept.counts.false_accepts > 0
    assert found.low_accepts == rule.reject.counts.false_rejects > 0
    assert all(
        entry.score >= rule.accept.value if entry.kind == HIGH else entry.score < rule.reject.value
        for entry in found.entries
    )


def test_equal_scores_come_in_the_order_of_ids():
    data = labelled([0.9] * 4 + [0.1] * 60 + [0.95] * 60, [False] * 64 + [True] * 60, decimals=6)
    rule = certify(curve_of(data), 0.3)
    ids = ["d", "b", "c", "a", *(f"z{at}" for at in range(120))]
    found = label_audit(ids, [""] * 124, data, rule, ())
    assert [entry.id for entry in found.entries] == ["a", "b", "c", "d"]


def test_no_error_no_entry():
    data = labelled(np.arange(120) / 120, np.arange(120) >= 60, decimals=6)
    found = audit(data, fit_cutoff(data.scores, data.accept, max_far=0.05))
    assert found == LabelAudit(entries=(), high_rejects=0, low_accepts=0, conflicts=0)


def test_the_list_outlives_a_file(overlapping):
    found = audit(*overlapping, [CLASH])
    assert msgspec.json.decode(msgspec.json.encode(found), type=LabelAudit) == found


def test_ids_that_do_not_fit(overlapping):
    ids, places = names(9)
    with pytest.raises(ShapeError, match="9 ids and 9 places do not fit 10"):
        label_audit(ids, places, *overlapping, ())


@pytest.mark.parametrize("most", [0, -1, True, 2.0])
def test_a_limit_that_is_none(overlapping, most):
    with pytest.raises(UsageError, match="most must be a whole number of at least 1"):
        audit(*overlapping, most=most)
