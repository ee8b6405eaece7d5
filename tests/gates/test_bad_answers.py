"""The test of the test: gates that stop bad answers, and gates that do not."""

import pytest
from given_values import BROKEN, Given, cases_of

from closecall import Case
from closecall.errors import DataError, UsageError
from closecall.gates.bad_answers import Outcome, check_gates
from closecall.gates.bad_cases import HAND_WRITTEN
from closecall.records import Label
from closecall.testing import HashEmbedder

THINGS = ["delivery", "repair", "refund", "exchange", "upgrade", "check", "setup"]
CASES = [
    Case(
        id=f"{n}",
        input=f"How long does the {thing} take?",
        references=(f"The {thing} takes {n + 20} days and is free of charge.",),
        tags=("shop" if n % 2 else "workshop",),
        metadata={"product": "bike" if n < 3 else "lock"},
    )
    for n, thing in enumerate(THINGS)
]


def check(gates, cases=CASES, metrics="token_f1", **options):
    options = {"cache": False, "guards": "off", **options}
    return check_gates(gates, cases, metrics, HashEmbedder(), **options)


def family(found, name):
    return next(one for one in found.families if one.family == name)


def test_a_gate_that_sees_words_only_lets_changed_numbers_through():
    found = check(["pass_rate(token_f1) >= 0.9"])
    numbers, others = family(found, "number"), family(found, "other_answer")
    assert numbers.outcome is Outcome.LET_THROUGH
    assert (numbers.cases, numbers.accepted) == (7, 7)
    assert found.exit_code == 1
    assert numbers.examples[0].before != numbers.examples[0].after
    assert numbers.examples[0].after in numbers.examples[0].response
    assert len(numbers.examples) == 3
    assert others.cases == 7


def test_another_gate_stops_them():
    found = check(["pass_rate(token_f1) >= 0.9", "count(token_f1 > 0.5) <= 3"])
    assert {one.outcome for one in found.families} == {Outcome.STOPPED}
    assert found.exit_code == 0
    assert "count(token_f1 > 0.5) <= 3" in [g.rule for g in family(found, "number").stopped_by]


def test_guards_stop_changed_numbers_before_any_gate_does():
    found = check(["pass_rate(token_f1) >= 0.9"], families=["number"], guards=None)
    (numbers,) = found.families
    assert (numbers.outcome, numbers.accepted) == (Outcome.STOPPED, 0)


def test_each_family_is_a_run_of_its_own():
    # Together a third of the answers fail; of the family that fails none passes.
    found = check(["fail_rate(token_f1) <= 0.5"], families=["number", "unit", "other_answer"],
                  cutoffs={"token_f1": 0.85})  # fmt: skip
    assert family(found, "number").outcome is Outcome.LET_THROUGH
    assert family(found, "other_answer").outcome is Outcome.STOPPED
    assert found.together.outcome is Outcome.LET_THROUGH
    assert found.together.cases == sum(one.cases for one in found.families)


def test_tags_and_metadata_of_the_cases_stay():
    found = check(
        ["pass_rate(token_f1 where tag = shop) >= 0.9",
         "pass_rate(token_f1 where slice.product = bike) >= 0.9"], families=["number"],
    )  # fmt: skip
    assert [one.asked for one in found.families[0].results] == [3, 3]


def test_a_gate_that_asks_nothing_of_the_bad_answers_stops_none():
    found = check(
        ["false_reject_rate(token_f1) <= 0.1", "pass_rate(token_f1 where tag = bank) >= 0.9",
         "pass_rate(token_f1) >= 0.9"], families=["number"],
    )  # fmt: skip
    assert [one.asked for one in found.families[0].results] == [0, 0, 7]
    assert found.families[0].outcome is Outcome.LET_THROUGH


def bad_cases(values, families=None):
    made = cases_of(
        values, metadata=None if families is None else [{"family": f} for f in families]
    )
    return [*made]


def test_answers_written_by_hand():
    found = check_gates(
        ["mean(given) >= 3"], None, Given(), HashEmbedder(), cache=False,
        bad=bad_cases([5, 1, 4, 2], ["polite", "rude"]),
    )  # fmt: skip
    assert [(one.family, one.outcome) for one in found.families] == [
        ("polite", Outcome.LET_THROUGH), ("rude", Outcome.STOPPED),
    ]  # fmt: skip
    assert (found.exit_code, found.seed) == (1, None)
    plain = check_gates(["mean(given) >= 3"], None, Given(), HashEmbedder(), cache=False,
                        bad=bad_cases([1, 2]))  # fmt: skip
    assert [one.family for one in plain.families] == [HAND_WRITTEN]
    assert plain.exit_code == 0


def test_both_kinds_together_have_ids_of_their_own():
    own = [Case(id="1~number~1", input="q", response="21 days", references=("20 days",))]
    found = check(["pass_rate(token_f1) >= 0.9"], bad=own, families=["number"])
    assert {one.family for one in found.families} == {HAND_WRITTEN, "number"}
    assert found.together.cases == 8


def test_bad_answers_count_as_wrong_without_a_label():
    found = check_gates(["false_accept_rate(given) <= 0.1"], None, Given(), HashEmbedder(),
                        cache=False, bad=bad_cases([4, 4]))  # fmt: skip
    assert found.families[0].results[0].asked == 2
    assert found.exit_code == 0
    good = [Case(id="a", response="4", label=Label.ACCEPT)]
    with pytest.raises(DataError, match="labelled accept, among answers that are known to be bad"):
        check_gates(["mean(given) >= 3"], None, Given(), HashEmbedder(), bad=good, cache=False)


def test_an_answer_that_was_not_measured_is_no_test():
    found = check_gates(["measured(given) == asked"], None, Given(), HashEmbedder(), cache=False,
                        bad=bad_cases([BROKEN, 4]))  # fmt: skip
    assert found.families[0].outcome is Outcome.STOPPED
    assert found.families[0].unmeasured == 1
    assert found.exit_code == 11


def test_cannot_tell_is_neither_stopped_nor_let_through():
    found = check_gates(["surely pass_rate(given) >= 0.5"], None, Given(), HashEmbedder(),
                        cache=False, bad=bad_cases([4, 2]))  # fmt: skip
    assert found.families[0].outcome is Outcome.OPEN
    assert found.exit_code == 11


@pytest.mark.parametrize(
    ("gates", "options", "words"),
    [
        ([], {}, "there are no gates to check"),
        (["all(token_f1)"], {"cases": None}, "give cases"),
        (["all(token_f1)"], {"families": ["politeness"]}, "no family of wrong answers"),
        (["all(rouge_l)"], {}, "the run has no metric 'rouge_l'"),
    ],
)
def test_what_is_refused(gates, options, words):
    with pytest.raises(UsageError, match=words):
        check(gates, **options)
