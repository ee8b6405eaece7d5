"""Several runs of all cases: how many pass, how often the runs agree, and which are flaky."""

from itertools import combinations

from closecall.records import State
from closecall.subjects.agreement import MOST_FLAKY, RepeatsTally
from closecall.subjects.repeats import repeated

P, F, N, S = State.PASSED, State.FAILED, State.NOT_MEASURED, State.SCORED


def over(results, threshold=0.8):
    (runs,) = {len(states) for states in results.values()}
    tally = RepeatsTally("m", runs, threshold)
    for name, states in results.items():
        tally.add(states, repeated(name, states, threshold=threshold))
    return tally.repeats()


def counts(rate):
    return None if rate is None else (rate.count, rate.n)


def test_all_cases_together():
    results = {"a": [P, P, P], "b": [P, F, P], "c": [F, F, F], "d": [N, P, N]}
    found = over(results, threshold=0.6)
    assert (found.runs, found.cases, found.needed) == (3, 4, 2)
    assert [(one.id, counts(one.share)) for one in found.flaky] == [("b", (2, 3))]
    assert found.flaky_cases == 1
    assert [counts(one) for one in found.by_run] == [(2, 3), (2, 4), (2, 3)]
    assert counts(found.cases_passed) == (2, 3)
    pairs = [
        (one, other)
        for states in results.values()
        for one, other in combinations([s for s in states if s is not N], 2)
    ]
    assert found.pairs == len(pairs)
    assert found.agreeing == sum(one is other for one, other in pairs)
    assert found.agreement == found.agreeing / len(pairs)


def test_cases_are_counted_by_the_share_they_passed_in_the_highest_first():
    found = over({"a": [P, P, N], "b": [P, P, P], "c": [P, F, P], "d": [P, P, P], "e": [F] * 3})
    assert [(*counts(one.share), one.cases) for one in found.shares] == [
        (3, 3, 2), (2, 2, 1), (2, 3, 1), (0, 3, 1),
    ]  # fmt: skip


def test_nothing_decided_is_no_rate():
    found = over({"a": [N, N, N], "b": [S, S, S]})
    assert found.by_run == (None, None, None)
    assert found.cases_passed is None
    assert found.shares == ()
    assert over({"a": [N, N, N]}).agreement is None


def test_only_the_first_flaky_cases_are_kept_and_all_are_counted():
    found = over({str(i): [P, F, P] for i in range(MOST_FLAKY + 5)})
    assert found.flaky_cases == MOST_FLAKY + 5
    assert [one.id for one in found.flaky] == [str(i) for i in range(MOST_FLAKY)]


def test_a_case_measured_once_is_in_no_other_count():
    tally = RepeatsTally("m", 3, 0.8)
    tally.add_once()
    found = tally.repeats()
    assert (found.once, found.cases, found.pairs) == (1, 0, 0)
