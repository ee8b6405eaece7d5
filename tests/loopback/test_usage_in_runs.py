"""What a provider reports of its use is in the run; what it does not report is no zero."""

import json

import pytest

from closecall import evaluate, load_run, save_report
from closecall.report.overview import overview
from closecall.runs.reader import open_run
from closecall.testing import check_embedder

pytestmark = pytest.mark.loopback

CASES = [
    {"id": "a", "response": "the sky is blue", "reference": "a blue sky"},
    {"id": "b", "response": "grass", "reference": "green grass"},
]


def test_a_run_keeps_what_was_reported(serve, connect, tmp_path):
    embedder = connect(serve("openai"))
    run = evaluate(CASES, embedder=embedder, cache=False, aef=tmp_path / "run", guards="off")
    assert run.usage == embedder.usage
    assert run.usage.replies >= 2
    assert run.usage.prompt_tokens > 0
    again = load_run(tmp_path / "run")
    assert again.usage == run.usage
    assert not open_run(tmp_path / "run").verify()
    said = " ".join(overview(run).notes)
    assert f"{run.usage.prompt_tokens:,} tokens, as it reports" in said
    save_report(run, tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())["usage"]
    assert told["promptTokens"] == run.usage.prompt_tokens


def test_what_is_not_reported_is_said_to_be_unknown(serve, connect, tmp_path):
    provider = serve("openai")
    provider.usage = False
    run = evaluate(CASES, embedder=connect(provider), cache=False, guards="off")
    assert run.usage.prompt_tokens is None
    assert run.usage.unreported == run.usage.replies
    assert "do not say how many they took" in " ".join(overview(run).notes)
    save_report(run, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["usage"]["promptTokens"] is None


def test_a_run_on_this_machine_has_no_usage(tmp_path):
    run = evaluate(CASES, embedder="minilm", cache=False, aef=tmp_path / "run")
    assert run.usage is None
    assert load_run(tmp_path / "run").usage is None


@pytest.mark.parametrize("style", ["openai", "azure", "ollama"])
def test_a_providers_embedder_keeps_the_contract(style, serve, connect):
    check_embedder(
        connect(serve(style)),
        variants={"dimensions": connect(serve(style, dims=6)), "model": connect(serve("foundry"))},
    )


def test_an_embedder_given_as_an_object_is_recorded_too(serve, connect, tmp_path):
    from closecall.cassettes import open_cassette

    scores = []
    for mode, provider in (("record", serve("openai")), ("replay", None)):
        embedder = connect(provider or serve("openai"))
        with open_cassette(tmp_path / "tape", mode, scenario="s") as cassette:
            run = evaluate(CASES, embedder=embedder, cassette=cassette, guards="off")
            scores.append([row.results[0].measurement.value for row in run])
            assert (cassette.counts.recorded > 0) == (mode == "record")
            assert (cassette.counts.replayed > 0) == (mode == "replay")
    assert scores[0] == scores[1]
