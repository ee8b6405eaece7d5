"""No command that asks a provider, a hub or a storage leaves or says a secret when it fails."""

import json
import logging
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "loopback"))

from fake_chat import FakeChat
from fake_provider import KEY, FakeProvider, error

from closecall.cli import run

pytestmark = [
    pytest.mark.loopback,
    pytest.mark.skipif(find_spec("openai") is None, reason="needs openai: closecall[remote]"),
]

PASSWORD = "pw-D9e8F7g6H5-of-the-proxy"  # noqa: S105
TOKEN = "hf_T0k3nOfNobodyWhoIsReal42"  # noqa: S105
SIGNATURE = "sv2024sigZ9y8X7w6V5u4"
SECRETS = (KEY, PASSWORD, TOKEN, SIGNATURE)
PARTS = {secret[at : at + 8] for secret in SECRETS for at in range(len(secret) - 7)}
"""A part of a secret is a secret to whoever guesses the rest."""

AFAR = ("--embedder", "openai:m")
LABELLED = [
    {"id": f"c{n}", "input": f"q {n}", "response": f"answer {n}", "reference": f"it is {n}", "context": f"text {n}", "label": "accept" if n % 2 else "reject"}
    for n in range(12)
]  # fmt: skip

# Each command that embeds, in words that make it ask the provider.
EMBEDDING = [
    ("score", "a", "b", *AFAR),
    ("score", "a", "b", "--json", *AFAR),
    ("eval", "cases.jsonl", "-o", "report.html", "--aef", "run", "--record", "tape", *AFAR),
    ("eval", "cases.jsonl", "--parts", "parts", *AFAR),
    ("calibrate", "cases.jsonl", "-o", "cutoff.json", "--max-far", "0.4", *AFAR),
    ("audit", "cases.jsonl", "-o", "audit.html", *AFAR),
    ("stress", "cases.jsonl", "-o", "stress.json", *AFAR),
    ("index", "build", "corpus.jsonl", "-o", "corpus.index", *AFAR),
    ("search", "corpus.jsonl", "what is it", *AFAR),
    ("retrieval", "corpus.jsonl", "queries.jsonl", "qrels.tsv", *AFAR),
    ("check-gates", "cases.jsonl", "--gate", "pass_rate(embed_answer_similarity) >= 0.5", *AFAR),
    ("plan", "cases.jsonl", "--batch", "improve", "--cutoff", "60", "-o", "batch.jsonl", *AFAR),
    ("compare-models", "cases.jsonl", "--max-far", "0.4", "--resamples", "100", *AFAR, "--embedder", "minilm"),
    ("models", "isotropy", "cases.jsonl", "-o", "iso.json", *AFAR),
    ("models", "parity", "minilm", "openai:m", "cases.jsonl"),
]  # fmt: skip
ASKING = [
    ("eval", "cases.jsonl", "-m", "llm_groundedness", "--judge-model", "openai:m", "-o", "r.json"),
    ("eval", "asked.jsonl", "--model", "openai:m", "-m", "token_f1", "--record", "tape", "-o", "r.csv"),
]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with inputs, and the secrets of a whole machine in the environment."""
    folder = tmp_path / "here"
    folder.mkdir()
    files = {
        "cases.jsonl": LABELLED,
        "asked.jsonl": [{"id": "1", "input": "question", "reference": "it"}],
        "corpus.jsonl": [{"_id": f"d{n}", "text": f"passage {n}"} for n in range(4)],
        "queries.jsonl": [{"_id": "q1", "text": "passage 1"}],
    }
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(folder / "models"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SIGNATURE)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=a;AccountKey={SIGNATURE}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://someone:{PASSWORD}@127.0.0.1:9")
    return folder


@pytest.fixture
def started(monkeypatch):
    """The arguments of every process that is started, which others can see."""
    seen = []
    start = subprocess.Popen.__init__

    def watch(self, args, *rest, **more):
        seen.append(f"{args}")
        start(self, args, *rest, **more)

    monkeypatch.setattr(subprocess.Popen, "__init__", watch)
    return seen


@pytest.fixture
def tried(here, started, capfd, caplog):
    """Run a command twice, once with tracebacks; return its code and all it left, by where."""

    def call(*arguments):
        shown = {}
        with caplog.at_level(logging.DEBUG):
            code = run(list(arguments))
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("CLOSECALL_DEBUG", "1")
                run(list(arguments))
        shown["standard output"], shown["standard error"] = capfd.readouterr()
        # What the transport logs of reply headers is the server's own echo, not of our making.
        ours = [text for text in caplog.messages if "receive_response_headers" not in text]
        shown["the log"] = "\n".join(ours)
        shown["what ps shows"] = "\n".join(started)
        for path in here.rglob("*"):
            shown[f"the name {path.name}"] = str(path)
            if path.is_file():
                shown[path.name] = path.read_bytes().decode("utf-8", "replace")
        return code, shown

    return call


def clean(shown):
    for where, text in shown.items():
        for part in PARTS:
            assert part not in text, f"part of a secret in {where}"


ECHO = (("x-echo", KEY), ("authorization", f"Bearer {KEY}"))


@pytest.mark.parametrize("arguments", EMBEDDING, ids=" ".join)
def test_a_key_that_a_provider_repeats_is_in_no_output(arguments, tried, monkeypatch):
    with FakeProvider("openai") as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OPENAI_LOG", "debug")
        provider.script = lambda _: error(f"Incorrect API key: {KEY}", status=401, headers=ECHO)
        code, shown = tried(*arguments)
        assert provider.requests, "the provider was not asked"
    assert code in {3, 5, 11}, shown["standard error"]
    assert "401" in shown["standard error"] + shown["standard output"]
    clean(shown)


@pytest.mark.parametrize("arguments", ASKING, ids=" ".join)
def test_a_key_that_a_chat_model_s_server_repeats_is_in_no_output(arguments, tried, monkeypatch):
    with FakeChat("openai") as chat:
        for name, value in chat.environment().items():
            monkeypatch.setenv(name, value)
        chat.script = lambda _: error(f"bad request by Bearer {KEY}", headers=ECHO)
        code, shown = tried(*arguments, "--aef", "run")
        assert chat.requests, "the server was not asked"
    assert code in {3, 5, 11}, shown["standard error"]
    clean(shown)


def test_what_doctor_finds_at_a_provider_holds_no_key(tried, monkeypatch):
    with FakeProvider("openai") as provider:
        for name, value in provider.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AI_INFERENCE_PROVIDER", "openai")
        provider.script = lambda _: error(f"Incorrect API key: {KEY}", status=401, headers=ECHO)
        code, shown = tried("doctor", "--json")
    assert code == 3
    clean(shown)


PROXIED = [
    ("score", "a", "b", *AFAR),
    ("eval", "asked.jsonl", "--model", "openai:m", "-m", "token_f1"),
    ("models", "pull", "someone/something"),
    ("models", "pull", "bge-small-en-v1.5"),
]


@pytest.mark.parametrize("arguments", PROXIED, ids=" ".join)
def test_the_password_of_a_proxy_that_does_not_answer_is_in_no_output(
    arguments, tried, monkeypatch
):
    import time

    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr("closecall.models.patience._wait", lambda *_: 0.0)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.example/v1")
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example")
    code, shown = tried(*arguments)
    assert code in {3, 5, 11}, shown["standard error"]
    assert shown["standard error"]
    clean(shown)


ADDRESSES = [
    ("HF_ENDPOINT", f"https://someone:{PASSWORD}@hub.example", ("models", "pull", "a/b")),
    ("HF_ENDPOINT", f"https://hub.example/?token={TOKEN}", ("models", "pull", "a/b")),
    ("OPENAI_BASE_URL", f"https://someone:{PASSWORD}@api.example/v1", ("score", "a", "b", *AFAR)),
    ("OPENAI_BASE_URL", f"https://api.example/v1?key={SIGNATURE}", ("score", "a", "b", *AFAR)),
]


@pytest.mark.parametrize(("variable", "value", "arguments"), ADDRESSES)
def test_a_secret_in_an_address_is_in_no_output(variable, value, arguments, tried, monkeypatch):
    import time

    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv(variable, value)
    code, shown = tried(*arguments)
    assert code in {2, 3, 5}, shown["standard error"]
    clean(shown)


SECRET_URL = f"s3://someone:{PASSWORD}@bucket/place.jsonl"
STORED = [
    ("eval", SECRET_URL),
    ("eval", "cases.jsonl", "--aef", f"az://container/run?sig={SIGNATURE}"),
    ("eval", "cases.jsonl", "-o", f"s3://bucket/report.json?X-Amz-Signature={SIGNATURE}"),
    ("eval", "cases.jsonl", "--record", SECRET_URL),
    ("eval", "cases.jsonl", "--labels", SECRET_URL),
    ("eval", "cases.jsonl", "--calibration", SECRET_URL),
    ("eval", "cases.jsonl", "--calibration", f"https://h.example/c.json?sig={SIGNATURE}"),
    ("calibrate", f"s3://bucket/cases.jsonl#{SIGNATURE}"),
    ("report", SECRET_URL, "-o", "page.html"),
    ("runs", "list", f"az://container/runs?sig={SIGNATURE}"),
    ("verify", f"s3://{PASSWORD}@bucket/run"),
    ("plan", SECRET_URL),
    ("label", SECRET_URL),
    ("search", SECRET_URL, "what"),
    ("index", "build", SECRET_URL, "-o", "made"),
    ("index", "show", SECRET_URL),
    ("retrieval", SECRET_URL, "queries.jsonl", "qrels.tsv"),
    ("import", SECRET_URL),
    ("models", "add", SECRET_URL),
    ("models", "unbundle", SECRET_URL),
    ("cassette", "stats", SECRET_URL),
    ("score", "a", "b", "--embedder", f"onnx:{SECRET_URL}"),
]


@pytest.mark.parametrize("arguments", STORED, ids=lambda one: " ".join(one[:2])[:40])
def test_a_secret_in_a_url_of_storage_is_refused_and_not_repeated(arguments, tried):
    code, shown = tried(*arguments)
    assert code in {2, 3, 4}, shown["standard error"]
    clean(shown)
