"""A key in the environment is in nothing that a failing run leaves or says."""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "loopback"))

from fake_provider import KEY, FakeProvider, Said, entry, error

from closecall.embedders.registry import load_embedder
from closecall.errors import ClosecallError

pytestmark = pytest.mark.loopback

PARTS = [KEY[at : at + 8] for at in range(len(KEY) - 7)]
"""A part of a key is a key to whoever guesses the rest."""

ECHO = {"x-echo": KEY, "authorization": f"Bearer {KEY}"}
TROUBLES = {
    "key refused": error(f"Incorrect API key provided: {KEY}", status=401),
    "key shown in part": error(f"Incorrect API key: {KEY[:16]}***{KEY[-8:]}", status=403),
    "refused": error(f"bad request by Bearer {KEY}", headers=tuple(ECHO.items())),
    "not found": error(f"no such model for {KEY}", status=404),
    "out of money": error(f"quota of {KEY}", status=429, code="insufficient_quota"),
    "wait an hour": error(f"{KEY} is limited", status=429, headers=(("retry-after", "3600"),)),
    "moved": Said(307, None, (("location", f"https://elsewhere.example/?key={KEY}"),)),
    "no JSON": Said(raw=f"<html>{KEY}</html>".encode()),
    "a page": Said(502, None, (("content-type", "text/html"), ("retry-after", "3600")), raw=KEY.encode()),
    "model named so": Said(body={"data": [entry(0, [float("nan")] * 8)], "model": KEY}),
    "error as success": Said(body={"error": {"message": KEY}}),
}  # fmt: skip


@pytest.fixture
def provider():
    with FakeProvider("openai") as running:
        yield running


@pytest.fixture(params=TROUBLES)
def trouble(request):
    return TROUBLES[request.param]


@pytest.fixture(params=["at first", "in the middle"])
def when(request):
    return 1 if request.param == "at first" else 2


def clean(text, where):
    for part in PARTS:
        assert part not in text, f"part of the key in {where}"


FORMS = ("json", "markdown", "junit", "csv", "table", "html", "jsonl")


def test_a_failing_run_leaves_no_key_anywhere(trouble, when, provider, tmp_path):
    form = FORMS[(list(TROUBLES.values()).index(trouble) + when) % len(FORMS)]
    provider.script = lambda received: trouble if received.number >= when else None
    rows = [{"id": str(n), "response": f"answer {n}", "reference": "answer"} for n in range(3)]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    environ = os.environ | provider.environment() | {
        "AI_INFERENCE_PROVIDER": "openai",
        "OPENAI_LOG": "debug",
        "PYTHONFAULTHANDLER": "1",
        "CLOSECALL_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    code = (
        "import logging, sys; logging.basicConfig(level=1, stream=sys.stderr);"
        "from closecall.cli import run;"
        f"sys.exit(run(['eval', 'cases.jsonl', '--format', {form!r}, '-o', 'report', '--aef', 'run']))"
    )
    said = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code],
        check=False, cwd=tmp_path, env=environ, capture_output=True, timeout=120,
    )  # fmt: skip
    assert said.returncode in {3, 11}, said.stderr.decode()[-2000:]
    shown = said.stdout.decode() + said.stderr.decode()
    # What the transport logs of reply headers is the server's own echo, not of our making.
    ours = "\n".join(line for line in shown.splitlines() if "receive_response_headers" not in line)
    clean(ours, "what was printed")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert when == 1 or len(files) > 3
    for path in files:
        clean(path.read_bytes().decode("utf-8", "replace"), path.name)


def reachable(error):
    """Everything an error report may show: messages, notes, what hangs on it, and all locals."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error), repr(vars(error))]
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if (
                "closecall/src" in frame.f_code.co_filename
                or "embedders" in frame.f_code.co_filename
            ):
                seen += [repr(value) for value in frame.f_locals.values()]
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


def test_an_error_holds_no_key_in_its_words_nor_in_what_hangs_on_it(
    trouble, when, provider, monkeypatch
):
    for name, value in provider.environment().items():
        monkeypatch.setenv(name, value)
    provider.script = lambda received: trouble if received.number >= when else None
    embedder = load_embedder("openai")
    with pytest.raises(ClosecallError) as caught:
        embedder.embed(["a text"])
    clean(reachable(caught.value), "an error")
    clean(repr(embedder) + repr(vars(embedder)), "the embedder")
    embedder.close()
