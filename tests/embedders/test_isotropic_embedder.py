"""The embedder in front of another: its contract, its identity, and what it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from spread import DIMS, METHODS, TEXTS, Crowded, Plain, fitted, isotropic, known, unit

from closecall.calibration.drift.canary_check import SAME, check_canaries
from closecall.calibration.drift.canary_record import record_canaries
from closecall.embedders.base import (
    CountingEmbedder,
    Embedder,
    Failure,
    LoadingEmbedder,
    NoPiecesError,
    PieceEmbedder,
    TextKey,
)
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.isotropy.embedder import IsotropicEmbedder
from closecall.embedders.isotropy.methods import Method
from closecall.embedders.isotropy.transform import Transform
from closecall.errors import EmbeddingError, InstrumentMismatchError, UsageError
from closecall.metrics.base import SCORE_NOISE
from closecall.records import Role

EVERY = pytest.mark.parametrize("method", METHODS[:3])
NEW = ["the tree oak larch", "a new word", "pine", "the tree yew yew yew"]


@EVERY
def test_unit_vectors_of_the_transform_in_the_order_asked(method):
    embedder = isotropic(method)
    assert isinstance(embedder, Embedder)
    vectors = embedder.embed(NEW)
    wanted = unit(known(method).transform.apply(Crowded().embed(NEW).astype(float)))
    assert (vectors.dtype, vectors.shape) == (np.float32, (4, embedder.instrument.dims))
    np.testing.assert_allclose(vectors, wanted, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(embedder.embed(NEW[::-1]), vectors[::-1])


@EVERY
def test_the_same_bytes_whatever_the_neighbours(method):
    embedder = isotropic(method)
    together = embedder.embed(TEXTS[:70])
    for at in (0, 33, 69):
        assert embedder.embed([TEXTS[at]])[0].tobytes() == together[at].tobytes()


@pytest.mark.parametrize("method", [Method("components", 8), Method("whiten", 256)])
def test_no_digit_depends_on_the_neighbours(method):
    draw = np.random.default_rng(6)
    directions = np.linalg.qr(draw.normal(size=(384, method.size)))[0].astype(np.float32)
    transform = Transform(method, np.full(384, 0.01, np.float32), directions)
    rows = unit(draw.normal(size=(37, 384)))
    together = transform.apply(rows)
    for at in range(len(rows)):
        assert transform.apply(rows[at : at + 1])[0].tobytes() == together[at].tobytes()


def test_unrelated_texts_no_longer_look_alike():
    plain, spread = (
        e.embed(TEXTS[:300]).astype(float) for e in (Crowded(), isotropic("whiten:10"))
    )
    before, after = ((v @ v.T).mean() for v in (plain, spread))
    assert before > 0.2
    assert abs(after) < 0.02


def test_no_texts():
    embedder = isotropic("whiten:10")
    assert embedder.embed([]).shape == (0, 10)
    assert list(embedder.embed_counted([]).tokens) == []
    assert embedder.embed_pieces([]) == []


def test_vectors_of_any_length_are_brought_to_one_first():
    spread = IsotropicEmbedder(Plain(), known("whiten:10").transform, Plain().instrument)
    np.testing.assert_allclose(spread.embed(NEW), isotropic("whiten:10").embed(NEW), atol=1e-4)


# --- what the embedder behind can do ------------------------------------------------------------


def test_tokens_and_pieces_are_those_of_the_embedder_behind():
    base, embedder = Crowded(), isotropic("whiten:10")
    assert isinstance(embedder, CountingEmbedder | PieceEmbedder)
    assert embedder.embed_counted(NEW).tokens == base.embed_counted(NEW).tokens
    for ours, theirs in zip(embedder.embed_pieces(NEW), base.embed_pieces(NEW), strict=True):
        np.testing.assert_array_equal(ours.pieces.vectors, theirs.pieces.vectors)
        assert ours.pieces.spans == theirs.pieces.spans
        assert ours.tokens == theirs.tokens
    np.testing.assert_array_equal(
        [one.vector for one in embedder.embed_pieces(NEW)], embedder.embed(NEW)
    )


def test_pieces_of_another_width_than_the_vectors_pass_the_checks_of_a_run():
    key = TextKey(NEW[0], pieces=True)
    outcome = CachedEmbedder(isotropic("whiten:10")).fetch([key])[key]
    assert outcome.vector.shape == (10,)
    assert outcome.pieces.vectors.shape == (4, DIMS)


def test_an_embedder_that_gives_vectors_only():
    embedder = IsotropicEmbedder(Plain(), known("centre").transform, Plain().instrument)
    assert embedder.embed_counted(NEW).tokens == [None] * 4
    embedder.load()
    with pytest.raises(NoPiecesError, match="none for its tokens"):
        embedder.embed_pieces(NEW)
    key = TextKey(NEW[0], pieces=True)
    assert CachedEmbedder(embedder).fetch([key])[key].no_pieces


def test_loading_reaches_the_embedder_behind():
    loaded = []

    class Loading(Plain):
        def load(self):
            loaded.append(True)

    embedder = IsotropicEmbedder(Loading(), known("centre").transform, Plain().instrument)
    assert isinstance(embedder, LoadingEmbedder)
    CachedEmbedder(embedder).prepare()
    assert loaded == [True]


def test_roles_reach_the_embedder_behind():
    class Asking(Plain):
        def embed(self, texts, role=Role.TEXT):
            return super().embed([f"{role} {text}" for text in texts])

    base = Asking(prefixes={"query": "query "})
    embedder = IsotropicEmbedder(base, known("centre").transform, base.instrument)
    one, two = embedder.embed(NEW[:1], Role.QUERY), embedder.embed(NEW[:1])
    assert np.abs(one - two).max() > 0.01


# --- identity -----------------------------------------------------------------------------------


def test_every_option_gives_an_identity_of_its_own():
    base = Crowded().instrument
    made = [isotropic(m).instrument for m in (*METHODS[:3], "whiten:9", "components:2")]
    other = fitted("centre", found=TEXTS[:1_100]).transform
    made.append(IsotropicEmbedder(Crowded(), other, base).instrument)
    assert len({one.digest for one in (base, *made)}) == len(made) + 1


def test_the_instrument_says_what_was_done():
    base, now = Plain().instrument, known("whiten:10").transform
    found = IsotropicEmbedder(Plain(), now, base).instrument
    assert found == msgspec.structs.replace(
        base,
        model="hash-words+whiten:10",
        dims=10,
        normalize=True,
        options={"isotropy": f"whiten:10 sha256:{now.digest}"},
    )


def test_its_vectors_are_cached_apart():
    class Store(dict):
        def get_many(self, instrument, keys):
            return {key: self[key] for key in keys if key in self}

        def put_many(self, instrument, rows):
            self.update((key, embedded) for key, _, embedded in rows)

    store = Store()
    for embedder in (Crowded(), isotropic("centre"), isotropic("whiten:10")):
        CachedEmbedder(embedder, store).embed(NEW)
    assert len(store) == 3 * len(NEW)
    again = Crowded()
    spread = isotropic("whiten:10", again)
    again.texts.clear()
    CachedEmbedder(spread, store).embed(NEW)
    assert again.texts == []


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "other"}, "model hash-words then, other now"),
        ({"window": "truncate"}, "window chunk then, truncate now"),
        ({"weights": "ab" * 32}, "weights none then, abab"),
    ],
)
def test_another_embedder_than_it_was_fitted_with_is_refused(change, said):
    with pytest.raises(InstrumentMismatchError, match="mine was fitted on") as caught:
        IsotropicEmbedder(
            _changed(change),
            known("centre").transform,
            Crowded().instrument,
            name="mine",
        )
    assert said in str(caught.value)
    assert "closecall models isotropy" in str(caught.value)


def _changed(change):
    class Changed(Crowded):
        @property
        def instrument(self):
            return msgspec.structs.replace(super().instrument, **change)

    return Changed()


def test_vectors_are_not_spread_twice():
    once = isotropic("centre")
    with pytest.raises(UsageError, match="spread already"):
        IsotropicEmbedder(once, known("centre").transform, once.instrument)


def test_a_transform_of_another_width_is_refused():
    base = Crowded(DIMS + 1)
    with pytest.raises(
        UsageError, match="takes vectors of 24 numbers, those of hash-words have 25"
    ):
        IsotropicEmbedder(base, known("centre").transform, base.instrument)


def test_a_text_that_is_the_mean_has_no_vector():
    base = Crowded()
    mean = base.embed(["pine"])[0]
    for transform in (
        Transform(Method("centre"), mean, np.zeros((DIMS, 0), np.float32)),
        Transform(Method("components", 1), np.zeros_like(mean), mean[:, None]),
        Transform(Method("whiten", 2), mean, np.eye(DIMS, 2, dtype=np.float32) * 1000),
    ):
        embedder = IsotropicEmbedder(base, transform, base.instrument)
        with pytest.raises(EmbeddingError, match="nothing but noise is left") as caught:
            embedder.embed(["oak", "pine", "larch", "pine"])
        assert caught.value.indices == (1, 3)
        outcomes = CachedEmbedder(embedder).fetch([TextKey("oak"), TextKey("pine")])
        assert isinstance(outcomes[TextKey("pine")], Failure)
        assert outcomes[TextKey("oak")].vector.any()


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_vector_that_cannot_be_used_is_named(bad):
    class Broken(Plain):
        def embed(self, texts, role=Role.TEXT):
            found = super().embed(texts, role)
            found[1] *= 0
            found[1] += bad
            return found

    embedder = IsotropicEmbedder(Broken(), known("centre").transform, Plain().instrument)
    with pytest.raises(
        EmbeddingError, match=r"texts\[1\]: its vector is zero or not finite"
    ) as caught:
        embedder.embed(NEW)
    assert caught.value.indices == (1,)


def test_vectors_of_a_wrong_shape_are_refused():
    class Short(Plain):
        def embed(self, texts, role=Role.TEXT):
            return super().embed(texts, role)[:-1]

    embedder = IsotropicEmbedder(Short(), known("centre").transform, Plain().instrument)
    with pytest.raises(
        EmbeddingError, match=r"expected vectors of shape \(4, 24\), got \(3, 24\)"
    ):
        embedder.embed(NEW)


# --- noise ---------------------------------------------------------------------------------------


@EVERY
def test_noise_of_another_machine_stays_noise(method):
    """Float32 kernels differ by some 1e-7 a vector; spreading must not blow that up."""

    class Noisy(Crowded):
        def embed_counted(self, texts, role=Role.TEXT):
            found = super().embed_counted(texts, role)
            noise = np.random.default_rng(5).normal(0, 3e-8, found.vectors.shape)
            return found._replace(vectors=(found.vectors + noise).astype(np.float32))

    steady, noisy = isotropic(method), isotropic(method, Noisy())
    one, two = (e.embed(TEXTS[:200]).astype(float) for e in (steady, noisy))
    assert np.abs(one @ one.T - two @ two.T).max() < SCORE_NOISE
    assert check_canaries(record_canaries(steady), noisy).verdict == SAME


def test_equal_in_another_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from spread import TEXTS, isotropic;"
        "e = isotropic('whiten:10');"
        "print(e.instrument.digest, e.embed(TEXTS[:3]).tobytes().hex())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    embedder = isotropic("whiten:10")
    assert said.stdout.split() == [
        embedder.instrument.digest, embedder.embed(TEXTS[:3]).tobytes().hex(),
    ]  # fmt: skip
