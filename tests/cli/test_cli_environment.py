"""Providers and keys in the environment: an explicit choice is never changed, a key never shown."""

import os
from pathlib import Path

import pytest

KEY = "sk-test-0123456789-never-print-me"
COMMANDS = [
    ("score", "The sky is blue.", "The sky is blue."),
    ("score", "The sky is blue.", "The sky is blue.", "--json"),
    ("eval", "cases.jsonl", "--format", "json"),
    ("models", "list"),
    ("models", "info", "--json"),
    ("doctor",),
]


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[2]], ids=lambda command: command[0])
def test_a_provider_this_version_cannot_reach_is_refused_and_never_replaced(
    command, cli, write, passing, monkeypatch
):
    write(passing)
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", f"openai-{KEY}")
    said = cli(*command)
    assert said.code == 3
    assert said.out == ""
    assert "AI_INFERENCE_PROVIDER" in said.err
    assert "--embedder minilm" in said.err
    assert KEY not in said.err
    assert cli(*command, "--embedder", "minilm").code == 0


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_selector_selects_nothing(cli, monkeypatch, blank):
    monkeypatch.setenv("AI_INFERENCE_PROVIDER", blank)
    assert cli(*COMMANDS[0]).code == 0


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_key_lying_about_selects_nothing_and_appears_nowhere(
    command, cli, write, passing, monkeypatch
):
    write(passing)
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "FOUNDRY_API_KEY", "BITDEER_API_KEY"):
        monkeypatch.setenv(name, KEY)
    said = cli(*command)
    assert said.code == 0, said.err
    assert KEY not in said.out + said.err
    for path in Path().rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_keys_stay_out_of_a_crash(process, monkeypatch):
    code = """
import sys
from closecall.cli import run
import closecall.metrics.registry as registry
def broken(*_, **__): raise RuntimeError("a bug")
registry.load_metric = broken
sys.exit(run(["score", "a", "b"]))
"""
    env = {**os.environ, "OPENAI_API_KEY": KEY, "AI_INFERENCE_PROVIDER": ""}
    said = process(code=code, env=env)
    assert said.returncode == 70
    assert KEY.encode() not in said.stdout + said.stderr
