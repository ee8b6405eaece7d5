"""The metric of ragas, under ragas: its own ``evaluate`` and its own samples."""

import asyncio
import math

import pytest

from closecall.asserting import NotMeasuredError

pytestmark = pytest.mark.filterwarnings("ignore")

TEXT = "Refunds take five days."


@pytest.fixture
def metric(host):
    host("ragas")
    return host("closecall.integrations.ragas").ClosecallMetric


@pytest.fixture
def sample(host):
    made = host("ragas.dataset_schema").SingleTurnSample

    def one(response=TEXT, reference=TEXT, **more):
        return made(user_input="How long?", response=response, reference=reference, **more)

    return one


def test_a_sample_is_scored_and_says_why(metric, sample, opened):
    made = metric()
    assert made.name == "embed_answer_similarity"
    assert made.required_columns["SINGLE_TURN"] == {"response", "reference"}
    assert opened == []
    assert made.single_turn_score(sample()) == 1.0
    assert made.single_turn_score(sample("Bring an umbrella.")) < 0.5
    assert asyncio.run(made.single_turn_ascore(sample())) == 1.0
    assert "100.00 >= 70.00" in made.verdict(sample()).reason
    assert opened == [None]


def test_passages_are_the_context(metric, sample):
    made = metric(metric="embed_response_context", name="grounded")
    assert made.name == "grounded"
    assert made.required_columns["SINGLE_TURN"] == {"response", "retrieved_contexts"}
    assert made.single_turn_score(sample(retrieved_contexts=[TEXT])) == 1.0


def test_decided_scores_are_1_and_0_and_never_a_guess(metric, sample, cutoffs, by_state):
    made = metric(calibration=cutoffs, decide=True)
    found = {}
    for state in ("passed", "failed"):
        found[state] = made.single_turn_score(sample(*by_state[state]))
    assert found == {"passed": 1.0, "failed": 0.0}
    with pytest.raises(NotMeasuredError, match="undecided"):
        made.single_turn_score(sample(*by_state["unsure"]))


def test_evaluate_writes_nan_for_what_is_not_measured_and_never_0(host, metric, sample):
    ragas = host("ragas")
    rows = [sample(), sample(reference=" "), sample("Bring an umbrella.")]
    data = host("ragas.dataset_schema").EvaluationDataset(samples=rows)
    found = ragas.evaluate(data, metrics=[metric()], show_progress=False, raise_exceptions=False)
    one, absent, far = found["embed_answer_similarity"]
    assert one == 1.0
    assert math.isnan(absent)
    assert 0 < far < 0.5
    with pytest.raises(NotMeasuredError, match="blank"):
        ragas.evaluate(data, metrics=[metric()], show_progress=False, raise_exceptions=True)


def test_files_that_ragas_writes_are_imported(host, sample, tmp_path):
    from closecall.importing import open_import

    schema = host("ragas.dataset_schema")
    rows = [
        sample(retrieved_contexts=["it's one", 'and "two"']),
        sample("b", retrieved_contexts=["c"]),
    ]
    data = schema.EvaluationDataset(samples=rows)
    data.to_jsonl(str(tmp_path / "data.jsonl"))
    data.to_csv(str(tmp_path / "data.csv"))
    data.to_hf_dataset().save_to_disk(str(tmp_path / "folder"))
    for name in ("data.jsonl", "data.csv"):
        found = open_import(tmp_path / name)
        cases = list(found)
        assert found.source == "ragas"
        assert [case.context for case in cases] == [("it's one", 'and "two"'), ("c",)]
        assert [case.response for case in cases] == [TEXT, "b"]
    cases = list(open_import(tmp_path / "folder"))
    assert [case.references for case in cases] == [(TEXT,), (TEXT,)]
    assert cases[0].input == "How long?"


def test_conversations_that_ragas_writes_are_imported(host, tmp_path):
    from closecall.importing import open_import

    messages = host("ragas.messages")
    schema = host("ragas.dataset_schema")
    turns = [
        messages.HumanMessage(content="How long?"),
        messages.AIMessage(content="", tool_calls=[messages.ToolCall(name="look", args={})]),
        messages.ToolMessage(content="5"),
        messages.AIMessage(content="Five days."),
    ]
    data = schema.EvaluationDataset(
        samples=[schema.MultiTurnSample(user_input=turns, reference="five")]
    )
    data.to_jsonl(str(tmp_path / "data.jsonl"))
    data.to_csv(str(tmp_path / "data.csv"))
    for name in ("data.jsonl", "data.csv"):
        (case,) = open_import(tmp_path / name)
        assert (case.input, case.response) == ("How long?", "Five days.")
