"""The scorer of Inspect AI, under Inspect AI: a task, its log and its metrics."""

import math

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")

TEXT = "Refunds take five days."


@pytest.fixture
def run(host, tmp_path):
    """Score given outputs in a task of Inspect AI; return the log, and the scores by sample."""
    host("inspect_ai")
    scorer = host("closecall.integrations.inspect_ai").closecall_scorer
    inspect, data = host("inspect_ai"), host("inspect_ai.dataset")
    model, solver = host("inspect_ai.model"), host("inspect_ai.solver")

    def scored(samples, **options):
        @solver.solver
        def said():
            async def solve(state, generate):
                state.output = model.ModelOutput.from_content("given", state.metadata["output"])
                return state

            return solve

        made = [
            data.Sample(
                id=name, input="How long?", target=target, metadata={"output": output, **more}
            )
            for name, (output, target, more) in samples.items()
        ]
        task = inspect.Task(
            dataset=data.MemoryDataset(made), solver=said(), scorer=scorer(**options)
        )
        (log,) = inspect.eval(
            task, model="mockllm/model", log_dir=str(tmp_path / "logs"), display="none"
        )
        assert log.status == "success", log.error
        found = {one.id: one.scores["closecall_scorer"] for one in log.samples}
        return log.results.scores[0], found

    return scored


def test_accepted_rejected_and_unscored(run, opened):
    results, found = run(
        {
            "near": (TEXT, TEXT, {}),
            "either": (TEXT, ["Bring an umbrella.", TEXT], {}),
            "far": ("Bring an umbrella.", TEXT, {}),
            "blank": (TEXT, " ", {}),
            "silent": ("", TEXT, {}),
        }
    )
    values = {name: one.value for name, one in found.items()}
    assert [values[name] for name in ("near", "either", "far")] == ["C", "C", "I"]
    assert found["near"].answer == TEXT
    assert "100.00 >= 70.00" in found["near"].explanation
    assert found["near"].metadata["cutoff"] == 70
    assert found["far"].metadata["state"] == "failed"
    assert math.isnan(values["blank"])
    assert found["blank"].explanation.startswith("not measured")
    assert found["silent"].reason == "no_response"
    assert (results.scored_samples, results.unscored_samples) == (3, 2)
    assert results.metrics["accuracy"].value == pytest.approx(2 / 3)
    assert opened == [None]


def test_a_calibration_decides_and_leaves_unsure(run, cutoffs, by_state):
    samples = {state: (*texts, {}) for state, texts in by_state.items()}
    results, found = run(samples, calibration=str(cutoffs))
    assert (found["passed"].value, found["failed"].value) == ("C", "I")
    assert math.isnan(found["unsure"].value)
    assert found["unsure"].reason == "unsure"
    assert found["unsure"].metadata["state"] == "inconclusive"
    assert results.unscored_samples == 1


def test_passages_stand_in_the_metadata(run):
    _, found = run(
        {"grounded": (TEXT, "", {"docs": ["other", TEXT]})},
        metric="embed_response_context",
        context="docs",
    )
    assert found["grounded"].value == "C"


def test_without_a_cutoff_the_score_is_the_value(run):
    results, found = run({"same": (TEXT, "", {"context": TEXT})}, metric="context_alignment")
    assert found["same"].value == pytest.approx(1.0, abs=1e-4)
    assert results.metrics["accuracy"].value == found["same"].value


def test_a_wrong_name_is_told_before_anything_runs(host):
    from closecall.errors import UnknownNameError

    host("inspect_ai")
    with pytest.raises(UnknownNameError, match="token_f1"):
        host("closecall.integrations.inspect_ai").closecall_scorer(metric="token_f")
