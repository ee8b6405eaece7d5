"""Cards: what is written is read again, and what is wrong is named."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.errors import ModelError
from closecall.models.cards import (
    ModelCard,
    ModelFile,
    Origin,
    format_card,
    parse_card,
    read_card,
)

CARD = ModelCard(
    name="tiny-model",
    aliases=("tiny",),
    source="someone/tiny",
    revision="abc",
    licence="MIT",
    languages=("en", "de"),
    dims=24,
    max_tokens=20,
    pooling="mean",
    normalize=True,
    precision="fp32",
    prefixes={"query": "query: "},
    weights=Origin("model.safetensors", "a" * 64),
    files=(ModelFile("model.onnx", "b" * 64, 10), ModelFile("tokenizer.json", "c" * 64, 20)),
)
TEXT = format_card(CARD)


def test_round_trip():
    assert parse_card(TEXT) == CARD
    assert format_card(parse_card(TEXT)) == TEXT


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(text):
    card = msgspec.structs.replace(CARD, source=text, prefixes={"query": text, "text": text})
    assert parse_card(format_card(card)) == card


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("dims = 24", 'dims = "24"', "dims"),
        ("dims = 24", "dims = 0", "dims"),
        ("dims = 24", "", "dims"),
        ("max_tokens = 20", "max_tokens = 2", "max_tokens"),
        ('pooling = "mean"', 'pooling = "max"', "pooling"),
        ("normalize = true", "normalize = 1", "normalize"),
        ('precision = "fp32"', 'precision = "int8"', "precision"),
        ('name = "tiny-model"', 'name = "../x"', "name"),
        ('aliases = ["tiny"]', 'aliases = [""]', "aliases"),
        ('query = "query: "', 'querry = "query: "', "querry"),
        ('revision = "abc"', 'revison = "abc"', "revison"),
        ("b" * 64, "B" * 64, "files[0].sha256"),
        ("a" * 64, "a" * 63, "weights.sha256"),
        ('name = "model.onnx"', 'name = "sub/model.onnx"', "files[0].name"),
        ('name = "model.onnx"', 'name = "other.onnx"', "model.onnx is missing"),
        ('name = "model.onnx"', 'name = "tokenizer.json"', "twice"),
        ("size = 10", "size = 0", "files[0].size"),
        ("format = 1", "format = 2", "format"),
        ("format = 1", "", "format"),
        ("dims = 24", "dims =", "not TOML"),
    ],
)
def test_wrong_fields_are_named(old, new, field):
    assert old in TEXT
    with pytest.raises(ModelError) as caught:
        parse_card(TEXT.replace(old, new, 1), "somewhere/card.toml")
    assert field in str(caught.value)
    assert str(caught.value).startswith("somewhere/card.toml")


def test_unreadable_files(tmp_path):
    with pytest.raises(ModelError, match="no such file"):
        read_card(tmp_path / "card.toml")
    (tmp_path / "card.toml").write_bytes(b"\xff")
    with pytest.raises(ModelError, match="cannot be read"):
        read_card(tmp_path / "card.toml")


def test_a_file_that_is_not_listed():
    with pytest.raises(ModelError, match="lists no file x"):
        CARD.file("x")
