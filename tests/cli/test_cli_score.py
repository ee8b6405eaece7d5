"""``closecall score``: one pair, one line, one exit code."""

import io
import re
import sys

import pytest

SAME = "The sky is blue."


def test_a_close_pair_passes(cli):
    said = cli("score", SAME, SAME)
    assert said.code == 0
    assert said.err == ""
    assert said.out == (
        "100.0  passed: high similarity 100.00 %: 100.00 >= 70.00 (default cutoff, not "
        "calibrated); embed_answer_similarity, all-MiniLM-L6-v2\n"
    )


def test_a_distant_pair_fails_with_1(cli):
    said = cli("score", SAME, "Bring an umbrella.")
    assert said.code == 1
    assert re.match(
        r"\d+\.\d+  failed: low similarity \d+\.\d\d %: \d+\.\d+ < 70\.00 \(", said.out
    )


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_text_is_not_measured_and_exits_with_11(cli, blank):
    said = cli("score", blank, SAME)
    assert (said.code, said.out) == (
        11,
        "not_measured: the case's reference is blank (embed_answer_similarity)\n",
    )
    assert cli("score", SAME, blank).code == 11


def test_json_says_everything_known(cli):
    found = cli("score", SAME, SAME, "--json").json
    assert found["EmbeddingModel"] == "all-MiniLM-L6-v2"
    assert found["EmbeddingProvider"] == "local"
    assert len(found["InstrumentDigest"]) == 64
    assert (found["state"], found["metric"]) == ("passed", "embed_answer_similarity")
    assert (found["value"], found["score"], found["similarity"]) == (100.0, 100.0, 1.0)
    assert (found["cutoff"], found["calibrated"]) == (70.0, False)
    assert found["cutoffNote"] == "default cutoff, not calibrated"
    assert found["details"]["interpretation"] == "Excellent"
    assert found["tokens"]["response"] == {
        "seen": 7,
        "total": 7,
        "windows": 1,
        "own": 5,
        "unknown": 0,
    }


def test_json_of_an_absence_has_a_reason_and_no_number(cli):
    said = cli("score", SAME, " ", "--json")
    assert said.code == 11
    assert said.json["state"] == "not_measured"
    assert said.json["reason"] == "the case's response is blank"
    assert not {"value", "score", "similarity"} & set(said.json)


def test_cutoff(cli):
    said = cli("score", SAME, "Bring an umbrella.", "--cutoff", "0")
    assert said.code == 0
    assert "cutoff chosen by you, not calibrated" in said.out
    refused = cli("score", SAME, SAME, "--cutoff", "0.7")
    assert refused.code == 2
    assert "did you mean 70?" in refused.err
    assert cli("score", SAME, SAME, "--cutoff", "nan").code == 2
    hint = cli("score", SAME, SAME, "-m", "semantic_similarity", "--cutoff", "70")
    assert hint.code == 2
    assert "did you mean 0.7?" in hint.err


def test_metric_with_options_is_scored_without_a_verdict(cli):
    said = cli("score", SAME, SAME, "-m", "embedding_similarity:method=euclidean")
    assert said.code == 0
    assert said.out.startswith("1.000  scored: ")
    assert "no cutoff, scored only" in said.out


def test_query_against_context_takes_the_question_first(cli):
    said = cli("score", "What colour is the sky?", SAME, "-m", "embed_query_context", "--json")
    assert set(said.json["tokens"]) == {"input", "context"}


def test_an_unknown_metric_exits_with_3_and_suggests(cli):
    said = cli("score", SAME, SAME, "-m", "embed_answer_similarty")
    assert (said.code, said.out) == (3, "")
    assert "Did you mean embed_answer_similarity?" in said.err


def test_an_unknown_embedder_exits_with_3_and_lists_those_there_are(cli):
    said = cli("score", SAME, SAME, "--embedder", "no-such-model")
    assert said.code == 3
    assert "minilm" in said.err


PLAIN = ["token_recall", "answer_support"]


@pytest.mark.parametrize("metric", PLAIN)
def test_a_metric_that_embeds_nothing_names_no_embedder_and_opens_none(cli, monkeypatch, metric):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("closecall.embedders.registry.load_embedder", None)
    args = ("score", SAME, SAME, "-m", metric, "--cutoff", "0.2")
    said = cli(*args)
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith(f"; {metric}, nothing embedded\n")
    named = cli(*args, "--embedder", "openai:text-embedding-3-small")
    assert (named.code, named.out) == (0, said.out)
    assert "embeds a text, so openai:text-embedding-3-small is not used" in named.err


@pytest.mark.parametrize("metric", PLAIN)
def test_its_json_says_of_the_embedder_what_a_run_says(cli, write, metric):
    found = cli("score", SAME, SAME, "-m", metric, "--json").json
    cases = write({"id": "a", "response": SAME, "reference": SAME})
    whole = cli("eval", cases, "-m", metric, "--no-aef", "--format", "json").json
    assert found["EmbeddingModel"] is found["EmbeddingProvider"] is None
    keys = ("EmbeddingModel", "EmbeddingProvider", "InstrumentDigest")
    assert [found[key] for key in keys] == [whole["metadata"][key] for key in keys]


def test_what_counts_against_an_answer_has_a_line_of_its_own(cli):
    answer = "The sky is blue. The grass is not green.\x1b[31m"
    said = cli("score", f"{SAME} The grass is green.", answer, "-m", "answer_support",
               "--cutoff", "0.99")  # fmt: skip
    assert said.code == 1
    _, *told = said.out.splitlines()
    assert any(re.fullmatch(r"  against: “.+” \(without it: \d\.\d\d\)", line) for line in told)
    assert "\x1b" not in said.out


def stdin_of(monkeypatch, data, encoding="utf-8"):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding=encoding))


def test_a_dash_reads_a_text_from_standard_input(cli, monkeypatch):
    stdin_of(monkeypatch, SAME.encode())
    assert cli("score", "-", SAME).code == 0
    stdin_of(monkeypatch, SAME.encode())
    assert cli("score", SAME, "-").code == 0


def test_standard_input_is_utf_8_whatever_the_terminal_says(cli, monkeypatch):
    text = "Müller überprüft die Höhe."
    stdin_of(monkeypatch, b"\xef\xbb\xbf" + text.encode(), encoding="ascii")
    assert cli("score", text, "-", "--json").json["similarity"] == 1.0
    stdin_of(monkeypatch, text.encode("latin-1"))
    said = cli("score", text, "-")
    assert said.code == 4
    assert "standard input is not UTF-8" in said.err


def test_both_texts_from_standard_input_is_refused(cli):
    said = cli("score", "-", "-")
    assert said.code == 2
    assert "only one" in said.err


def test_a_text_beyond_the_window_is_read_whole_in_part_or_not_at_all(cli):
    long = "the sky is blue and the grass is green " * 60
    chunk = cli("score", long, long, "--json").json["tokens"]["response"]
    assert chunk["seen"] == chunk["total"] > 256
    assert chunk["windows"] > 1
    cut = cli("score", long, long, "--json", "--window", "truncate").json["tokens"]["response"]
    assert cut["seen"] < cut["total"] == chunk["total"]
    refused = cli("score", long, long, "--window", "error")
    assert refused.code == 11
    assert refused.out.startswith("not_measured: embedding the response failed")


def test_in_a_process_of_its_own(process):
    said = process("score", SAME, "-", input=b"Bring an umbrella.")
    assert said.returncode == 1
    assert b"failed: low similarity" in said.stdout
    assert said.stderr == b""


def test_the_number_of_threads_is_taken_from_the_environment(cli, process, monkeypatch):
    monkeypatch.setenv("CLOSECALL_THREADS", "many")
    said = process("score", SAME, SAME, encoding="utf-8")
    assert said.returncode == 3
    assert "CLOSECALL_THREADS must be a whole number from 1, got 'many'" in said.stderr
    assert cli("score", SAME, SAME, "--threads", "1").code == 0
    assert "[default:\nCLOSECALL_THREADS, else 1]" in re.sub(
        r"\n +", "\n", cli("score", "--help").out
    )
