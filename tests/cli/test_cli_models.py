"""``closecall models``: list, inspect, add and verify, with a small model made here."""

import pytest
import tiny_bert

from closecall.models import store


@pytest.fixture
def folder(tmp_path):
    tiny_bert.write_folder(tmp_path / "tiny", prompts={"query": "query: ", "passage": "passage: "})
    return tmp_path / "tiny"


def test_list_shows_the_bundled_model_and_its_short_name(cli):
    said = cli("models", "list")
    assert said.code == 0
    assert "all-MiniLM-L6-v2, minilm" in said.out
    assert "bundled" in said.out
    assert str(store.store_folder()) in said.err


def test_list_as_json(cli):
    model, pair = cli("models", "list", "--json").json
    assert (model["name"], model["dims"], model["place"]) == ("all-MiniLM-L6-v2", 384, "bundled")
    assert (pair["name"], pair["kind"], pair["place"]) == ("pair-minilm", "pair", "bundled")
    (line,) = [line for line in cli("models", "list").out.splitlines() if "pair-minilm" in line]
    assert line.split()[1:] == ["pairs", str(pair["window"]), "tokens", "int8-weights", "bundled"]


def test_info_of_the_pair_model_shows_what_its_values_depend_on(cli):
    found = cli("models", "info", "pair-minilm", "--json").json
    assert found["card"]["name"] == "pair-minilm"
    assert found["identity"]["graph"] == found["card"]["files"][0]["sha256"]
    said = cli("models", "info", "pair-minilm").out
    assert found["identity"]["digest"] in said
    # Sentences have a line each, and what was counted is shown as a whole number.
    assert {f"    {limit}" for limit in found["card"]["limits"]} < set(said.splitlines())
    assert f"    pairs kept apart: {int(found['card']['figures']['pairs kept apart'])}\n" in said


def test_the_pair_model_is_verified_and_embeds_nothing(cli):
    said = cli("models", "verify", "pair-minilm")
    assert (said.code, "3 / 3 files as recorded" in said.out) == (0, True)
    said = cli("score", "a", "b", "--embedder", "pair-minilm")
    assert said.code == 3
    assert "makes no vector" in said.err


def test_info_shows_the_identity_of_the_vectors(cli):
    found = cli("models", "info", "minilm", "--json").json
    assert found["card"]["name"] == "all-MiniLM-L6-v2"
    assert len(found["instrument"]["digest"]) == 64
    text = cli("models", "info").out
    assert found["instrument"]["digest"] in text
    for file in found["card"]["files"]:
        assert file["sha256"] in text


def test_info_is_plain_lines(cli, folder):
    cli("models", "add", folder, "--alias", "small", "--alias", "wee")
    found = cli("models", "info", "tiny", "--json").json
    said = cli("models", "info", "tiny")
    card = found["card"]
    files = "".join(f"    {f['name']}  {f['sha256']}  {f['size']}\n" for f in card["files"])
    assert f"  files:\n{files}" in said.out
    assert "  aliases: small, wee\n" in said.out
    assert "  languages: -\n" in said.out
    assert "  prefixes:\n    document: passage: \n    query: query: \n" in said.out
    assert not set("(){}[]'") & set(said.out.replace(str(store.store_folder()), ""))


def test_an_added_model_is_listed_verified_and_used(cli, folder, write, passing):
    said = cli(
        "models", "add", folder, "--alias", "small", "--storage", "fp16", "--licence", "MIT"
    )
    assert said.code == 0, said.err
    assert "added tiny (24 dims)" in said.out
    assert "--embedder tiny" in said.err
    assert [m["name"] for m in cli("models", "list", "--json").json] == [
        "all-MiniLM-L6-v2",
        "pair-minilm",
        "tiny",
    ]
    card = cli("models", "info", "small", "--json").json["card"]
    assert (card["licence"], card["precision"]) == ("MIT", "fp16-weights")
    assert card["prefixes"] == {"query": "query: ", "document": "passage: "}
    assert cli("models", "verify", "small").code == 0
    case = {"input": "red cat", "context": "blue dog", "response": "a bird", "reference": "a bird"}
    run = cli(
        "eval", write(case), "--embedder", "small", "--no-aef", "--format", "json",
        "-m", "embed_answer_similarity,embed_query_context",
    )  # fmt: skip
    assert run.json["metadata"]["EmbeddingModel"] == "tiny"
    assert run.json["stats"]["total"] == 1
    assert run.json["results"][0]["metricScores"]["embed_answer_similarity"] == 100.0


def test_a_model_folder_can_be_used_where_it_lies(cli, folder):
    cli("models", "add", folder)
    said = cli(
        "score", "red cat", "red cat", "--embedder", f"onnx:{store.store_folder() / 'tiny'}"
    )
    assert said.code == 0, said.err
    said = cli("score", "red cat", "red cat", "--embedder", f"onnx:{folder}")
    assert said.code == 3
    assert "closecall models add" in said.err


def test_prefixes_may_be_given(cli, folder):
    cli("models", "add", folder, "--prefix", "query=ask: ", "--prefix", "text=say: ")
    card = cli("models", "info", "tiny", "--json").json["card"]
    assert card["prefixes"]["query"] == "ask: "
    assert cli("models", "add", folder, "--name", "b", "--prefix", "ask").code == 2


def test_a_model_is_not_replaced_unless_asked(cli, folder):
    assert cli("models", "add", folder).code == 0
    again = cli("models", "add", folder)
    assert again.code == 2
    assert "--force" in again.err
    assert cli("models", "add", folder, "--force").code == 0
    assert cli("models", "add", folder, "--name", "minilm").code == 2


def test_a_folder_that_is_no_model_is_refused(cli, tmp_path):
    assert cli("models", "add", tmp_path / "nowhere").code == 2
    said = cli("models", "add", tmp_path)
    assert said.code == 3
    assert "modules.json" in said.err


def test_an_architecture_the_compiler_does_not_know_is_refused_by_name(cli, tmp_path):
    tiny_bert.write_folder(tmp_path / "other", config={"model_type": "mamba"})
    said = cli("models", "add", tmp_path / "other")
    assert said.code == 3
    assert "'mamba'" in said.err
    assert cli("models", "list", "--json").json[-1]["place"] == "bundled"


def test_verify_hashes_every_file_of_every_model(cli, folder):
    cli("models", "add", folder)
    said = cli("models", "verify")
    assert said.code == 0
    assert "all-MiniLM-L6-v2" in said.out
    assert "7 / 7 files as recorded" in said.out


def test_a_changed_file_is_bad_and_exits_with_3(cli, folder):
    cli("models", "add", folder)
    graph = store.store_folder() / "tiny" / "model.onnx"
    data = bytearray(graph.read_bytes())
    data[len(data) // 2] ^= 1
    graph.write_bytes(data)
    said = cli("models", "verify", "tiny")
    assert said.code == 3
    assert "BAD tiny" in said.out
    assert "expected sha256" in said.out
    assert "1 / 2 files as recorded" in said.out
    assert cli("models", "verify", "minilm").code == 0


def test_a_broken_card_is_told_and_hides_no_other_model(cli):
    broken = store.store_folder() / "odd"
    broken.mkdir(parents=True)
    (broken / "card.toml").write_text("not = [toml", encoding="utf-8")
    said = cli("models", "list")
    assert said.code == 0
    assert "minilm" in said.out
    assert "card.toml" in said.err
    assert cli("models", "verify").code == 3


def test_an_unknown_model_exits_with_3_and_lists_those_there_are(cli):
    for command in ("info", "verify"):
        said = cli("models", command, "no-such")
        assert said.code == 3
        assert "all-MiniLM-L6-v2 (minilm)" in said.err
