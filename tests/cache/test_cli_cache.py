"""``closecall cache`` as a person types it."""

import json
import re
import sqlite3
import types
from contextlib import closing
from datetime import UTC, date, datetime

import pytest
from cache_data import TEXTS, check, instrument, rows
from click.testing import CliRunner

from closecall.cache import VectorCache, cache_path
from closecall.cli import cache as module
from closecall.cli.cache import command
from closecall.embedders import registry
from closecall.errors import ConfigurationError, UnknownNameError, UsageError


@pytest.fixture
def run():
    def typed(*arguments, **options):
        return CliRunner().invoke(command, arguments, prog_name="closecall cache", **options)

    return typed


@pytest.fixture
def store():
    """The file the commands use, with 60 vectors."""
    path = cache_path()
    with VectorCache(path) as cache:
        cache.put_many(instrument(), rows(instrument(), TEXTS))
    return path


@pytest.fixture
def embedder(monkeypatch):
    """What ``load_embedder`` returns, and the arguments it was called with."""
    calls = []

    def load(spec=None, *, window="chunk"):
        calls.append((spec, window))
        return types.SimpleNamespace(instrument=instrument(window=window))

    monkeypatch.setattr(registry, "load_embedder", load)
    return calls


@pytest.mark.parametrize("name", ["", "info", "prune", "clear", "explain"])
def test_help_shows_an_example(run, name):
    out = run(*filter(None, [name]), "--help").output
    assert "Example:\n" in out
    assert f"closecall cache {name}".strip() in out.split("Example:")[1]


@pytest.mark.parametrize("name", ["info", "prune", "clear", "explain"])
def test_every_command_takes_json_and_a_folder(run, name):
    out = run(name, "--help").output
    assert "--json" in out
    assert "--cache-dir" in out


def test_info(run, store):
    out = run("info").output
    assert str(store) in out
    assert "60 vectors" in out
    assert re.search(r"[0-9a-f]{12}  tiny \(local\): 60 vectors, 5.8 kB, last used 2", out)


def test_info_json(run, store):
    found = json.loads(run("info", "--json").output)
    assert found["path"] == str(store)
    assert found["rows"] == 60
    assert found["instruments"][0]["digest"] == instrument().digest


def test_info_of_another_folder(run, store, tmp_path):
    out = run("info", "--cache-dir", str(tmp_path / "x")).output
    assert "nothing stored yet" in out
    assert not (tmp_path / "x").exists()


def test_info_says_what_was_set_aside(run, store):
    store.write_bytes(b"nothing that a database would hold" * 50)
    result = run("info")
    assert result.exit_code == 0
    assert "set aside as" in result.stderr
    assert "set aside: " in result.stdout


def test_prune_by_size(run, store):
    with VectorCache(store) as cache:
        cache.put_many(instrument(), rows(instrument(), [f"more {n}" for n in range(2000)]))
    done = json.loads(run("prune", "--max-size", "200kB", "--json").output)
    assert 0 < done["rows_left"] < 2060
    assert store.stat().st_size <= 200_000


def test_prune_by_age_and_model(run, store):
    assert "dropped 0 vectors, 60 left" in run("prune", "--older-than", "30d").output
    assert "dropped 60 vectors, 0 left" in run("prune", "--model", "tiny").output
    assert isinstance(run("prune", "--model", "huge").exception, UnknownNameError)


def test_prune_of_nothing_in_particular(run):
    result = run("prune")
    assert result.exit_code == 2
    assert "--max-size 500MB" in result.output


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("500MB", 500_000_000),
        ("2GiB", 2 * 2**30),
        ("1.5 kb", 1500),
        ("77", 77),
        ("0", 0),
        ("1TB", 10**12),
        ("12b", 12),
    ],
)
def test_sizes(text, count):
    assert module.size(text) == count


@pytest.mark.parametrize(("text", "days"), [("30d", 30), ("8w", 56), ("45", 45), ("0d", 0)])
def test_ages(text, days):
    assert module.age(text) == days


@pytest.mark.parametrize("bad", ["", "-5MB", "5 bananas", "MB", "1e9", "5m", "٣٠"])
def test_sizes_and_ages_that_are_none(run, bad):
    for option in ("--max-size", "--older-than"):
        result = run("prune", f"{option}={bad}")
        assert result.exit_code == 2
        assert "write it like" in result.output


def test_clear_asks_nobody_without_a_terminal(run, store):
    result = run("clear")
    assert result.exit_code == 2
    assert "closecall cache clear --yes" in result.output
    with VectorCache(store) as cache:
        assert check(cache, instrument(), TEXTS) == 60


@pytest.mark.parametrize(("answer", "left"), [("n\n", 60), ("y\n", 0)])
def test_clear_asks_at_a_terminal(run, store, monkeypatch, answer, left):
    monkeypatch.setattr(module, "_someone_is_there", lambda: True)
    run("clear", input=answer)
    with VectorCache(store) as cache:
        assert check(cache, instrument(), TEXTS) == left


def test_clear(run, store):
    assert "dropped 60 vectors, 0 left" in run("clear", "--yes").output
    with VectorCache(store) as cache:
        assert check(cache, instrument(), TEXTS) == 0


def test_a_folder_that_cannot_be_used_is_an_error(run, tmp_path):
    cache_path(tmp_path).mkdir()
    error = run("info", "--cache-dir", str(tmp_path)).exception
    assert isinstance(error, ConfigurationError)
    assert str(tmp_path) in str(error)


def test_explain_a_hit(run, store, embedder):
    out = run("explain", TEXTS[0]).output
    assert "text as text under tiny" in out
    assert "hit, 27 of 28 tokens seen" in out
    assert "text as query under tiny" in out, "a role with a prefix of its own is told apart"
    assert "as document" not in out
    assert embedder == [(None, "chunk")]


def test_explain_a_miss_names_what_changed(run, store, embedder):
    out = run("explain", TEXTS[0], "--role", "text", "--window", "truncate", "--embedder", "x")
    assert "miss" in out.output
    assert "window: stored 'chunk', asked 'truncate'" in out.output
    used = date.fromisoformat(re.search(r"last used ([\d-]+)", out.output)[1])
    assert (datetime.now(UTC).date() - used).days in {0, 1}  # it may be midnight
    assert embedder == [("x", "truncate")]


def test_explain_json(run, store, embedder):
    found = json.loads(run("explain", TEXTS[0], "--role", "query", "--json").output)
    (one,) = found["texts"]
    assert (one["name"], one["hit"], one["role"]) == ("text", False, "query")
    assert one["others"][0]["differences"] == [
        {"field": "role", "stored": "text", "asked": "query"}
    ]


def test_explain_a_case(run, store, embedder, tmp_path):
    file = tmp_path / "cases.jsonl"
    rows_ = [
        {"id": "a", "input": "Where is it?", "response": "No idea."},
        {"id": "b", "input": "Where is it?", "response": TEXTS[1], "references": [TEXTS[2], "x"]},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows_), encoding="utf-8")
    found = json.loads(run("explain", "--case", f"{file}:b", "--json").output)
    assert [(one["name"], one["hit"]) for one in found["texts"]] == [
        ("references[0]", True),
        ("references[1]", False),
        ("response", True),
    ]
    assert found["absent"] == {}
    assert isinstance(run("explain", "--case", f"{file}:c").exception, UsageError)
    assert isinstance(run("explain", "--case", "nothing").exception, UsageError)


@pytest.mark.parametrize("arguments", [[], ["text", "--case", "f:1"]])
def test_explain_takes_one_of_two(run, arguments):
    result = run("explain", *arguments)
    assert result.exit_code == 2
    assert "either a TEXT or --case" in result.output


@pytest.fixture
def context_case(tmp_path):
    """A case with two passages, in columns that must be named."""
    file = tmp_path / "cases.jsonl"
    row = {"id": "a", "ask": "Where is it?", "bot": TEXTS[0], "found": [TEXTS[1], TEXTS[2]]}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    columns = ("input=ask", "response=bot", "context=found")
    return [f"--case={file}:a", *(f"--map={column}" for column in columns)]


def test_explain_a_case_looks_for_what_a_metric_embeds(run, store, embedder, context_case):
    """Passages are joined and embedded as one text; that vector decides."""
    arguments = ("explain", *context_case, "-m", "embed_response_context", "--json")
    found = json.loads(run(*arguments).output)["texts"]
    wanted = [("context", False), ("response", True), ("context[0]", True), ("context[1]", True)]
    assert [(one["name"], one["hit"]) for one in found] == wanted
    with VectorCache(store) as cache:
        cache.put_many(instrument(), rows(instrument(), [f"{TEXTS[1]}\n{TEXTS[2]}"]))
    assert all(one["hit"] for one in json.loads(run(*arguments).output)["texts"])


def test_explain_a_case_takes_the_roles_from_the_metrics(run, store, embedder, context_case):
    names = "embed_query_context,embed_answer_similarity"
    found = json.loads(run("explain", *context_case, "-m", names, "--json").output)
    assert [(one["name"], one["role"]) for one in found["texts"]] == [
        ("input", "query"),
        ("context", "text"),
        ("context[0]", "text"),
        ("context[1]", "text"),
    ]
    assert found["absent"] == {"embed_answer_similarity": "the case's reference is missing"}
    said = run("explain", *context_case, "-m", names).output
    assert "input as query under tiny" in said
    assert "embed_answer_similarity: embeds nothing: the case's reference is missing" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("text", "-m", "embed_query_context"), "are for --case"),
        (("text", "--map", "response=bot"), "are for --case"),
        (("--case", "f:1", "--role", "query"), "--role is for a TEXT"),
    ],
)
def test_explain_refuses_options_that_have_no_effect(run, arguments, said):
    result = run("explain", *arguments)
    assert result.exit_code == 2
    assert said in result.output


EVIL = "\x1b[31mred"


def test_what_the_file_says_is_shown_not_obeyed(run, store, embedder):
    evil = instrument(model=EVIL, provider=EVIL)
    with VectorCache(store) as cache:
        cache.put_many(evil, rows(evil, ["only there"]))
    for arguments in (("info",), ("explain", "only there", "--role", "text")):
        result = run(*arguments, color=True)
        assert "\\x1b[31mred" in result.output
        assert "\x1b" not in result.output


def test_what_a_foreign_schema_says_is_shown_not_obeyed(run, store):
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute(f'CREATE TABLE "{EVIL}"(a)')
    result = run("info", color=True)
    assert "table \\x1b[31mred" in result.stderr
    assert "\x1b" not in result.output + result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["info"], ["prune", "--max-size", "1MB"], ["clear", "--yes"], ["explain", "a text"]],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_that_may_not_be_looked_into_is_an_error_with_its_reason(
    arguments, unprivileged, tmp_path
):
    said = unprivileged("cache", *arguments, "--cache-dir", tmp_path / "cache")
    assert said.returncode == 3, said.stderr
    assert f"cannot use {cache_path(tmp_path / 'cache')} (Permission denied)" in said.stderr
    assert "--cache-dir" in said.stderr
