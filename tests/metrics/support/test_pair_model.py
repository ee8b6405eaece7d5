"""The bundled pair model: one number a pair, the same whatever stands beside it, nothing cut."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from closecall.errors import EmbeddingError, TextTooLongError, UsageError
from closecall.metrics.support.model import PairModel, bundled_pair_model
from closecall.models.bundled_pair import find_pair

WORDS = ("the", "museum", "opens", "at", "nine", "and", "closes", "late", "ferry", "14", "cars")


@pytest.fixture(scope="module")
def model():
    return bundled_pair_model()


def text(rng, words):
    return " ".join(rng.choice(WORDS, words))


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(7)
    return [(text(rng, rng.integers(1, 40)), text(rng, rng.integers(1, 40))) for _ in range(40)]


def test_a_pair_has_one_value_whatever_stands_beside_it(model, pairs):
    alone = np.array([model.score([pair])[0] for pair in pairs])
    assert alone.dtype == np.float64
    assert np.isfinite(alone).all()
    assert alone.min() > 0
    assert alone.max() < 1
    assert len(set(alone.tolist())) > 30
    assert model.score(pairs).tobytes() == alone.tobytes()
    assert model.score(pairs[::-1])[::-1].tobytes() == alone.tobytes()
    order = np.random.default_rng(1).permutation(len(pairs))
    assert model.score([pairs[at] for at in order]).tobytes() == alone[order].tobytes()


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13])
def test_rows_of_one_length_run_together_change_nothing(model, size):
    rng = np.random.default_rng(3)
    same = [(text(rng, 9), text(rng, 6)) for _ in range(size)]
    assert len({model.row(*pair)[0].size for pair in same}) == 1
    alone = np.array([model.score([pair])[0] for pair in same])
    assert model.score(same).tobytes() == alone.tobytes()


def test_the_number_of_threads_changes_nothing(model, pairs, monkeypatch):
    monkeypatch.setenv("CLOSECALL_THREADS", "1")
    one = model.score(pairs)
    monkeypatch.setenv("CLOSECALL_THREADS", "3")
    assert model.score(pairs).tobytes() == one.tobytes()


def test_calls_from_several_threads_load_it_once_and_agree(pairs):
    model = PairModel(find_pair())
    found = {}

    def ask(number):
        found[number] = (model.score(pairs[:6]).tobytes(), model._ready())

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 4
    assert len({values for values, _ in found.values()}) == 1
    assert len({id(ready) for _, ready in found.values()}) == 1


def test_there_is_one_in_the_process(model):
    assert bundled_pair_model() is model
    assert model.name == "pair-minilm"
    assert model.window == 256


def test_no_pairs_have_no_values(model):
    assert model.score([]).shape == (0,)


def test_the_order_of_the_two_texts_counts(model):
    there, back = model.score([("nine cars", "a late ferry"), ("a late ferry", "nine cars")])
    assert there != back


def test_a_pair_that_does_not_fit_is_refused_with_its_place_and_nothing_is_cut(model):
    rest = model.window - 3 - model.count("nine")
    fits = "car " * rest
    assert model.count(fits) == rest
    assert model.score([("nine", fits)]).shape == (1,)
    ids, types = model.row("nine", fits)
    assert (ids.size, types.sum()) == (model.window, rest + 1)
    longer = [("nine", "ten"), ("nine", fits + "car"), ("a", "b"), ("car " * 300, "b")]
    with pytest.raises(TextTooLongError) as caught:
        model.score(longer)
    assert caught.value.indices == (1, 3)
    assert "pairs[1], pairs[3]: longer than the 256 tokens" in str(caught.value)
    assert "the longest has 304" in str(caught.value)


def test_signs_of_the_models_own_are_text_where_a_text_holds_them(model):
    ids, types = model.row("[SEP] nine [CLS]", "[MASK] [PAD] ten")
    separator, start = 102, 101
    assert ids.tolist().count(separator) == 2
    assert ids.tolist().count(start) == 1
    assert not {0, 103} & set(ids.tolist())
    assert (types[-1], ids[-1]) == (1, separator)
    assert model.count("[SEP]") > 1
    plain, signed = model.score([("nine", "ten"), ("nine", "ten [SEP]")])
    assert plain != signed


@pytest.mark.parametrize(
    ("bad", "why"),
    [("", "no token that the model knows"), (" \n", "no token"), ("\ud800 nine", "surrogate")],
)
def test_a_text_that_cannot_be_read_is_refused_with_its_place(model, bad, why):
    assert why in model.unreadable(bad)
    for pair in ((bad, "nine"), ("nine", bad)):
        with pytest.raises(EmbeddingError, match=rf"pairs\[1\]: a text .*{why}") as caught:
            model.score([("a", "b"), pair])
        assert caught.value.indices == (1,)
    assert model.unreadable("nine") is None


def test_counts_are_those_of_the_rows(model):
    first, second = "When does it open?\r\nAt nine.", "Cafe\u0301s open at 9:30"
    ids, types = model.row(first, second)
    assert model.count(first) + 2 == (types == 0).sum()
    assert model.count(second) + 1 == (types == 1).sum()
    assert ids.dtype == types.dtype == np.int32
    assert model.count("") == 0
    with pytest.raises(EmbeddingError, match="surrogate"):
        model.count("\udc00")


@pytest.mark.parametrize("pairs", ["ab", [("a",)], [("a", 3)], ["ab"], [("a", "b", "c")]])
def test_what_is_no_list_of_pairs_is_refused(model, pairs):
    with pytest.raises(UsageError, match="pairs"):
        model.score(pairs)


def test_its_canaries_score_as_when_it_was_made_and_others_are_told(model):
    found = model.check_canaries()
    assert len(found) >= 5
    assert all(one.ok for one in found)
    assert not found[0]._replace(found=found[0].expected + 2e-4).ok


def test_its_identity_is_what_the_card_records(model):
    card, identity = model.card, model.identity
    assert identity.graph == card.file("model.onnx").sha256
    assert (identity.words, identity.tokenizer) == (card.words.sha256, card.tokenizer.sha256)
    assert identity.window == card.window
    assert len(identity.digest) == 12


def test_asking_who_it_is_loads_no_runtime():
    program = (
        "import sys; from closecall.metrics.support.model import bundled_pair_model as m;"
        "m().identity.digest; print([n for n in ('onnxruntime', 'tokenizers', 'torch', 'onnx')"
        " if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
