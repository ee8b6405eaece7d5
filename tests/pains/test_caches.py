"""What is kept between runs: never a verdict, never another model's vectors, and never for ever.

A metric's options were missing from the key, a wrong answer was served for a year, and vectors of
one model for another (confident-ai/deepeval#2840, #734; Krzysztof318/MailFathom#2063;
Beledarian/Beledarians_LM_Studio_Toolbox#97). Nobody could say where the cache lies or share it
(confident-ai/deepeval#2443). Runs piled up without a limit (Azure/azure-sdk-tools#11855).
"""

import json

import pytest
from fake_chat import error, turn
from full_marks import MARKS

REMOTE = ("--embedder", "openai-compatible:asked-model", "--guards", "off", "--no-aef", "-q")
CASE = {"id": "a", "reference": "a wooden boat", "response": "a boat of wood"}


def texts(server):
    """What was sent since the last look, without the text that finds out what the server is."""
    found = [text for one in server.requests for text in one.texts if "boat" in text]
    server.requests.clear()
    return sorted(found)


@pytest.mark.loopback
def test_scores_and_verdicts_are_made_anew_from_the_vectors_that_were_kept(cli, write, embedding):
    embedding.vectors = lambda text: [1.0, 0.0] if "wooden" in text else [0.6, 0.8]
    write(CASE)

    def value(*more):
        told = cli("eval", "cases.jsonl", *REMOTE, "--format", "json", *more)
        (row,) = told.json["results"]
        return row["metrics"][0]["value"], row["state"]

    method = "embedding_similarity:method="
    assert value("--cutoff", "50") == (60.0, "passed")
    assert texts(embedding) == ["a boat of wood", "a wooden boat"]
    assert value("--cutoff", "70") == (60.0, "failed")
    assert value("-m", f"{method}dot")[0] == pytest.approx(0.6)
    euclidean, manhattan = value("-m", f"{method}euclidean"), value("-m", f"{method}manhattan")
    assert euclidean[0] != manhattan[0]
    assert texts(embedding) == []
    assert value("--cutoff", "50", "--no-cache") == (60.0, "passed")
    assert texts(embedding) == ["a boat of wood", "a wooden boat"]


@pytest.mark.loopback
def test_what_was_kept_of_one_model_is_not_served_for_another(cli, write, embedding, monkeypatch):
    write(CASE)
    assert cli("eval", "cases.jsonl", *REMOTE).code == 0
    texts(embedding)
    for change in ("served-model-v2", None):
        if change is None:
            monkeypatch.setenv("AI_EMBEDDING_DIMENSIONS", "2")
        else:
            embedding.model = change
        assert cli("eval", "cases.jsonl", *REMOTE).code == 0
        assert len(texts(embedding)) == 2
        assert cli("eval", "cases.jsonl", *REMOTE).code == 0
        assert texts(embedding) == []


@pytest.mark.loopback
def test_why_a_text_is_not_served_is_told_by_the_field_that_changed(cli, write, embedding):
    write(CASE)
    cli("eval", "cases.jsonl", *REMOTE)
    embedder = ("--embedder", "openai-compatible:asked-model")
    explain = ("cache", "explain", "--case", "cases.jsonl:a", *embedder)
    assert cli(*explain).out.count(": hit") == 2
    embedding.model = "served-model-v2"
    told = cli(*explain)
    assert told.out.count(": miss") == 2
    assert "server_model" in told.out
    assert "served-model-v2" in told.out


@pytest.mark.loopback
def test_a_failure_is_kept_nowhere_and_asked_again(cli, write, embedding):
    write(CASE)
    usual = embedding.script

    def script(received):
        if any("wood" in text for text in received.texts):
            return error("The input is refused.", status=400)
        return usual(received)

    embedding.script = script
    assert cli("eval", "cases.jsonl", *REMOTE).code == 11
    embedding.script = usual
    embedding.requests.clear()
    assert cli("eval", "cases.jsonl", *REMOTE).code == 0
    assert texts(embedding) == ["a boat of wood", "a wooden boat"]


@pytest.mark.loopback
def test_a_judge_s_mark_is_replayed_only_when_asked_for_and_only_for_the_same_request(
    cli, write, judge
):
    case = {"id": "a", "input": "Which boat?", "response": "The wooden one."}
    asked = (
        "eval", "cases.jsonl", "--judge-model", "openai-compatible:asked-model", "--no-aef", "-q",
        "--format", "json", "-m",
    )  # fmt: skip

    def mark(metric, *more):
        told = cli(*asked, metric, *more)
        return told.code, told.json["results"][0]["metrics"][0]["value"] if told.out else None

    write(case)
    assert mark("llm_relevance", "--record", "tape") == (0, 5)
    low = MARKS | {"score": 1}
    judge.script = lambda received: judge.reply(received, turn(json.dumps(low)))
    assert mark("llm_relevance", "--replay", "tape") == (0, 5)
    assert mark("llm_relevance") == (1, 1)  # without a recording nothing is remembered
    assert mark("llm_relevance:max_tokens=900", "--replay", "tape") == (5, None)
    write(case | {"response": "The  wooden one."})
    assert mark("llm_relevance", "--replay", "tape") == (5, None)
    assert "content" in cli(*asked, "llm_relevance", "--replay", "tape").err


@pytest.mark.parametrize("way", ["variable", "option"])
def test_the_cache_lies_where_it_is_told_to_and_serves_another_folder_of_work(
    cli, write, here, monkeypatch, way
):
    shared = here / "shared cache"
    monkeypatch.setenv("CLOSECALL_CACHE_DIR", str(shared if way == "variable" else here / "not"))
    option = () if way == "variable" else ("--cache-dir", shared)
    write(CASE)
    assert cli("eval", "cases.jsonl", "--no-aef", "-q", *option).code == 0
    assert [path.name for path in shared.glob("*.sqlite3")] == ["vectors-v1.sqlite3"]
    assert not (here / "not").exists()

    elsewhere = here / "elsewhere"
    elsewhere.mkdir()
    shared = shared.rename(elsewhere / "carried over")
    monkeypatch.chdir(elsewhere)
    told = cli("cache", "explain", CASE["response"], "--cache-dir", shared)
    assert ": hit, " in told.out
    assert str(shared) in cli("cache", "info", "--cache-dir", shared).out


def test_runs_that_pile_up_are_listed_and_the_oldest_removed(cli, write, here):
    write(CASE)
    for at in range(5):
        folder = f".closecall/runs/run-{at}"
        assert cli("eval", "cases.jsonl", "-m", "token_f1", "-q", "--aef", folder).code in {0, 1}
    (here / ".closecall" / "runs" / "notes").mkdir()
    assert len(cli("runs", "list", "--json").json) == 5
    told = cli("runs", "prune", "--keep", "2")
    assert "would remove" in told.out
    assert len(cli("runs", "list", "--json").json) == 5
    assert cli("runs", "prune", "--keep", "2", "--yes").code == 0
    left = sorted(path.name for path in (here / ".closecall" / "runs").iterdir())
    assert left == ["notes", "run-3", "run-4"]
    assert cli("runs", "show", "run-4").code == 0


def test_a_folder_with_a_line_break_in_its_name_cannot_write_lines_of_the_list(cli, write, here):
    write(CASE)
    run = here / ".closecall" / "runs" / "first"
    cli("eval", "cases.jsonl", "-m", "token_f1", "-q", "--aef", run)
    run.rename(run.with_name("odd\nremoved 3 runs"))
    assert not any(line.startswith("removed") for line in cli("runs", "list").out.splitlines())
