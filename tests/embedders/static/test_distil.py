"""A static model made from an encoder, held against the same done by hand."""

import json

import numpy as np
import pytest
import tiny_bert
from static_models import write_static

from closecall import Role
from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.onnx_runtime import load
from closecall.embedders.static import distil as module
from closecall.embedders.static.distil import Weighting, distil, parse_weighting
from closecall.embedders.static.embedder import StaticEmbedder
from closecall.embedders.static.writing import save_static
from closecall.errors import ModelError, ModelIntegrityError, UsageError
from closecall.models.compiler import Naming, compile_folder
from closecall.models.static_files import read_static
from closecall.models.store import find_model, load_model

NAMES = tiny_bert.VOCABULARY
KEPT = [0, *range(4, len(NAMES))]
"""All tokens but the unknown one and the two around a text; the others are not marked special."""
WORDS = len(KEPT)


def compiled(folder, **options):
    tiny_bert.write_folder(folder / "source", **options)
    compile_folder(folder / "source", folder / "tiny", Naming(name="tiny"))
    return load_model(folder / "tiny")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("models"))


def made(model, **options):
    return distil(model, OnnxEmbedder(model).instrument, **{"dims": 8, **options})


def saved(folder, model, *, name="mine", force=False, **options):
    distilled = made(model, **options)
    save_static(folder, distilled, model.card, name=name, producer="0", force=force)
    return StaticEmbedder(folder)


def by_hand(model, dims):
    """Centred, unit last hidden states of tokens on principal axes, up to the axes' signs."""
    loaded = load(model)
    states = []
    for number in KEPT:
        _, hidden = loaded.run_tokens(np.array([[2, number, 3]], dtype=np.int32))
        state = hidden[0, 1].astype(np.float64)
        states.append(state / np.sqrt((state * state).sum()))
    centred = np.array(states) - np.mean(states, axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return (left * sizes)[:, :dims], float((sizes[:dims] ** 2).sum() / (sizes**2).sum())


def test_rows_are_those_made_by_hand(tiny):
    found = made(tiny, dims=8, weighting=Weighting("none"))
    wanted, kept = by_hand(tiny, 8)
    rows = found.rows.astype(np.float64)[KEPT] / module.SCALE
    signs = np.sign((rows * wanted).sum(axis=0))
    np.testing.assert_allclose(rows, wanted * signs, atol=2e-3)
    assert not found.rows[[1, 2, 3]].any()
    assert found.words == WORDS
    assert found.kept == pytest.approx(kept, abs=1e-9)
    assert found.instrument.digest == OnnxEmbedder(tiny).instrument.digest


def test_weights_follow_the_rank_of_a_token(tiny):
    plain = made(tiny, weighting=Weighting("none")).rows.astype(np.float64)[KEPT]
    weighted = made(tiny, weighting=Weighting("sif", 0.01)).rows.astype(np.float64)[KEPT]
    total = sum(1 / (rank + 1) for rank in range(1, WORDS + 1))
    for at, rank in enumerate(range(1, WORDS + 1)):
        weight = 0.01 / (0.01 + 1 / (rank + 1) / total)
        np.testing.assert_allclose(weighted[at], plain[at] * weight, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(Weighting("log").of(3), np.log([2, 3, 4]))
    assert Weighting("none").of(2).tolist() == [1, 1]


def test_tokens_that_stand_for_nothing_have_no_row(tmp_path, monkeypatch):
    renamed = ["[unused7]" if name == "cat" else name for name in NAMES]
    monkeypatch.setattr(tiny_bert, "VOCABULARY", renamed)
    found = made(compiled(tmp_path))
    assert not found.rows[NAMES.index("cat")].any()
    assert found.words == WORDS - 1


def test_the_same_weights_give_the_same_bytes(tmp_path, tiny):
    for folder, threads in (("a", 1), ("b", 3)):
        saved(tmp_path / folder, tiny, threads=threads)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["README.md", "config.json", "model.safetensors", "modules.json",
                     "tokenizer.json"]  # fmt: skip
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_progress_ends_at_the_last_token(tiny):
    told = []
    made(tiny, progress=lambda *counts: told.append(counts))
    assert told[-1] == (WORDS, WORDS)


def test_the_record_says_what_it_was_made_from(tmp_path, tiny):
    instrument = OnnxEmbedder(tiny).instrument
    static = saved(tmp_path / "made", tiny, dims=6)
    record = read_static(tmp_path / "made").made
    assert (record.name, record.encoder, record.dims) == ("mine", "tiny", 6)
    assert (record.instrument, record.weights) == (instrument.digest, instrument.weights)
    assert (record.weighting, record.rows) == (module.WEIGHTING.replace("3e-5", "3e-05"), WORDS)
    assert (static.instrument.model, static.instrument.dims) == ("mine", 6)
    assert static.instrument.normalize
    config = json.loads((tmp_path / "made" / "config.json").read_text("utf-8"))
    assert (config["sif_coefficient"], config["hidden_dim"]) == (3e-5, 6)
    assert "base_model" in (tmp_path / "made" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_file_changed_afterwards_is_refused(tmp_path, tiny, name):
    saved(tmp_path / "made", tiny)
    path = tmp_path / "made" / name
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelIntegrityError, match="damaged or changed"):
        _ = StaticEmbedder(tmp_path / "made").instrument


def test_texts_are_lower_cased_where_the_encoders_are(tmp_path):
    static = saved(tmp_path / "made", compiled(tmp_path, lowercase=True))
    one, other = static.embed(["Red CAT É", "red cat é"])
    assert one.tobytes() == other.tobytes()
    cased = saved(tmp_path / "cased", compiled(tmp_path / "2"))
    assert not np.array_equal(*cased.embed(["É", "好"]))


def test_prefixes_are_left_out(tmp_path):
    static = saved(tmp_path / "made", compiled(tmp_path, prompts={"query": "query: "}))
    assert static.instrument.prefixes == {}
    query, text = (static.embed(["red cat"], role) for role in (Role.QUERY, Role.TEXT))
    assert query.tobytes() == text.tobytes()


@pytest.mark.parametrize("dims", [0, 25])
def test_dims_the_encoder_has_not(tiny, dims):
    with pytest.raises(UsageError, match="from 1 to 24, the width of tiny"):
        made(tiny, dims=dims)


def test_dims_that_hold_nothing_but_noise(tiny):
    states = module.read_states(tiny, OnnxEmbedder(tiny).instrument)
    flat = states.units.copy()
    flat[:, 5:] = 0
    with pytest.raises(UsageError, match=r"vary in 5 directions .* 5 at most; got 6"):
        module.reduced(states._replace(units=flat), dims=6)
    assert module.reduced(states._replace(units=flat), dims=5).kept == pytest.approx(1)


@pytest.mark.parametrize(
    "text", ["", "sif", "sif:", "sif:0", "sif:1", "sif:x", "sif:nan", "log:1", "none:", "idf"]
)
def test_a_weighting_there_is_not(text):
    with pytest.raises(UsageError, match="weighting must be"):
        parse_weighting(text)


def test_weightings_there_are():
    assert [str(parse_weighting(text)) for text in (" sif:1e-4", "log", "none")] == [
        "sif:0.0001",
        "log",
        "none",
    ]


def test_what_is_there_is_replaced_only_when_asked(tmp_path, tiny):
    saved(tmp_path / "made", tiny)
    with pytest.raises(UsageError, match="force=True"):
        saved(tmp_path / "made", tiny)
    assert saved(tmp_path / "made", tiny, dims=4, force=True).instrument.dims == 4
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letters.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="no static model"):
        saved(tmp_path / "mine", tiny, force=True)
    assert (tmp_path / "mine" / "letters.txt").is_file()
    with pytest.raises(UsageError, match="cannot name a model"):
        saved(tmp_path / "new", tiny, name="../x")


def test_an_encoder_without_token_vectors_is_refused(tiny, monkeypatch):
    monkeypatch.setattr(module, "load", lambda model: load(model)._replace(tokens=False))
    with pytest.raises(ModelError, match="no output 'tokens'"):
        made(tiny)


def test_a_vocabulary_with_a_gap_is_refused_before_the_encoder_runs(tmp_path, monkeypatch):
    source = tmp_path / "source"
    tiny_bert.write_folder(source, config={"vocab_size": 150})
    document = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    document["model"]["vocab"]["red"] = 140
    (source / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    compile_folder(source, tmp_path / "tiny", Naming(name="tiny"))
    monkeypatch.delattr(module, "_units")
    with pytest.raises(ModelError, match=r"tokenizer\.json: numbers a token 140 and has 101"):
        made(load_model(tmp_path / "tiny"))


def test_pairs_alike_stand_above_pairs_unlike_with_the_bundled_encoder(tmp_path, monkeypatch):
    """With 700 tokens of the real vocabulary, those of the texts among them."""
    encoder = find_model("minilm")
    alike = [("the doctor treated the patient", "a physician in the hospital helped the sick man"),
             ("the car needs fuel", "put gasoline into the vehicle"),
             ("it rained in london", "the weather in england was wet")]  # fmt: skip
    texts = [text for pair in alike for text in pair]
    tokenizer = load(encoder).tokenizer
    wanted = {n for text in texts for n in tokenizer.encode(text, add_special_tokens=False).ids}
    words = module._words
    monkeypatch.setattr(
        module,
        "_words",
        lambda loaded: np.array(
            [n for n in words(loaded).tolist() if n in wanted or n % 43 == 0], dtype=np.int32
        ),
    )
    static = saved(tmp_path / "made", encoder, dims=128)
    vectors = static.embed(texts).astype(np.float64)
    cosines = vectors[::2] @ vectors[1::2].T
    own, others = np.diag(cosines), cosines[~np.eye(3, dtype=bool)]
    assert own.min() > others.max() + 0.1
    pieces = static.embed_pieces(["the doctor", "a physician", "fuel"])
    doctor, physician, fuel = (one.pieces.vectors[-1] for one in pieces)
    assert doctor @ physician > doctor @ fuel + 0.2


def test_a_folder_of_another_maker_has_no_record(tmp_path):
    assert read_static(write_static(tmp_path / "tiny")).made is None
