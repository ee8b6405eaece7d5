"""Guards beside a cutoff: what they hold back, what they leave alone, and where that is said."""

import json

import msgspec
import pytest

from closecall import Case, evaluate
from closecall.cli import run as command_line
from closecall.errors import UsageError
from closecall.metrics.guards import GUARDS
from closecall.metrics.guards.policy import DEFAULT_POLICY, GuardPolicy, guard_policy
from closecall.records import Label, Measured, State, Unmeasured
from closecall.report.overview import overview
from closecall.runs.reader import open_run
from closecall.runs.stored import load_run
from closecall.testing import HashEmbedder

REFERENCE = "The trial lasts 30 days and can be cancelled."
RIGHT = Case(id="right", references=(REFERENCE,), response=REFERENCE, label=Label.ACCEPT)
NUMBER = Case(
    id="number",
    references=(REFERENCE,),
    response="The trial lasts 60 days and can be cancelled.",
    label=Label.REJECT,
)
NEGATED = Case(
    id="negated",
    references=(REFERENCE,),
    response="The trial lasts 30 days and can not be cancelled.",
    label=Label.REJECT,
)
FAR = Case(id="far", references=(REFERENCE,), response="Bananas.", label=Label.REJECT)
CASES = [RIGHT, NUMBER, NEGATED, FAR]


def scored(cases=CASES, metrics="embed_answer_similarity", **more):
    return evaluate(cases, metrics, HashEmbedder(), cache=False, **more)


def states(run):
    return {row.case.id: row.results[0].state.value for row in run}


def test_a_changed_number_and_an_inserted_not_are_never_a_silent_pass():
    run = scored()
    assert states(run) == {
        "right": "passed",
        "number": "inconclusive",
        "negated": "inconclusive",
        "far": "failed",
    }
    result = list(run)[1].results[0]
    assert result.held == ("numbers",)
    assert result.reason.startswith("held back by a guard, numbers: ")
    assert '"60 days"' in result.reason
    assert "high similarity" in result.reason  # what the cutoff alone said stays in sight
    finding = result.measurement.details["heldBack"]["numbers"]
    (start, end), *_ = finding["spansResponse"]
    assert NUMBER.response[start:end] == "60 days"
    assert run.exit_code == 1


def test_what_is_left_unsure_keeps_the_exit_code_from_being_0():
    assert scored([RIGHT]).exit_code == 0
    assert scored([RIGHT, NUMBER]).exit_code == 11
    assert scored([RIGHT, NUMBER], guards="off").exit_code == 0
    assert scored([RIGHT, NUMBER], guards="reject").exit_code == 1


@pytest.mark.parametrize(
    ("policy", "number", "negated"),
    [
        ("unsure", "inconclusive", "inconclusive"),
        ("reject", "failed", "failed"),
        ("off", "passed", "passed"),
        ("numbers=reject", "failed", "inconclusive"),
        ("numbers=off, negation=reject", "passed", "failed"),
        ({"negation": "off"}, "inconclusive", "passed"),
        (GuardPolicy({"negation": "unsure"}), "passed", "inconclusive"),
    ],
)
def test_each_guard_does_what_its_policy_says(policy, number, negated):
    found = states(scored(guards=policy))
    assert (found["number"], found["negated"]) == (number, negated)
    assert found["right"] == "passed"
    assert found["far"] == "failed"


def test_the_strictest_guard_that_differs_decides():
    both = Case(
        id="both",
        references=(REFERENCE,),
        response="The trial lasts 60 days and can not be cancelled.",
    )
    run = scored([both], guards="negation=reject")
    result = next(iter(run)).results[0]
    assert (result.state, result.held) == (State.FAILED, ("numbers", "negation"))


@pytest.mark.parametrize(
    "wrong",
    ["maybe", "numbers", "numbers=perhaps", "prices=reject", "", {"numbers": "no"}],
)
def test_a_policy_that_there_is_not_is_refused_with_what_there_is(wrong):
    with pytest.raises(UsageError, match=r"unsure|numbers, negation, names"):
        guard_policy(wrong)


def test_the_default_leaves_everything_unsure():
    assert guard_policy(None) is DEFAULT_POLICY
    assert DEFAULT_POLICY.active == dict.fromkeys(GUARDS, "unsure")


def test_guards_stand_only_beside_cutoffs_on_comparisons_with_references():
    plans = {
        plan.id: plan.guards
        for plan in scored(
            metrics=[
                "embed_answer_similarity",
                "answer_alignment",  # no cutoff, so nothing is accepted
                "embed_response_context",
                "guards",
                "token_f1",
            ]
        ).header.metrics
    }
    assert [name for name, found in plans.items() if found] == [
        "embed_answer_similarity",
        "token_f1",
    ]


def test_the_guards_are_asked_once_a_case_and_only_of_what_passed(monkeypatch):
    asked = []
    check = GuardPolicy.check
    monkeypatch.setattr(
        GuardPolicy, "check", lambda self, case: asked.append(case.id) or check(self, case)
    )
    scored(metrics=["embed_answer_similarity", "token_f1"])
    assert sorted(asked) == ["negated", "number", "right"]


def test_counts_say_what_the_guards_held_back_and_how_often_they_were_right():
    wrong_guard = Case(
        id="word",
        references=("It takes 2 hours in all.",),
        response="It takes 3 hours in all.",
        label=Label.ACCEPT,
    )
    summary = scored([*CASES, wrong_guard]).metrics[0]
    assert (summary.held_back, summary.held_rejects, summary.held_accepts) == (3, 2, 1)
    assert summary.held_by == {"numbers": 2, "negation": 1}
    assert summary.passed + summary.failed + summary.inconclusive == summary.measured == 5
    assert summary.labelled.false_accepts == 0
    assert summary.unsure_rejects == 2
    notes = " ".join(overview(scored([*CASES, wrong_guard])).notes)
    assert "guards held back 3 / 4 (75.0 %) of what the cutoff accepts" in notes
    assert "numbers 2, negation 1" in notes
    assert "2 wrong answers and 1 right answer by label" in notes
    assert "--guards off" in notes
    first, *_ = overview(scored([*CASES, wrong_guard])).held
    assert first.startswith("number (inconclusive): numbers: ")
    assert '"60 days"' in first


def test_a_report_says_what_the_guards_were_even_where_they_held_back_nothing():
    notes = " ".join(overview(scored([RIGHT])).notes)
    assert "guards held back none of 1 accept (unsure where numbers, negation, names" in notes
    assert not overview(scored([RIGHT], guards="off")).notes


def test_a_run_folder_gives_back_what_was_held(tmp_path):
    run = scored(aef=tmp_path / "run", guards="numbers=reject")
    again = load_run(tmp_path / "run")
    assert [row.results for row in again] == [row.results for row in run]
    assert again.metrics == run.metrics
    assert again.header.metrics[0].guards["numbers"] == "reject"
    assert not open_run(tmp_path / "run").verify()
    line = json.loads((tmp_path / "run" / "results.ndjson").read_text().splitlines()[1])
    assert "reject where numbers differ, unsure where" in line["verdictRule"]["expr"]


def test_other_guards_are_another_question(tmp_path):
    base = scored().header
    for policy in ("off", "reject", "numbers=off"):
        other = scored(guards=policy).header
        assert other.definition_digest != base.definition_digest
        assert other.metrics[0].evaluator_version != base.metrics[0].evaluator_version
    assert scored(guards="unsure").header.definition_digest == base.definition_digest


def test_a_guard_that_rejects_is_refused_beside_a_promise_about_false_rejects(tmp_path):
    from closecall import Goal, calibrate

    good = [
        Case(id=f"g{n}", references=(f"word{n} here",), response=f"word{n} here", label="accept")
        for n in range(60)
    ]
    bad = [
        Case(id=f"b{n}", references=(f"word{n} here",), response=f"other{n}", label="reject")
        for n in range(60)
    ]
    embedder = HashEmbedder()
    made = calibrate(
        [msgspec.structs.replace(case, label=Label(case.label)) for case in good + bad],
        "embed_answer_similarity",
        embedder,
        Goal(max_frr=0.1),
        cache=False,
    )
    evaluate(CASES, None, embedder, calibration=made, cache=False)
    with pytest.raises(UsageError, match="promises how few good answers are rejected"):
        evaluate(CASES, None, embedder, calibration=made, cache=False, guards="reject")


def test_the_command_line_takes_a_policy(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"response": case.response, "references": list(case.references), "id": case.id}
        for case in (RIGHT, NUMBER)
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command_line(["eval", "c.jsonl", "--no-aef", "-q"]) == 11
    assert "held back" in " ".join(capsys.readouterr().out.split())
    assert command_line(["eval", "c.jsonl", "--no-aef", "-q", "--guards", "off"]) == 0
    assert command_line(["eval", "c.jsonl", "--no-aef", "-q", "--guards", "numbers=reject"]) == 1
    capsys.readouterr()
    assert command_line(["eval", "c.jsonl", "--no-aef", "-q", "--guards", "loud"]) == 2
    assert "unsure, reject, off" in capsys.readouterr().err
    pair = ["score", REFERENCE, NUMBER.response]
    assert command_line(pair) == 11
    assert command_line([*pair, "--guards", "off"]) == 0
    assert command_line([*pair, "--guards", "reject"]) == 1


class Together:
    """A metric that measures batches; ``broken`` cases raise in both ways of asking."""

    cutoff = None

    def __init__(self, broken=(), short=False):
        from closecall.metrics.base import MetricSpec

        self.spec = MetricSpec(
            id="together",
            name="together",
            version="1",
            needs=("response",),
            default_cutoff=None,
            low=0.0,
            high=1.0,
            description="Lengths.",
        )
        self.broken, self.short, self.batches, self.loads = broken, short, [], 0

    def load(self):
        self.loads += 1

    def texts(self, case):
        return () if case.response else Unmeasured("no response")

    def measure_batch(self, cases, vectors):
        self.batches.append([case.id for case in cases])
        found = [self._one(case) for case in cases]
        return found[1:] if self.short else found

    def measure(self, case, vectors):
        return self._one(case)

    def _one(self, case):
        if case.id in self.broken:
            raise RuntimeError("out of order")
        value = 1 / len(case.response)
        return Measured(similarity=value, value=value, score=None)


def test_a_batch_metric_sees_a_batch_at_once_and_no_case_that_it_cannot_measure():
    metric = Together()
    run = scored([*CASES, Case(id="none")], [metric])
    assert metric.batches == [["right", "number", "negated", "far"]]
    assert metric.loads == 1
    assert states(run)["none"] == "not_measured"
    values = [row.results[0].measurement.value for row in run if row.case.response]
    assert values == [1 / len(case.response) for case in CASES]


@pytest.mark.parametrize("metric", [Together(broken={"number"}), Together(short=True)])
def test_a_batch_that_fails_costs_only_the_case_at_fault_its_number(metric):
    found = states(scored(CASES, [metric]))
    wrong = {"number"} if metric.broken else set()
    assert {name for name, state in found.items() if state == "error"} == wrong
    assert {name for name, state in found.items() if state == "scored"} == set(found) - wrong


def test_guards_that_reach_no_metric_are_refused_and_not_ignored(capsys):
    with pytest.raises(UsageError, match="none of these metrics is one: answer_alignment"):
        scored(metrics="answer_alignment", guards="reject")
    with pytest.raises(UsageError, match="none of these metrics is one"):
        scored(
            [Case(id="c", context=("a b",), response="a b")],
            "embed_response_context",
            guards="unsure",
        )
    assert scored(metrics="answer_alignment").exit_code == 0  # nobody asked for any
    assert command_line(["score", "a", "b", "-m", "answer_alignment", "--guards", "reject"]) == 2
    assert "no guard stands beside answer_alignment" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["numbers=reject,numbers=off", True, 5, ["numbers"]])
def test_a_policy_that_contradicts_itself_or_is_none_is_refused(wrong):
    with pytest.raises(UsageError, match=r"twice|expected one of unsure"):
        guard_policy(wrong)


def test_errors_with_guards_are_not_called_errors_of_the_cutoff_alone():
    lines = overview(scored(guards="reject")).labelled
    assert all("cutoff 70 with guards" in line for line in lines)
    assert all("with guards" not in line for line in overview(scored(guards="off")).labelled)


@pytest.mark.parametrize(
    "text", ["no cats, not 5 dogs", "New And York", "Only 3 of all 12 may not", "7", "no"]
)
def test_a_response_that_is_a_reference_is_never_held_back(text):
    case = Case(id="a", response=text, references=("something else, 99", text))
    assert DEFAULT_POLICY.check(case) is None
