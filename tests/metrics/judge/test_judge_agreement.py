"""How far judges agree: against scikit-learn, and an example worked by hand."""

import io
import itertools
import json
import random

import pytest
from judge_fakes import FakeChat, case, verdict

from closecall import evaluate, load_run
from closecall.errors import UsageError
from closecall.metrics.judge.agreement import (
    ALL_THE_SAME,
    COHEN,
    FLEISS,
    MIXED,
    AgreementTally,
    cohen_kappa,
    fleiss_kappa,
    panel_agreement,
)
from closecall.metrics.registry import load_metric
from closecall.records import Measured, Unmeasured
from closecall.report.agreement import agreement_words
from closecall.report.formats import write

# Ten items, fourteen raters, five categories: the usual worked example of Fleiss' kappa, with
# P = 0.378, Pe = 0.213 and kappa = 0.210.
COUNTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def scores(counts):
    return [category for category, count in enumerate(counts, start=1) for _ in range(count)]


def test_the_worked_example_of_fleiss():
    assert round(fleiss_kappa([scores(counts) for counts in COUNTS]), 3) == 0.210


def test_fleiss_by_hand():
    # Of 9 pairs 3 + 1 + 3 agree: P = 7/9. Of 9 scores 5 and 4: Pe = 25/81 + 16/81 = 41/81.
    # (63/81 - 41/81) / (40/81) = 22/40.
    assert fleiss_kappa([[1, 1, 1], [1, 1, 2], [2, 2, 2]]) == 22 / 40


@pytest.mark.parametrize("seed", range(6))
def test_cohen_with_quadratic_weights_is_that_of_scikit_learn(seed):
    from sklearn.metrics import cohen_kappa_score

    rng = random.Random(seed)
    first = [rng.randint(1, 5) for _ in range(40)]
    second = [min(5, max(1, one + rng.randint(-seed, seed))) for one in first]
    oracle = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert cohen_kappa(first, second) == pytest.approx(oracle, abs=1e-12)


def test_agreement_is_no_number_where_chance_would_agree_too():
    assert cohen_kappa([4, 4], [4, 4]) is None
    assert fleiss_kappa([[4, 4, 4]]) is None
    assert cohen_kappa([], []) is None
    assert fleiss_kappa([]) is None
    assert cohen_kappa([1, 5], [1, 5]) == 1.0
    assert cohen_kappa([1, 5], [5, 1]) == -1.0


def test_uneven_scores_are_refused():
    with pytest.raises(UsageError, match="2 scores against 1"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(UsageError, match="same number of scores"):
        fleiss_kappa([[1, 2, 3], [1, 2]])
    with pytest.raises(UsageError, match="at least two"):
        fleiss_kappa([[1], [2]])


def votes(*columns):
    """Return measurements of a panel, one judge a column of scores."""
    chats = [FakeChat([verdict(s) for s in column], f"m{at}") for at, column in enumerate(columns)]
    metric = load_metric("llm_relevance").bound(chats)
    return metric.measure_batch([case(str(at)) for at in range(len(columns[0]))], {})


def test_the_agreement_of_a_run():
    two = panel_agreement([*votes([5, 4, 1, 2], [5, 5, 1, 1]), Unmeasured("no reply")])
    assert (two.method, two.items, two.equal) == (COHEN, 4, 2)
    assert two.raters == ("m0@test", "m1@test")
    assert two.kappa == cohen_kappa([5, 4, 1, 2], [5, 5, 1, 1])
    three = panel_agreement(votes([5, 4], [5, 5], [1, 5]))
    assert (three.method, three.kappa) == (FLEISS, fleiss_kappa([[5, 5, 1], [4, 5, 5]]))


def test_one_judge_has_nobody_to_agree_with():
    assert panel_agreement(votes([5, 4])) is None
    with pytest.raises(UsageError, match="different panels"):
        panel_agreement([*votes([5], [4]), *votes([5], [4], [3])])


@pytest.mark.parametrize("judges", [2, 3, 5])
def test_what_is_added_up_is_what_the_whole_list_gives(judges):
    rng = random.Random(judges)
    rows = [[rng.randint(1, 5) for _ in range(judges)] for _ in range(60)]
    found = panel_agreement(votes(*zip(*rows, strict=True)))
    first, second, *_ = zip(*rows, strict=True)
    assert found.kappa == (cohen_kappa(first, second) if judges == 2 else fleiss_kappa(rows))
    pairs = [one == two for row in rows for one, two in itertools.combinations(row, 2)]
    assert (found.agreed, found.pairs) == (sum(pairs), len(pairs))
    assert (found.items, found.equal) == (60, sum(len(set(row)) == 1 for row in rows))
    assert found.undefined == ""


def test_why_there_is_no_kappa_is_said():
    found = panel_agreement(votes([4, 4], [4, 4]))
    assert (found.kappa, found.agreed, found.pairs) == (None, 2, 2)
    assert found.undefined == ALL_THE_SAME
    tally = AgreementTally()
    for one in (*votes([5], [4]), *votes([5], [4], [3])):
        tally.add(one)
    assert tally.found().kappa is None
    assert tally.found().undefined == MIXED


@pytest.mark.parametrize(
    "told", ["no", [1, 2], [{"judge": "a"}, {}], [{"judge": "a", "score": "5"}] * 2,
             [{"judge": "a", "score": True}] * 2, [{"judge": 1, "score": 2}] * 2],
)  # fmt: skip
def test_votes_that_a_folder_holds_and_nobody_wrote_count_for_nothing(told):
    odd = Measured(similarity=4.0, value=4.0, score=75.0, details={"votes": told})
    assert panel_agreement([odd]) is None


def test_a_run_and_its_folder_tell_how_far_a_panel_agrees(tmp_path):
    panel = [FakeChat(lambda request, at=at: mark(request, at), f"m{at}") for at in range(3)]
    cases = [case(str(at), input=f"question {at}") for at in range(6)]
    run = evaluate(cases, "llm_relevance", judge=panel, cache=False, aef=tmp_path / "run")
    (summary,) = run.metrics
    rows = [[1 + (at + who) % 3 for who in (0, 1, 1)] for at in range(6)]
    assert summary.agreement.kappa == fleiss_kappa(rows)
    assert (summary.agreement.agreed, summary.agreement.pairs) == (6, 18)
    again = load_run(tmp_path / "run")
    assert again.metrics == run.metrics
    kept = json.loads((tmp_path / "run/summary.json").read_bytes())["ext"]["closecall"]
    assert kept["agreement"]["llm_relevance"]["pairs"] == 18
    said = "3 judges (m0@test, m1@test, m2@test) gave the same mark in 6 / 18 (33.3 %) pairs"
    for form in ("table", "markdown", "junit"):
        out = io.StringIO()
        write(again, form, out)
        assert said in " ".join(out.getvalue().replace("&#64;&#8203;", "@").split()), form
    out = io.StringIO()
    write(again, "json", out)
    assert json.loads(out.getvalue())["metrics"][0]["agreement"]["items"] == 6


def mark(request, who):
    """A mark from 1 to 3 that goes round with the question; all but the first are one ahead."""
    at = int(request.messages[-1].content.partition("question ")[2][0])
    return verdict(1 + (at + min(who, 1)) % 3)


def test_samples_of_one_judge_are_told_as_such():
    metric = load_metric("llm_relevance:samples=3").bound(
        FakeChat(lambda request: verdict(5 if request.seed else 4))
    )
    found = panel_agreement(metric.measure_batch([case("a"), case("b")], {}))
    said = agreement_words(found)
    assert said.startswith("3 samples of stub-1@test gave the same mark in 2 / 6 (33.3 %) pairs")
    assert "Fleiss' kappa -0.50" in said
