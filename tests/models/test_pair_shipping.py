"""A trained pair model becomes a small graph that computes what it computed, the same every time."""

import json
import shutil

import numpy as np
import numpy_bert
import onnx
import pytest
import tiny_pair

from closecall.errors import ModelError, ModelIntegrityError
from closecall.metrics.support.model import PairModel
from closecall.models.bundled_pair import load_pair
from closecall.models.pair_card import Learnt, PairFacts, read_pair_card

pytest.importorskip("scipy")

from pair import shipping

WORDS = "bert.embeddings.word_embeddings.weight"


def ship(folder, target="pair", **options):
    return shipping.ship(
        folder / "trained", folder / target, folder / "words", samples=tiny_pair.SAMPLES, **options
    )


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shipped")
    config, weights = tiny_pair.write(folder)
    card = ship(folder)
    return folder, config, weights, card


def opened(folder, target="pair"):
    return PairModel(load_pair(folder / target, folder / "words"))


def trained_probability(config, weights, ids, types):
    """BERT by its formulas, then the pooler and the classifier, in float64."""
    encoder = {name.removeprefix("bert."): values for name, values in weights.items()}
    w = {name: values.astype(np.float64) for name, values in encoder.items()}
    first = numpy_bert.tokens(encoder, config, ids, types=types)[0]
    pooled = np.tanh(w["pooler.dense.weight"] @ first + w["pooler.dense.bias"])
    logit = float(w["classifier.weight"][0] @ pooled + w["classifier.bias"][0])
    return 1 / (1 + np.exp(-logit))


def test_eight_bits_move_no_pair_far_from_the_trained_model(shipped):
    folder, config, weights, _ = shipped
    model = opened(folder)
    wanted = np.array(
        [trained_probability(config, weights, *model.row(*pair)) for pair in tiny_pair.SAMPLES]
    )
    found = model.score(tiny_pair.SAMPLES)
    assert np.ptp(wanted) > 0.1
    assert np.abs(found - wanted).max() < 0.02
    cost = shipping.lost(
        folder / "trained", folder / "pair", folder / "words", samples=tiny_pair.SAMPLES
    )
    assert cost.largest == pytest.approx(np.abs(found - wanted).max(), abs=1e-6)
    assert 0 < cost.mean <= cost.largest


def test_every_matrix_is_stored_in_eight_bits_to_half_a_step(shipped):
    folder, config, weights, _ = shipped
    graph = onnx.load(folder / "pair" / "model.onnx").graph
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    matrices = [name.removesuffix(".steps") for name in stored if name.endswith(".steps")]
    assert len(matrices) == 4 * config["num_hidden_layers"] + 1
    assert not [
        name for name, values in stored.items() if values.shape[:1] == weights[WORDS].shape[:1]
    ]
    here = "bert.encoder.layer.1.attention.self"
    trained = np.concatenate(
        [weights[f"{here}.{p}.weight"].T for p in ("query", "key", "value")], 1
    )
    steps, scale = stored["layer.1.qkv.steps"], stored["layer.1.qkv.scale"]
    assert steps.dtype == np.int8
    assert np.abs(steps).max(axis=0).tolist() == [127] * steps.shape[1]
    assert (np.abs(steps * scale - trained) <= scale * 0.5001).all()


def test_the_same_source_gives_the_same_bytes(shipped):
    folder, _, _, card = shipped
    assert ship(folder, "again") == card
    names = ("model.onnx", "card.toml", "LICENSE", "NOTICE")
    for name in names:
        assert (folder / "again" / name).read_bytes() == (folder / "pair" / name).read_bytes()
    assert sorted(path.name for path in (folder / "pair").iterdir()) == sorted(names)
    assert read_pair_card(folder / "pair" / "card.toml") == card


def test_the_canaries_are_what_the_model_says_of_the_samples(shipped):
    folder, _, _, card = shipped
    model = opened(folder)
    assert [(one.first, one.second) for one in card.canaries] == list(tiny_pair.SAMPLES)
    found = model.check_canaries()
    assert all(one.ok for one in found)
    assert [one.expected for one in found] == pytest.approx(
        model.score(tiny_pair.SAMPLES), abs=2e-6
    )


def test_what_is_known_of_it_stands_on_the_card_and_in_the_notice(shipped):
    folder = shipped[0]
    facts = PairFacts(
        licence="Apache-2.0",
        languages=("en",),
        trained="train_pair.py, seeds 0 1 2",
        limits=("It reads English.", 'It says "yes" to numbers in words.'),
        figures={"a set, AUC": 0.91, "spread": 1e-05},
        data=(Learnt("a set", "CC-BY-4.0", "https://example.org/set", 1200),),
    )
    ship(folder, "told", facts=facts)
    card = read_pair_card(folder / "told" / "card.toml")
    assert {name: getattr(card, name) for name in PairFacts.__struct_fields__} == {
        name: getattr(facts, name) for name in PairFacts.__struct_fields__
    }
    notice = (folder / "told" / "NOTICE").read_text(encoding="utf-8")
    assert "- a set, CC-BY-4.0, https://example.org/set" in notice
    assert (folder / "told" / "LICENSE").read_text(encoding="utf-8") == "a licence\n"


def test_words_that_were_trained_along_are_refused_and_nothing_is_written(tmp_path):
    config, weights = tiny_pair.write(tmp_path)
    moved = weights[WORDS].copy()
    moved[7, 3] += 0.01
    encoder = {name.removeprefix("bert."): v for name, v in {**weights, WORDS: moved}.items()}
    head = {name: encoder.pop(name) for name in ("classifier.weight", "classifier.bias")}
    tiny_pair.write_trained(tmp_path / "trained", config, encoder, head)
    with pytest.raises(ModelError, match=r"1 of \d+ word embeddings .* token 7: freeze them"):
        ship(tmp_path)
    assert not (tmp_path / "pair").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id2label": {"0": "no", "1": "yes"}}, "one label"),
        ({"hidden_act": "gelu_new"}, "gelu"),
        ({"model_type": "roberta"}, "expected bert"),
    ],
)
def test_a_model_of_another_kind_is_refused(tmp_path, changed, said):
    tiny_pair.write(tmp_path)
    path = tmp_path / "trained" / "config.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**raw, **changed}), encoding="utf-8")
    with pytest.raises(ModelError, match=said):
        ship(tmp_path)


def test_a_head_that_is_missing_is_named(tmp_path):
    config, weights = tiny_pair.write(tmp_path)
    encoder = {
        name.removeprefix("bert."): v for name, v in weights.items() if name.startswith("bert.")
    }
    tiny_pair.write_trained(tmp_path / "trained", config, encoder, {})
    with pytest.raises(ModelError, match=r"tensor classifier\.weight is missing"):
        ship(tmp_path)


def test_a_graph_that_is_too_large_is_refused(tmp_path, monkeypatch):
    tiny_pair.write(tmp_path)
    monkeypatch.setattr(shipping, "MOST_BYTES", 1000)
    with pytest.raises(ModelError, match="more than 1,000"):
        ship(tmp_path)


def copied(shipped, tmp_path):
    for name in ("pair", "words"):
        shutil.copytree(shipped[0] / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", ["pair/model.onnx", "words/model.onnx", "words/tokenizer.json"])
def test_a_byte_that_is_not_as_recorded_is_refused_before_anything_is_scored(
    shipped, tmp_path, name
):
    folder = copied(shipped, tmp_path)
    path = folder / name
    data = bytearray(path.read_bytes())
    # In the word table, where that is what is read of the file.
    table = shipped[2][WORDS].astype(np.float16).tobytes()
    at = data.find(table) + 5 if name.startswith("words/model") else len(data) // 2
    data[at] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ModelIntegrityError, match=path.name):
        opened(folder).score([("red cat", "cat")])


def test_words_are_found_by_name_whatever_else_the_file_holds(shipped, tmp_path):
    folder = copied(shipped, tmp_path)
    path = folder / "words" / "model.onnx"
    graph = onnx.load(path)
    graph.producer_name = "another build of the same words"
    onnx.save(graph, path)
    pairs = list(tiny_pair.SAMPLES)
    assert opened(folder).score(pairs).tolist() == opened(shipped[0]).score(pairs).tolist()


@pytest.mark.parametrize("name", ["pair/model.onnx", "words/model.onnx", "words/tokenizer.json"])
def test_a_file_that_is_missing_is_named(shipped, tmp_path, name):
    folder = copied(shipped, tmp_path)
    (folder / name).unlink()
    model = opened(folder)
    with pytest.raises(ModelError, match=f"{name.rpartition('/')[2]}: no such file"):
        model.load()


def test_its_identity_moves_with_the_weights(shipped, tmp_path):
    folder = shipped[0]
    tiny_pair.write(tmp_path, seed=5)
    ship(tmp_path)
    mine, other = opened(folder).identity, opened(tmp_path).identity
    assert mine.graph != other.graph
    assert mine.digest != other.digest
    assert len(mine.digest) == 12
    assert opened(folder).identity == mine
