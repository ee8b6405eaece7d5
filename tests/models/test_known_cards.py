"""Cards of known models: those shipped, and a person's own."""

import pytest

from closecall.embedders.prompts import find_family, find_prompts
from closecall.errors import ModelError, UnknownNameError
from closecall.models import store
from closecall.models.known import (
    KnownModel,
    find_known,
    known_folder,
    known_models,
    read_known,
    unknown_model,
)

SHIPPED = known_models().cards
LICENCES = {"Apache-2.0", "MIT", "LicenseRef-Gemma"}


def own(folder, text, name="mine.toml"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"format = 1\n{text}", encoding="utf-8")
    return folder / name


def test_a_dozen_and_more_are_shipped_and_all_can_be_read():
    assert len(SHIPPED) >= 12
    assert known_models().problems == ()
    assert len(SHIPPED) == len(list(known_folder().glob("*.toml")))
    assert len({card.model.repo for card in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("card", SHIPPED, ids=lambda card: card.model.name)
def test_what_a_shipped_card_says(card):
    model = card.model
    assert card.path.stem == model.name == model.repo.partition("/")[2]
    assert card.origin == "shipped"
    assert len(model.revision) == 40
    assert model.licence in LICENCES
    assert model.architecture
    assert model.dims in {384, 768, 1024}
    assert all(width <= model.dims for width in model.matryoshka)
    if model.matryoshka:
        assert model.dims in model.matryoshka
    assert model.max_tokens is None or 128 <= model.max_tokens <= 32768
    assert model.pooling in {"", "mean", "cls", "lasttoken"}
    if model.remote_code or model.pickled:
        assert model.remark


@pytest.mark.parametrize("card", SHIPPED, ids=lambda card: card.model.name)
def test_prefixes_are_those_every_other_way_to_run_the_model_uses(card):
    """Two tables hold them: one model must not get two sets of prefixes by how it is run."""
    by_family = find_prompts({}, None, [card.model.repo]).prefixes
    assert card.model.prefixes == by_family
    assert (find_family([card.model.repo]) is None) <= (not card.model.prefixes)


def test_the_card_of_the_bundled_model_is_that_of_its_folder():
    known, bundled = find_known("minilm").model, store.find_model("minilm").card
    for field in ("name", "aliases", "revision", "licence", "languages", "dims", "max_tokens"):
        assert getattr(known, field) == getattr(bundled, field)
    assert known.repo == bundled.source
    assert known.weights_sha256 == bundled.weights.sha256
    assert (known.pooling, known.normalize) == (bundled.pooling, bundled.normalize)


def test_found_by_name_alias_and_repository_whatever_the_case():
    model = find_known("BGE-small-en-v1.5").model
    assert model == find_known("baai/bge-small-en-v1.5").model
    assert find_known("arctic-embed-s").model.name == "snowflake-arctic-embed-s"
    assert find_known("no-such") is None


def test_cards_of_ones_own_stand_in_the_store_and_take_the_place_of_shipped_ones():
    folder = store.store_folder() / "cards"
    own(folder, 'name = "bge-small-en-v1.5"\nrepo = "me/bge"\n', "a.toml")
    own(folder, 'name = "fresh"\nrepo = "me/fresh"\n', "b.toml")
    by_name = {card.model.name: card for card in known_models().cards}
    assert len(by_name) == len(SHIPPED) + 1
    mine = by_name["bge-small-en-v1.5"]
    assert (mine.model.repo, mine.origin, mine.replaces) == ("me/bge", "own", True)
    assert (by_name["fresh"].origin, by_name["fresh"].replaces) == ("own", False)
    # Their folder is no model, whatever a card in it is called.
    own(folder, 'name = "x"\nrepo = "me/x"\n', "card.toml")
    assert [m.card.name for m in store.list_models().models] == ["all-MiniLM-L6-v2"]
    assert store.list_models().broken == ()


def test_a_variable_names_another_folder(tmp_path, monkeypatch):
    own(tmp_path / "team", 'name = "ours"\nrepo = "us/ours"\n')
    monkeypatch.setenv("CLOSECALL_CARDS_DIR", str(tmp_path / "team"))
    assert find_known("ours").model.repo == "us/ours"


def test_a_broken_card_is_told_and_hides_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("CLOSECALL_CARDS_DIR", str(tmp_path))
    own(tmp_path, 'name = "ours"\nrepo = "us/ours"\n', "good.toml")
    own(tmp_path, "name = [", "bad.toml")
    own(tmp_path, 'name = "OURS"\nrepo = "us/other"\n', "twice.toml")
    listing = known_models()
    assert find_known("ours") is not None
    bad, twice = listing.problems
    assert "bad.toml: not TOML" in bad
    assert "is also in" in twice
    assert "bad.toml" in str(unknown_model("x"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('repo = "a/b"', "`name`"),
        ('name = "x"', "`repo`"),
        ('name = "x/y"\nrepo = "a/b"', "name: 'x/y' is not a name"),
        ('name = "x"\nrepo = "../b"', "repo: expected ORGANISATION/NAME"),
        ('name = "x"\nrepo = "a/b/c"', "repo: expected"),
        ('name = "x"\nrepo = "a/b"\nrevision = "main"', "revision: must be a whole commit"),
        ('name = "x"\nrepo = "a/b"\nweights_sha256 = "1"', "weights_sha256: must be 64"),
        ('name = "x"\nrepo = "a/b"\nweights_sha256 = "%s"' % ("a" * 64), "says nothing without"),
        ('name = "x"\nrepo = "a/b"\ndims = 0', "dims: must be at least 1"),
        ('name = "x"\nrepo = "a/b"\ndims = "1"', "Expected `int"),
        ('name = "x"\nrepo = "a/b"\ncolour = 1', "colour"),
        ('name = "x"\nrepo = "a/b"\n[prefixes]\nanswer = ""', "prefixes.answer: no such role"),
    ],
)
def test_what_is_wrong_with_a_card_is_told_by_field(tmp_path, text, said):
    path = own(tmp_path, text)
    with pytest.raises(ModelError, match=r"mine\.toml") as told:
        read_known(path)
    assert said in str(told.value)


def test_files_that_are_no_cards(tmp_path):
    for name, data in (
        ("a.toml", b"\xff"),
        ("b.toml", b"x" * 200_000),
        ("c.toml", b"format = 2\n"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelError, match=name):
            read_known(tmp_path / name)
    (tmp_path / "d.toml").mkdir()
    with pytest.raises(ModelError, match=r"d\.toml"):
        read_known(tmp_path / "d.toml")


def test_an_unknown_name_lists_the_known_ones():
    error = unknown_model("mpnet")
    assert isinstance(error, UnknownNameError)
    assert "all-mpnet-base-v2" in str(error)
    with pytest.raises(ValueError, match="dims"):
        KnownModel(name="x", repo="a/b", dims=-1)
