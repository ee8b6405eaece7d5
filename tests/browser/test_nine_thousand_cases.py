"""A calibrated run of 9,060 people's judgements: the page stays small, quick and right."""

import json

import pytest

from closecall import Goal, calibrate, evaluate
from closecall.calibration.store import save_calibration
from closecall.records import State
from closecall.report.formats import save_report
from closecall.testing import HashEmbedder

pytestmark = [pytest.mark.browser, pytest.mark.loopback]

METRIC = "embed_answer_similarity"
MOST_BYTES = 4_000_000


@pytest.fixture(scope="module")
def made(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nq")
    data, cutoff = shared_data / "answers" / "evouna_nq.jsonl", folder / "cutoff.json"
    save_calibration(calibrate(data, METRIC, HashEmbedder(), goal=Goal(max_far=0.2)), cutoff)
    run = evaluate(data, METRIC, HashEmbedder(), calibration=cutoff, cache=False)
    save_report(run, folder / "report.html")
    return run, folder / "report.html"


@pytest.fixture
def big(page, made):
    return page.open(made[1])


def test_it_is_a_few_megabytes(made):
    run, path = made
    assert len(run) == 9060
    assert path.stat().st_size < MOST_BYTES


def test_every_section_opens(big):
    for section in ("overview", "cases", "cutoff"):
        big.go(f"#{section}")
        assert (big.wider(), big.sticking_out()) == (0, [])


def test_filters_count_what_the_run_counts(big, made):
    run, _ = made
    for state in (State.PASSED, State.FAILED, State.INCONCLUSIVE):
        want = sum(row.state is state for row in run)
        big.go(f"#cases?state={state}")
        assert big.text("#count") == f"{want:,} of 9,060 cases"
    wrong = sum(row.case.label == "reject" and row.state is State.PASSED for row in run)
    big.go("#cases?show=fa")
    assert big.text("#count") == f"{wrong:,} of 9,060 cases"


def test_the_whole_of_the_texts_is_searched(big, made):
    run, _ = made
    wanted = "president"
    want = sum(
        any(
            wanted in (text or "").lower()
            for text in (row.case.id, row.case.input, row.case.response, *row.case.references,
                         *row.case.context, *(result.reason for result in row.results))
        )
        for row in run
    )  # fmt: skip
    assert want > 10
    big.go(f"#cases?q={wanted}")
    big.until(lambda: big.text("#count") == f"{want:,} of 9,060 cases")


def test_only_the_rows_in_sight_are_built(big):
    big.go("#cases?sort=file")
    assert len(big.all(".case-row")) < 60
    big.run("document.getElementById('case-list').scrollTop = 1e9")
    last = big.run("return CC.columns.ids[9059]")
    big.wait(
        "return [...document.querySelectorAll('.case-row .id')].some((one) => one.textContent === arguments[0])",
        last,
    )
    assert len(big.all(".case-row")) < 60


def test_the_issued_cutoff_errs_as_python_counts_and_moves(big, made):
    run, _ = made
    big.go("#cutoff")
    cutoff = run.header.metrics[0].cutoff
    rejects = [row for row in run if row.case.label == "reject"]
    through = sum(row.results[0].measurement.value >= cutoff for row in rejects)
    figures = "#cutoff .cutoff-figures"
    assert f"{through:,} of {len(rejects):,}" in big.text(figures)
    before = big.text(figures)
    big.one("#cutoff [role=slider]").send_keys("\ue00e" * 3)
    big.until(lambda: big.text(figures) != before)


def test_a_label_given_here_is_downloaded_whole(big, made, tmp_path):
    run, _ = made
    row = next(row for row in run if row.case.label == "reject")
    big.run("CC.go('cases', { case: arguments[0] })", row.case.id)
    big.wait(
        "return document.querySelector('#case-title')?.textContent === arguments[0]", row.case.id
    )
    big.keys("a")
    file = big.downloaded(tmp_path, "#download-given")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["id"], found["label"]) == (row.case.id, "accept")
    assert (found["input"], found["response"]) == (row.case.input, row.case.response)
