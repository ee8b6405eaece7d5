"""Without scripts the page still says what was asked, what came of it and which cases are worst."""

import random

import pytest

from closecall import Case
from closecall.gates.evaluate import evaluate_gates, gates_exit
from closecall.gates.parsing import parse_gate
from closecall.records import Measured, State
from closecall.report.html.overview import exit_words
from closecall.report.html.page import STATIC_CASES
from closecall.report.html.worst_first import ORDER, WorstFirst
from closecall.report.overview import overview
from closecall.runs.results import CaseResult, MetricResult


def gated(run, *rules):
    import dataclasses

    results = evaluate_gates(run, [parse_gate(rule) for rule in rules])
    return dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))


def test_it_says_what_the_table_says(page, run):
    seen = overview(run)
    for line in (seen.title, seen.verdict, *seen.reading, *seen.absent, *seen.held, *seen.notes):
        assert " ".join(line.split()) in page.text
    for row in seen.rows:
        for cell in (row.metric, row.counts, row.mean, row.median, row.cutoff, row.cutoff_note):
            assert cell in page.text


def test_it_says_what_needs_scripts(page):
    assert "noscript" in page.tags
    assert "Scripts are blocked" in page.text


def test_errors_stand_with_their_counts_and_intervals(page, run):
    from closecall.calibration.figures import count_of

    labelled = [m for m in run.metrics if m.false_accept_rate is not None]
    assert labelled
    for metric in labelled:
        assert count_of(metric.false_accept_rate) in page.text
        assert count_of(metric.false_reject_rate) in page.text


def test_gates_stand_with_their_values_and_what_failed_comes_first(run, page_of):
    rules = ["measured(embed_answer_similarity) >= 1", "pass_rate(embed_answer_similarity) >= 0.9"]
    text = page_of(gated(run, *rules)).text
    assert "1 gate failed exit code 1" in text
    assert text.index(rules[1]) < text.index(rules[0])
    assert "FAILED" in text


@pytest.mark.parametrize(
    ("responses", "rules", "said"),
    [
        (["same"], [], (0, "Everything asked for was measured and passed")),
        (["same", "other"], [], (1, "1 case failed")),
        (["same", " "], [], (11, "Nothing failed, but something was not measured or left unsure")),
        (["same"], ["count(embed_answer_similarity < 1) <= 3"], (0, "Every gate passed")),
        (["other"], ["pass_rate(embed_answer_similarity) >= 1"], (1, "1 gate failed")),
    ],
)
def test_an_exit_code_is_put_into_words(make_run, page_of, responses, rules, said):
    cases = [Case(id=str(n), response=r, references=("same",)) for n, r in enumerate(responses)]
    run = make_run(cases, ["embed_answer_similarity"])
    run = gated(run, *rules) if rules else run
    code, words = said
    assert run.exit_code == code
    assert exit_words(run) == words
    assert f"{words} exit code {code}" in page_of(run).text


def test_every_case_of_a_small_run_stands_in_the_table_with_its_reason(page, run):
    for row in run:
        assert row.case.id in page.text
        worst = min(row.results, key=lambda result: ORDER.index(result.state))
        assert worst.reason.split("\n")[0][:60] in page.text
    assert f"All {len(run)} cases, the worst first" in page.text


def test_of_many_cases_the_worst_stand_in_the_table(make_run, page_of):
    count = STATIC_CASES + 30
    cases = [
        Case(id=f"case-{n:03}", response="same" if n < 40 else f"word{n}", references=("same",))
        for n in range(count)
    ]
    page = page_of(make_run(cases, ["embed_answer_similarity"]))
    assert f"The first {STATIC_CASES} of {count} cases, the worst first" in page.text
    shown = [f"case-{n:03}" for n in range(count) if f"case-{n:03}" in page.text]
    assert len(shown) == STATIC_CASES
    assert shown[-(count - 40) :] == [f"case-{n:03}" for n in range(40, count)], "all that failed"


def test_worst_first_is_the_order_of_a_full_sort():
    rng = random.Random(5)
    rows = []
    for n in range(400):
        state = rng.choice(list(State))
        value = rng.choice([0.0, 10.0, 20.0, 30.0])
        found = Measured(similarity=value, value=value, score=value)
        result = MetricResult(metric="m", state=state, measurement=found, cutoff=None, reason="")
        rows.append(CaseResult(case=Case(id=str(n)), results=(result,)))
    kept = WorstFirst(50)
    for order, row in enumerate(rows):
        kept.add(order, row)
    by_hand = sorted(range(400), key=lambda n: (ORDER.index(rows[n].state), rows[n].score, n))
    assert [order for order, _ in kept.rows()] == by_hand[:50]
    assert [row.case.id for _, row in kept.rows()] == [str(n) for n in by_hand[:50]]


def test_headings_name_the_sections_and_every_table_has_a_caption(page):
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for _, name, value in page.attributes:
        if name == "aria-labelledby":
            assert set(value.split()) <= set(ids)
    assert page.tags.count("table") == page.tags.count("caption")
    assert page.tags.count("h1") == 1
