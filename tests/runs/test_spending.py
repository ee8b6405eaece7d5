"""What a run spends is counted as the models report it, and a budget ends it so that it goes on."""

import json
import shutil
from decimal import Decimal
from io import StringIO

import pytest

from closecall import evaluate, load_run, save_report
from closecall.cassettes import open_cassette
from closecall.chat.base import ChatFailure, ChatIdentity, ChatReply, ChatUsage
from closecall.errors import BudgetError, MissingPriceError, RunFolderError
from closecall.report import markdown, table
from closecall.runs.reader import open_run
from closecall.runs.spent_file import SPENT, read_spending
from closecall.subjects.base import Answer
from closecall.subjects.chat import ChatSubject
from closecall.testing import ScriptedChat

CASES = [
    {"id": f"c{n}", "input": f"What is lamp {n}?", "context": "It is lit."} for n in range(20)
]
METRICS = ["llm_relevance", "llm_coherence"]
PRICES = {
    "desk": {"input": 1, "output": 2, "currency": "USD"},
    "marker": {"input": 0.15, "output": 0.60, "currency": "USD"},
}


def chat(model, content, usage):
    """A model whose latency says that it was asked, as a real one's does."""

    def said(request):
        found = usage(request) if callable(usage) else usage
        text = content(request) if callable(content) else content
        if isinstance(text, ChatFailure):
            return text
        return ChatReply(content=text, usage=ChatUsage(*found), latency_ms=12.5)

    return ScriptedChat(said, identity=ChatIdentity(provider="openai", host="h", model=model))


def mark(request):
    question = request.messages[-1].content
    return json.dumps({"thoughts": "t", "reason": "r", "score": 1 + len(question) % 5})


@pytest.fixture
def desk():
    return chat("desk", lambda r: f"So: {r.messages[-1].content}", (10, 5))


@pytest.fixture
def marker():
    return chat("marker", mark, (100, 20))


def run_of(desk, marker, cases=CASES, **options):
    options = {"cache": False, "metrics": METRICS} | options
    tape = options.pop("cassette", None)
    answering = desk if tape is None else tape.chat(lambda: desk, "desk")
    judge = marker if tape is None else tape.chat(lambda: marker, "marker")
    return evaluate(cases, answers=ChatSubject(answering), judge=judge, **options)


def line(run, role):
    return next(one for one in run.spending.spent if one.role == role)


def values(run):
    return {row.case.id: [r.measurement.value for r in row.results] for row in run}


def test_tokens_are_counted_by_role_and_model(desk, marker):
    run = run_of(desk, marker, prices=PRICES)
    subject, judge = run.spending.spent
    assert (subject.role, subject.name, subject.requests) == ("subject", "desk@openai", 20)
    assert (subject.prompt_tokens, subject.completion_tokens) == (200, 100)
    assert (judge.role, judge.name, judge.requests) == ("judge", "marker@openai", 40)
    assert (judge.prompt_tokens, judge.completion_tokens) == (4000, 800)
    assert run.spending.cost(subject).amount == Decimal("0.0004")
    assert run.spending.total.amount == Decimal("0.00148")
    assert len(desk.requests) == subject.requests
    assert len(marker.requests) == judge.requests


def test_every_report_and_the_run_folder_say_the_same(desk, marker, tmp_path):
    run = run_of(desk, marker, prices=PRICES, aef=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert again.spending == run.spending
    assert not open_run(tmp_path / "run").verify()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["ext"]["closecall"]["spending"]["spent"][0]["prompt_tokens"] == 200
    save_report(again, tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["spending"]["tokens"] == 5100
    assert told["spending"]["cost"] == "0.00148"
    assert told["spending"]["byModel"][1]["promptTokens"] == 4000
    own = told["results"][3]["tokens"]
    assert [(one["role"], one["promptTokens"], one["completionTokens"]) for one in own] == [
        ("subject", 10, 5), ("judge", 100, 20), ("judge", 100, 20),
    ]  # fmt: skip
    assert sum(one["promptTokens"] for row in told["results"] for one in row["tokens"]) == 4200
    for report in (table, markdown):
        out = StringIO()
        report.write(again, out)
        said = out.getvalue().replace("&#64;&#8203;", "@")
        assert "marker@openai" in said
        assert "4,000" in said
        assert "0.0015 USD" in said


@pytest.mark.parametrize("odd", [-1, (1 << 50) + 1])
def test_counts_that_nobody_spent_are_not_read(desk, marker, tmp_path, odd):
    run_of(desk, marker, prices=PRICES, aef=tmp_path / "run")
    place = tmp_path / "run" / "summary.json"
    for name in ("spending", "answered"):
        told = json.loads(place.read_text())
        own = told["ext"]["closecall"][name]
        (own["spent"][0] if name == "spending" else own)["prompt_tokens"] = odd
        folder = shutil.copytree(tmp_path / "run", tmp_path / name)
        (folder / "summary.json").write_text(json.dumps(told))
        if name == "spending":  # read from its own file
            spent = json.loads((folder / SPENT).read_text())
            spent["spent"][0]["prompt_tokens"] = odd
            (folder / SPENT).write_text(json.dumps(spent))
        with pytest.raises(RunFolderError, match="prompt_tokens"):
            load_run(folder)


def test_without_a_price_no_cost_is_made_up(desk, marker):
    run = run_of(desk, marker, prices={"desk": PRICES["desk"]})
    assert run.spending.total.amount is None
    out = StringIO()
    table.write(run, out, width=200)
    assert 'no price for marker; add [prices."marker"] to closecall.toml' in out.getvalue()
    assert "spent in all: 5,100 tokens\n" in out.getvalue()


def test_tokens_that_are_not_reported_are_no_zeros(desk):
    marker = chat("marker", mark, (None, None))
    run = run_of(desk, marker, prices=PRICES)
    assert (line(run, "judge").requests, line(run, "judge").unreported) == (40, 40)
    assert run.spending.total.at_least
    out = StringIO()
    table.write(run, out, width=200)
    assert "40 of 40 requests did not report all of their tokens" in out.getvalue()
    assert "at least" in out.getvalue()
    rows = [one for row in run for one in row.answered]
    assert {one.prompt_tokens for one in rows} == {10}


def test_failures_that_may_have_been_charged_are_counted_as_unreported(desk):
    late = chat("marker", lambda _: ChatFailure(reason="no reply in time", kind="timeout"), (1, 1))
    run = run_of(desk, late)
    assert (line(run, "judge").requests, line(run, "judge").unreported) == (40, 40)
    refused = chat("marker", lambda _: ChatFailure(reason="HTTP 400", kind="refused", status=400),
                   (1, 1))  # fmt: skip
    assert [one.role for one in run_of(desk, refused).spending.spent] == ["subject"]


def test_a_run_that_asks_nobody_has_no_spending():
    cases = [{"id": "a", "response": "a b", "reference": "a b"}]
    assert evaluate(cases, "bleu", cache=False).spending is None


def test_a_replay_spends_nothing_and_says_what_the_recording_took(desk, marker, tmp_path):
    runs = []
    for mode in ("record", "replay", "record-missing"):
        with open_cassette(tmp_path / "tape", mode, scenario="s") as cassette:
            runs.append(run_of(desk, marker, cassette=cassette, prices=PRICES))
    asked = (len(desk.requests), len(marker.requests))
    recorded, replayed, missing = runs
    assert asked == (20, 40)
    assert recorded.spending.tokens == 5100
    for run in (replayed, missing):
        assert run.spending.tokens == 0
        assert run.spending.total.amount == 0
        judge = line(run, "judge")
        assert (judge.requests, judge.replayed) == (0, 40)
        assert (judge.replayed_prompt_tokens, judge.replayed_completion_tokens) == (4000, 800)
        assert all(one.replayed == one.replies for row in run for one in row.answered)
        assert values(run) == values(recorded)
    out = StringIO()
    table.write(replayed, out, width=200)
    assert (
        "not spent: 40 replies from a recording, which took 4,000 + 800 tokens" in out.getvalue()
    )
    assert "spent in all: 0 tokens" in out.getvalue()


def test_a_replay_needs_no_price_and_is_not_ended_by_a_budget(desk, marker, tmp_path):
    with open_cassette(tmp_path / "tape", "record", scenario="s") as cassette:
        recorded = run_of(desk, marker, cassette=cassette)
    for budget in (1, "0.01 USD"):
        with open_cassette(tmp_path / "tape", "replay", scenario="s") as cassette:
            run = run_of(desk, marker, cassette=cassette, budget=budget)
        assert values(run) == values(recorded)


def test_an_equal_request_of_one_call_is_paid_once(marker, tmp_path):
    cases = [{"id": f"c{n}", "input": "Why?", "response": "So."} for n in range(4)]
    with open_cassette(tmp_path / "tape", "record", scenario="s") as cassette:
        run = evaluate(cases, "llm_relevance", judge=marker, cassette=cassette, cache=False)
    judge = line(run, "judge")
    assert (judge.requests, judge.replayed, judge.prompt_tokens) == (1, 3, 100)


@pytest.mark.parametrize("budget", [40, 300, 2000, 3000, 4970])
def test_a_budget_ends_the_run_and_it_goes_on_with_the_same_scores(desk, marker, tmp_path, budget):
    whole = values(run_of(desk, marker))
    place = tmp_path / "run"
    with pytest.raises(BudgetError, match="is spent") as error:
        run_of(desk, marker, aef=place, budget=budget)
    assert error.value.exit_code == 8
    cut = load_run(place)
    assert len(cut) < 20
    assert cut.cases.unmeasured == 0, "nothing that was cut stands there as a failure"
    assert budget <= cut.spending.tokens < budget + 120
    assert cut.spending.budget == str(budget)
    asked = len(desk.requests), len(marker.requests)
    with pytest.raises(BudgetError, match="was spent before"):
        run_of(desk, marker, aef=place, budget=budget, resume=True)
    assert (len(desk.requests), len(marker.requests)) == asked
    run = run_of(desk, marker, aef=place, budget=20_000, resume=True)
    assert values(run) == whole
    assert not open_run(place).verify()
    # All that was ever asked is in the count, with what was paid for in vain.
    assert (
        run.spending.tokens == (len(desk.requests) - 20) * 15 + (len(marker.requests) - 40) * 120
    )


def test_with_a_cassette_nothing_that_was_paid_for_is_paid_again(desk, marker, tmp_path):
    place = tmp_path / "run"
    spent = 0
    for budget in (700, 1900, 3100, 9000):
        with open_cassette(tmp_path / "tape", "record-missing", scenario="s") as cassette:
            try:
                run = run_of(desk, marker, aef=place, budget=budget, cassette=cassette,
                             resume=place.exists())  # fmt: skip
            except BudgetError:
                now = load_run(place).spending.tokens
                assert now > spent
                spent = now
    assert (len(desk.requests), len(marker.requests)) == (20, 40)
    assert run.spending.tokens == 5100
    assert len(run) == 20


def test_a_run_in_memory_hands_over_what_it_measured(desk, marker):
    with pytest.raises(BudgetError, match="8 of 20 cases") as error:
        run_of(desk, marker, budget=2100)
    assert [row.case.id for row in error.value.results] == [f"c{n}" for n in range(8)]


def test_a_budget_of_money(desk, marker, tmp_path):
    with pytest.raises(BudgetError, match=r"budget of 0.0010 USD is spent: .*0.0010 USD"):
        run_of(desk, marker, budget="0.0010 USD", prices=PRICES, aef=tmp_path / "run")
    cut = load_run(tmp_path / "run")
    assert Decimal("0.001") <= cut.spending.total.amount < Decimal("0.00103")
    run = run_of(desk, marker, budget="1 USD", prices=PRICES, aef=tmp_path / "run", resume=True)
    assert len(run) == 20


@pytest.mark.parametrize("missing", ["desk", "marker"])
def test_a_budget_of_money_without_a_price_asks_nobody(desk, marker, missing):
    prices = {name: price for name, price in PRICES.items() if name != missing}
    with pytest.raises(MissingPriceError, match=f"no price for {missing}") as error:
        run_of(desk, marker, budget="1 USD", prices=prices)
    assert error.value.exit_code == 3
    assert not desk.requests
    assert not marker.requests


def test_repeated_runs_count_every_answer(desk, marker, tmp_path):
    run = run_of(desk, marker, CASES[:4], runs=3, aef=tmp_path / "run")
    assert line(run, "subject").requests == len(desk.requests) == 12
    assert line(run, "judge").prompt_tokens == 100 * len(marker.requests)
    for row in load_run(tmp_path / "run"):
        assert [(one.replies, one.prompt_tokens) for one in row.answered] == [(3, 30)]


def test_what_the_runs_of_a_batch_spend_is_kept_before_the_batch_is_done(marker, tmp_path):
    place = tmp_path / "run"
    kept = []

    def said(request):
        found = read_spending(place)
        kept.append(0 if found is None else found.tokens)
        return "It is lit."

    run_of(chat("desk", said, (10, 5)), marker, CASES[:4], runs=3, aef=place)
    assert len(load_run(place)) == 4, "all of it is one batch"
    # Whatever becomes of the process in a later run, the four answers of the first are counted.
    assert kept[0] == 0
    assert kept[4] >= 4 * 15
    assert kept[8] >= 8 * 15


@pytest.mark.parametrize("budget", [200, 1500, 2600])
def test_a_budget_cuts_repeated_runs_between_cases(desk, marker, tmp_path, budget):
    options = {"runs": 3, "aef": tmp_path / "run"}
    with pytest.raises(BudgetError):
        run_of(desk, marker, CASES[:8], budget=budget, **options)
    cut = load_run(tmp_path / "run")
    assert len(cut) < 8
    assert cut.cases.unmeasured == 0
    run = run_of(desk, marker, CASES[:8], budget=50_000, resume=True, **options)
    assert values(run) == values(run_of(desk, marker, CASES[:8], runs=3))


def test_a_judge_bound_before_is_counted_too(marker):
    from closecall import load_metric

    metric = load_metric("llm_relevance").bound(marker)
    cases = [{"id": "a", "input": "Why?", "response": "So."}]
    run = evaluate(cases, metric, cache=False)
    assert line(run, "judge").requests == 1
    assert run.header.metrics[0].version == metric.spec.version


def test_a_function_that_reports_tokens_is_counted(marker):
    def answer(case):
        return Answer(text=f"So: {case.input}", usage=ChatUsage(7, 3))

    run = evaluate(CASES[:3], "llm_relevance", answers=answer, judge=marker, cache=False)
    assert (line(run, "subject").requests, line(run, "subject").prompt_tokens) == (3, 21)
    silent = evaluate(CASES[:3], "llm_relevance", answers=lambda _: "So.", judge=marker,
                      cache=False)  # fmt: skip
    assert [one.role for one in silent.spending.spent] == ["judge"]


def test_a_metric_that_makes_a_number_of_a_refusal_is_not_believed(desk, marker, tmp_path):
    """A function that swallows the failure of its chat model would score what was never asked."""
    from closecall import load_metric

    judge = load_metric("llm_relevance").bound(marker)

    class Swallowing(type(judge)):
        def measure_batch(self, cases, vectors):
            found = super().measure_batch(cases, vectors)
            good = next((one for one in found if hasattr(one, "value")), None)
            return [one if hasattr(one, "value") or good is None else good for one in found]

    metric = Swallowing().bound(marker)
    with pytest.raises(BudgetError):
        evaluate(CASES, metric, answers=ChatSubject(desk), budget=1400, cache=False,
                 aef=tmp_path / "run")  # fmt: skip
    assert len(load_run(tmp_path / "run")) == 8
