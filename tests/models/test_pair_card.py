"""A pair model's card is written one way, read strictly, and taken for no other model's."""

import msgspec
import pytest

from closecall.errors import ModelError, UnknownNameError, UsageError
from closecall.models import store, verifying
from closecall.models.bundled_pair import find_pair
from closecall.models.cards import read_card
from closecall.models.pair_card import (
    Canary,
    PairCard,
    format_pair_card,
    read_pair_card,
)

BUNDLED = find_pair()


def written(tmp_path, text):
    path = tmp_path / "card.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read_again(tmp_path):
    card = msgspec.structs.replace(
        BUNDLED.card,
        limits=('It says "no" to é\x7f.',),
        figures={"AUC, a set": 0.5, "b": 1e-07},
        canaries=(Canary("a\nb", "c\\d", 1.0),),
    )
    text = format_pair_card(card)
    assert read_pair_card(written(tmp_path, text)) == card
    assert text.endswith("\n")


def test_figures_keep_the_order_in_which_they_are_read():
    figures = {"pairs": 9, "of these right": 8, "AUC on them": 0.9}
    text = format_pair_card(msgspec.structs.replace(BUNDLED.card, figures=figures))
    assert text.index('"pairs"') < text.index('"of these right"') < text.index('"AUC on them"')


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "pair"', 'kind = "trio"', "format, kind: expected 1 and 'pair'"),
        ("format = 1", "format = 2", "format, kind"),
        ("window = ", "window = 3 # ", "window: must be at least 8"),
        ("window = ", "windows = ", "windows"),
        ('name = "model.onnx"', 'name = "../model.onnx"', "expected model.onnx alone"),
        ("dims = ", "dims = 0 #", "dims"),
        ("[words]", "[words", "not TOML"),
        ('model = "all', 'model = "../all', "words.model: '../all-MiniLM-L6-v2' is not a plain"),
    ],
)
def test_a_card_that_is_wrong_names_the_field(tmp_path, old, new, said):
    text = format_pair_card(BUNDLED.card)
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        read_pair_card(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_canary_and_a_hash_have_their_bounds():
    fields = {name: getattr(BUNDLED.card, name) for name in PairCard.__struct_fields__}
    with pytest.raises(ValueError, match=r"canaries\[0\]\.value: must lie in 0 to 1, got 1\.5"):
        PairCard(**{**fields, "canaries": (Canary("a", "b", 1.5),)})
    with pytest.raises(ValueError, match="one at least"):
        PairCard(**{**fields, "canaries": ()})
    words = msgspec.structs.replace(fields["words"], sha256="f" * 63)
    with pytest.raises(ValueError, match=r"words\.sha256: must be 64"):
        PairCard(**{**fields, "words": words})
    with pytest.raises(ValueError, match=r"figures\.x: must be finite"):
        PairCard(**{**fields, "figures": {"x": float("nan")}})


def test_a_missing_card_says_what_to_do(tmp_path):
    with pytest.raises(ModelError, match="install it again"):
        read_pair_card(tmp_path / "card.toml")


def test_it_stands_beside_the_models_and_is_none_of_them():
    listing = store.list_models()
    assert "pair-minilm" not in [model.card.name for model in listing.models]
    assert not listing.broken
    with pytest.raises(ModelError, match="makes no vector"):
        store.find_model("Pair-MiniLM")
    with pytest.raises(ModelError, match="'pair' model, which makes no vectors"):
        read_card(BUNDLED.folder / "card.toml")
    with pytest.raises(UnknownNameError):
        store.find_model("pair-minilm2")


def test_no_model_of_ones_own_takes_its_name(tmp_path):
    with pytest.raises(UsageError, match="already names the bundled pair model"):
        store.require_free(("mine", "PAIR-minilm"), tmp_path / "mine", force=False)


def test_its_files_are_verified_with_all_the_others():
    named = verifying.verify_named("pair-minilm")
    assert [check.path for check in named] == [BUNDLED.graph, BUNDLED.words, BUNDLED.tokenizer]
    assert all(check.ok for check in named)
    assert set(named) <= set(verifying.verify_all())


def test_a_damaged_graph_and_a_missing_card_are_failed_checks(tmp_path, monkeypatch):
    pair = msgspec.structs.replace(BUNDLED, folder=tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"something else")
    graph, words, tokenizer = verifying.verify_pair(pair)
    assert "damaged or changed" in graph.problem
    assert words.ok
    assert tokenizer.ok
    monkeypatch.setattr(verifying, "find_pair", lambda: read_pair_card(tmp_path / "card.toml"))
    (check,) = verifying.verify_bundled_pair()
    assert not check.ok
    assert "no such file" in check.problem
