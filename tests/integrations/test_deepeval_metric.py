"""The metric of deepeval, under deepeval: ``assert_test``, ``evaluate`` and its data sets."""

import asyncio

import pytest

from closecall import load_calibration
from closecall.asserting import NotMeasuredError

pytestmark = pytest.mark.filterwarnings("ignore")

TEXT = "Refunds take five days."


@pytest.fixture
def metric(host):
    host("deepeval")
    return host("closecall.integrations.deepeval").ClosecallMetric


@pytest.fixture
def test_case(host):
    made = host("deepeval.test_case").LLMTestCase

    def one(response=TEXT, reference=TEXT, **more):
        return made(input="How long?", actual_output=response, expected_output=reference, **more)

    return one


def test_the_decision_is_closecalls(metric, test_case, opened):
    made = metric()
    assert made.__name__ == "closecall embed_answer_similarity"
    assert (made.threshold, made.is_successful(), opened) == (0.7, None, [])
    assert made.measure(test_case()) == 1.0
    assert (made.threshold, made.is_successful()) == (0.7, True)
    assert "100.00 >= 70.00" in made.reason
    assert asyncio.run(made.a_measure(test_case("Bring an umbrella."))) < 0.5
    assert made.is_successful() is False
    assert opened == [None]


def test_a_calibration_decides_and_unsure_is_no_pass(metric, test_case, cutoffs, by_state):
    made = metric(calibration=cutoffs)
    assert made.threshold == pytest.approx(load_calibration(cutoffs).accept_cutoff.value / 100)
    found = {}
    for state, texts in by_state.items():
        made.measure(test_case(*texts))
        found[state] = made.is_successful()
    assert found == {"passed": True, "failed": False, "unsure": False}
    made.measure(test_case(*by_state["unsure"]))
    assert made.reason.startswith("unsure")


def test_without_a_cutoff_there_is_a_score_and_no_decision(metric, test_case):
    made = metric(metric="context_alignment")
    assert made.measure(test_case(context=[TEXT])) == pytest.approx(1.0, abs=1e-4)
    assert (made.threshold, made.is_successful()) == (None, None)


def test_what_is_not_measured_has_no_score(host, metric, test_case):
    made = metric()
    made.measure(test_case())
    with pytest.raises(NotMeasuredError, match=r"not measured: .*blank"):
        made.measure(test_case(reference=" "))
    assert (made.score, made.is_successful()) == (None, False)
    assert made.error.startswith("not measured")
    missing = host("deepeval.errors").MissingTestCaseParamsError
    with pytest.raises(missing, match="'expected_output' cannot be None"):
        made.measure(test_case(reference=None))
    with pytest.raises(missing, match="'retrieval_context' or 'context'"):
        metric(metric="embed_response_context").measure(test_case())


def test_passages_are_those_retrieved_else_the_ideal_ones(metric, test_case):
    made = metric(metric="embed_response_context")
    assert made.measure(test_case(context=[TEXT])) == 1.0
    assert made.measure(test_case(retrieval_context=[TEXT], context=["other"])) == 1.0


def test_assert_test(host, metric, test_case):
    assert_test = host("deepeval").assert_test
    for run_async in (True, False):
        assert_test(test_case(), [metric()], run_async=run_async)
        with pytest.raises(AssertionError, match="closecall embed_answer_similarity"):
            assert_test(test_case("Bring an umbrella."), [metric()], run_async=run_async)


def test_evaluate_copies_the_metric_and_shares_the_embedder(host, metric, test_case, opened):
    configs = host("deepeval.evaluate.configs")
    found = host("deepeval").evaluate(
        [test_case(), test_case("Bring an umbrella."), test_case(reference=" ")],
        [metric(cutoff=60)],
        display_config=configs.DisplayConfig(show_indicator=False, print_results=False),
        error_config=configs.ErrorConfig(ignore_errors=True),
        cache_config=configs.CacheConfig(write_cache=False),
    )
    rows = {one.actual_output + one.expected_output: one for one in found.test_results}
    data = {key: one.metrics_data[0] for key, one in rows.items()}
    assert data[TEXT + TEXT].success is True
    assert data[TEXT + TEXT].threshold == 0.6
    assert data["Bring an umbrella." + TEXT].success is False
    absent = data[TEXT + " "]
    assert (absent.score, absent.success) == (None, False)
    assert absent.error.startswith("not measured")
    assert opened == [None]


def test_files_that_deepeval_writes_are_imported(host, tmp_path):
    from closecall.importing import open_import

    dataset = host("deepeval.dataset")
    sourced = host("deepeval.test_case").RetrievedContextData
    golden = dataset.Golden(
        input="How long?",
        actual_output="Five days.",
        expected_output=TEXT,
        retrieval_context=["Paid.", sourced(context="To a card.", source="faq.md")],
        context=["ideal"],
        name="refunds",
        additional_metadata={"k": 1},
    )
    made = dataset.EvaluationDataset(goldens=[golden, dataset.Golden(input="Open?")])
    for form in ("json", "jsonl", "csv"):
        made.save_as(form, str(tmp_path), file_name="goldens")
        found = open_import(tmp_path / f"goldens.{form}")
        refunds, open_ = found
        assert found.source == "deepeval"
        assert (refunds.id, refunds.response, refunds.references) == (
            "refunds", "Five days.", (TEXT,),
        )  # fmt: skip
        assert refunds.context == ("Paid.", "To a card.")
        assert (open_.input, open_.response) == ("Open?", None)
