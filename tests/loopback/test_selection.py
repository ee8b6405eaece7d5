"""A provider chosen by the environment or by name, from the command line."""

import json
from pathlib import Path

import pytest
from fake_provider import KEY, STYLES, error

from closecall.cli import run

pytestmark = pytest.mark.loopback


@pytest.fixture
def cli(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*args):
        code = run([*map(str, args)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def select(monkeypatch):
    def choose(provider, *, selector=True):
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        if selector:
            monkeypatch.setenv("AI_INFERENCE_PROVIDER", provider.style)
        return provider

    return choose


@pytest.mark.parametrize("style", STYLES)
def test_the_selector_decides_and_the_score_is_the_providers(style, serve, select, cli):
    provider = select(serve(style))
    code, out, _ = cli("score", "the same words", "the same words", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["state"] == "passed"
    assert provider.host in out
    assert KEY not in out
    assert provider.requests


@pytest.mark.parametrize("style", STYLES)
def test_settings_alone_select_nothing(style, serve, select, cli):
    provider = select(serve(style), selector=False)
    assert cli("score", "the same words", "the same words")[0] == 0
    assert provider.requests == []


def test_a_name_selects_whatever_the_selector_says(serve, select, cli, monkeypatch):
    provider = select(serve("openai"), selector=False)
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", "azure")
    assert cli("score", "a", "a", "--embedder", "openai:another-model")[0] == 0
    assert {one.body["model"] for one in provider.requests} == {"another-model"}
    assert cli("score", "a", "a")[0] == 3


def test_a_run_is_cached_like_any_other(serve, select, cli):
    provider = select(serve("openai"))
    rows = [
        {"id": str(n), "response": f"answer {n}", "reference": f"answer {n}"} for n in range(9)
    ]
    with Path("cases.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    for _ in range(2):
        code, _, err = cli("eval", "cases.jsonl", "--format", "json", "--no-aef")
        assert code == 0, err
    texts = [text for texts in provider.asked for text in texts]
    assert sorted(t for t in texts if t.startswith("answer")) == [f"answer {n}" for n in range(9)]


def test_a_run_says_which_embedder_it_had(serve, select, cli):
    select(serve("ollama"))
    with Path("cases.jsonl").open("w", encoding="utf-8") as file:
        file.write('{"response": "a", "reference": "a"}\n')
    assert cli("eval", "cases.jsonl", "--aef", "run")[0] == 0
    written = Path("run/run.json").read_text(encoding="utf-8")
    assert "ollama" in written
    assert "minilm" not in written


def test_a_refused_key_stops_a_run_before_it_begins(serve, select, cli, monkeypatch):
    provider = select(serve("openai"))
    monkeypatch.setenv("OPENAI_API_KEY", "another-key-0123456789")
    with Path("cases.jsonl").open("w", encoding="utf-8") as file:
        file.write('{"response": "a", "reference": "a"}\n')
    code, out, err = cli("eval", "cases.jsonl")
    assert code == 3
    assert "HTTP 401" in err
    assert "OPENAI_API_KEY" in err
    assert "another-key-0123456789" not in out + err
    assert len(provider.requests) == 1


def test_one_bad_text_is_not_measured_and_the_rest_is(serve, select, cli):
    provider = select(serve("openai", most=20))
    rows = [
        {"id": "good", "response": "a b", "reference": "a b"},
        {"id": "bad", "response": "word " * 30, "reference": "a b"},
    ]
    with Path("cases.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    code, out, _ = cli("eval", "cases.jsonl", "--format", "json", "--no-aef")
    assert code == 11
    assert "HTTP 400: maximum context length" in out
    assert provider.requests


# closecall doctor


@pytest.mark.parametrize("style", STYLES)
def test_doctor_says_what_answers(style, serve, select, cli):
    provider = select(serve(style))
    code, out, _ = cli("doctor")
    assert code == 0
    (line,) = (line for line in out.splitlines() if "default embedder" in line)
    azure = style in {"azure", "foundry"}
    path = "/openai/deployments/our-deployment/embeddings" if azure else "/v1/embeddings"
    assert f"{style}: POST {provider.host}{path}" in line
    assert "the server calls it served-model, 8 dims" in line
    assert ("api-version 2024-10-21, deployment our-deployment" in line) is azure
    assert KEY not in out
    assert len(provider.requests) == 1


def test_doctor_says_what_is_wrong(serve, select, cli):
    # vibrantlabsai/ragas#478
    provider = select(serve("azure"))
    provider.script = lambda received: error("no", status=404, code="DeploymentNotFound")
    code, out, _ = cli("doctor")
    assert code == 3
    assert "BAD default embedder" in out
    assert "need not be the model's name" in out
    assert KEY not in out
