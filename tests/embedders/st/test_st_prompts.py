"""Which prefix a model gets, and who says so."""

import pytest

from closecall.embedders.prompts import FAMILIES, find_family, find_prompts
from closecall.errors import ModelError

SEARCH = "Represent this sentence for searching relevant passages: "
TASK = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

# What the published cards say, by the names the models are published under.
CARDS = {
    "intfloat/e5-small-v2": ("e5", "query: ", "passage: ", "query: "),
    "intfloat/multilingual-e5-large": ("e5", "query: ", "passage: ", "query: "),
    "intfloat/multilingual-e5-large-instruct": ("e5-instruct", f"{TASK} ", "", ""),
    "intfloat/e5-mistral-7b-instruct": ("e5-instruct", f"{TASK} ", "", ""),
    "BAAI/bge-small-en-v1.5": ("bge-en", SEARCH, "", ""),
    "BAAI/bge-large-zh-v1.5": ("bge-zh", "为这个句子生成表示以用于检索相关文章：", "", ""),
    "BAAI/bge-m3": ("bge-m3", "", "", ""),
    "nomic-ai/nomic-embed-text-v1.5": (
        "nomic", "search_query: ", "search_document: ", "classification: ",
    ),
    "thenlper/gte-base": ("gte", "", "", ""),
    "Alibaba-NLP/gte-modernbert-base": ("gte", "", "", ""),
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct": ("gte-qwen", f"{TASK} ", "", ""),
    "Snowflake/snowflake-arctic-embed-m": ("arctic", SEARCH, "", ""),
    "Snowflake/snowflake-arctic-embed-m-v1.5": ("arctic", SEARCH, "", ""),
    "Snowflake/snowflake-arctic-embed-l-v2.0": ("arctic-v2", "query: ", "", ""),
    "mixedbread-ai/mxbai-embed-large-v1": ("mxbai", SEARCH, "", ""),
    "Qwen/Qwen3-Embedding-0.6B": ("qwen3-embedding", TASK, "", ""),
    "google/embeddinggemma-300m": (
        "embeddinggemma", "task: search result | query: ", "title: none | text: ",
        "task: sentence similarity | query: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CARDS)
def test_each_family_has_the_prefixes_of_its_card(name):
    family, *texts = CARDS[name]
    wanted = {
        role: text for role, text in zip(("query", "document", "text"), texts, strict=True) if text
    }
    assert find_prompts({}, None, [name]) == (wanted, f"card:{family}")
    assert find_prompts({}, None, [f"/models/copies/{name.rpartition('/')[2]}"]).prefixes == wanted


def test_every_family_is_reached():
    assert {family for family, *_ in CARDS.values()} == {family.name for family in FAMILIES}


@pytest.mark.parametrize(
    "name", ["all-MiniLM-L6-v2", "the5-base", "bge-english", "xgte-small", ""]
)
def test_other_names_belong_to_no_family(name):
    assert find_family([name]) is None
    assert find_prompts({}, None, [name]) == ({}, "none")


def test_the_configuration_comes_first_and_the_card_fills_what_it_leaves_out():
    found = find_prompts({"query": "ask: ", "document": ""}, None, ["e5-base"])
    assert found.prefixes == {"query": "ask: ", "document": "passage: ", "text": "query: "}
    assert found.source == "config+card:e5"
    whole = {"query": "a", "passage": "b", "STS": "c"}
    assert find_prompts(whole, None, ["e5-base"]) == (
        {"query": "a", "document": "b", "text": "c"}, "config",
    )  # fmt: skip
    assert find_prompts(whole, None, [], "config").source == "config"


def test_prefixes_can_be_had_from_the_configuration_only_or_not_at_all():
    assert find_prompts({}, None, ["e5-base"], "config") == ({}, "none")
    assert find_prompts({"query": "a"}, None, ["e5-base"], "none") == ({}, "none")


def test_the_default_prompt_is_for_roles_without_one_of_their_own():
    found = find_prompts({"query": "q: ", "plain": "p: "}, "plain", [])
    assert found.prefixes == {"query": "q: ", "document": "p: ", "text": "p: "}
    named = find_prompts({"query": "q: ", "document": "", "plain": "p: "}, "plain", [])
    assert named.prefixes == {"query": "q: ", "text": "p: "}
    with pytest.raises(ModelError, match="'plain' is not among"):
        find_prompts({}, "plain", [])
