"""What is fitted: against direct formulas and scikit-learn, from texts alone, and when refused."""

import random

import numpy as np
import pytest
from sklearn.decomposition import PCA
from spread import DIMS, METHODS, TEXTS, Crowded, Plain, fitted, keys, unit

from closecall.embedders.base import TextKey
from closecall.embedders.isotropy import fit as fit_module
from closecall.embedders.isotropy.fit import LEAST, fit
from closecall.embedders.isotropy.methods import Method, parse_method
from closecall.errors import DataError, UsageError
from closecall.records import Role


@pytest.fixture(scope="module")
def vectors():
    return unit(Crowded().embed(TEXTS).astype(np.float64))


def test_centring_takes_the_mean_of_the_texts_away(vectors):
    spread = fitted("centre").transform.apply(vectors)
    np.testing.assert_allclose(spread, vectors - vectors.mean(axis=0), atol=1e-7)


@pytest.mark.parametrize("size", [1, 5])
def test_removed_components_are_those_that_a_projection_removes(vectors, size):
    centred = vectors - vectors.mean(axis=0)
    _, _, rows = np.linalg.svd(centred, full_matrices=False)
    wanted = centred - centred @ rows[:size].T @ rows[:size]
    spread = fitted(f"components:{size}").transform.apply(vectors)
    np.testing.assert_allclose(spread, wanted, atol=1e-6)
    assert np.abs(spread @ rows[:size].T).max() < 1e-6


@pytest.mark.parametrize("size", [1, 10, 14])
def test_whitened_texts_have_one_variance_in_every_direction(vectors, size):
    spread = fitted(f"whiten:{size}").transform.apply(vectors)
    assert spread.shape == (len(TEXTS), size)
    np.testing.assert_allclose(
        np.cov(spread.T, bias=True).reshape(size, size), np.eye(size), atol=1e-4
    )
    np.testing.assert_allclose(spread.mean(axis=0), 0, atol=1e-4)


def test_whitening_is_that_of_scikit_learn(vectors):
    theirs = PCA(10, whiten=True, svd_solver="full").fit_transform(vectors)
    ours = fitted("whiten:10").transform.apply(vectors)
    # They divide by n - 1, and a direction has no sign of its own.
    ours *= np.sqrt((len(vectors) - 1) / len(vectors))
    np.testing.assert_allclose(ours * np.sign((ours * theirs).sum(axis=0)), theirs, atol=1e-4)


@pytest.mark.parametrize("method", METHODS[:3])
def test_the_order_of_texts_and_their_repetition_change_nothing(method):
    mixed = [*TEXTS, *TEXTS[:50], "", "  \n", "caf\u00e9\nand tea"]
    random.Random(4).shuffle(mixed)
    one = fitted(method, found=mixed)
    two = fitted(method, found=["cafe\u0301\r\nand tea", *TEXTS])
    assert one.texts == two.texts == len(TEXTS) + 1
    assert one.texts_digest == two.texts_digest
    assert one.transform.digest == two.transform.digest


def test_the_same_texts_give_the_same_bytes_in_blocks_of_any_size(monkeypatch):
    one = fitted("whiten:10").transform
    assert fitted("whiten:10").transform.digest == one.digest
    monkeypatch.setattr(fit_module, "BLOCK", 7)
    other = fitted("whiten:10").transform
    np.testing.assert_allclose(other.matrix, one.matrix, rtol=1e-4, atol=1e-5)


def test_the_length_of_vectors_counts_for_nothing():
    np.testing.assert_allclose(
        fitted("whiten:10", Plain()).transform.matrix,
        fitted("whiten:10").transform.matrix,
        atol=1e-4,
    )


def test_the_largest_number_of_each_direction_is_positive():
    matrix = fitted("whiten:10").transform.matrix
    assert (matrix[np.abs(matrix).argmax(axis=0), np.arange(10)] > 0).all()


def test_it_says_what_it_was_made_of(vectors):
    found = fitted("whiten:10")
    assert (found.texts, found.distinct, found.drawn) == (len(TEXTS), len(TEXTS), None)
    cosines = vectors @ vectors.T
    assert found.mean_cosine == pytest.approx(cosines.mean())
    shares = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    assert found.kept == pytest.approx(shares[:10].sum() / shares.sum())
    assert fitted("components:3").kept == pytest.approx(1 - shares[:3].sum() / shares.sum())
    assert fitted("centre").kept == 1.0


def test_a_draw_of_texts_depends_on_the_seed_alone():
    one, two, other = (fitted("centre", at_most=1_000, seed=seed) for seed in (1, 1, 2))
    assert (one.texts, one.distinct, one.drawn) == (1_000, len(TEXTS), 1)
    assert one.texts_digest == two.texts_digest != other.texts_digest


def test_roles_with_prefixes_are_texts_of_their_own():
    plain, marked = Plain(), Plain(prefixes={"query": "ask: "})
    both = [*keys(), *(TextKey(text, Role.QUERY) for text in TEXTS)]
    counts = [fit(base, both, parse_method("centre")).texts for base in (plain, marked)]
    assert counts == [len(TEXTS), 2 * len(TEXTS)]


def test_too_few_texts_are_refused_with_how_many_there_are():
    with pytest.raises(
        DataError, match=r"^999 distinct texts were given, .*1,000 at least.*2,000"
    ):
        fitted("centre", found=[*TEXTS[: LEAST - 1], TEXTS[0], " "])
    assert fitted("centre", found=TEXTS[:LEAST]).texts == LEAST


def test_texts_without_a_vector_are_counted_and_may_leave_too_few():
    def fail(batch):
        if any("yew" in text for text in batch):
            raise ValueError("no yew here")

    with pytest.raises(DataError, match=r"texts have a vector \(hash-words .*no yew here"):
        fitted("centre", Crowded(on_embed=fail))

    class Picky(Plain):
        def embed(self, texts, role=Role.TEXT):
            found = super().embed(texts, role)
            found[[text == TEXTS[3] for text in texts]] = 0
            return found

    found = fitted("centre", Picky())
    assert found.texts == len(TEXTS) - 1
    assert list(found.unmeasured.values()) == [1]


def test_directions_that_the_texts_do_not_vary_in_are_refused():
    class Flat(Plain):
        def embed(self, texts, role=Role.TEXT):
            found = super().embed(texts, role)
            found[:, 6:] = 0
            return found

    assert fitted("whiten:6", Flat()).transform.width == 6
    with pytest.raises(
        DataError, match=r"whiten:7: 1,200 texts vary in 6 directions.*whiten:6 or"
    ):
        fitted("whiten:7", Flat())
    with pytest.raises(DataError, match=r"components:7: .* remove fewer"):
        fitted("components:7", Flat())

    class Constant(Plain):
        def embed(self, texts, role=Role.TEXT):
            return np.ones((len(texts), DIMS), dtype=np.float32)

    for method in METHODS:
        with pytest.raises(DataError, match="all 1,200 texts have the same vector"):
            fitted(method, Constant())


@pytest.mark.parametrize(
    ("method", "most"), [("whiten:25", "whiten:24"), ("components:24", "components:23")]
)
def test_more_directions_than_numbers_are_refused_before_embedding(method, most):
    embedder = Crowded()
    with pytest.raises(UsageError, match=f"^{method}: .*24 numbers have room for {most}"):
        fitted(method, embedder)
    assert embedder.texts == []


@pytest.mark.parametrize("options", [{"at_most": 999}, {"seed": -1}, {"least": 0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(UsageError):
        fitted("centre", **options)


@pytest.mark.parametrize("text", ["centre", "components:8", "whiten:256"])
def test_a_method_is_written_as_it_is_read(text):
    assert str(parse_method(f" {text} ")) == text


@pytest.mark.parametrize(
    "text",
    ["", "center", "centre:", "centre:3", "whiten", "whiten:", "whiten:0", "whiten:-1",
     "whiten:1.5", "whiten:٣", "whiten:8:8", "components", "zca:3", "whiten:99999999"],
)  # fmt: skip
def test_what_is_no_method_is_refused_with_those_there_are(text):
    with pytest.raises(UsageError, match="method must be centre, components:K"):
        parse_method(text)


def test_a_method_knows_its_width():
    assert [Method(kind, 3).width(9) for kind in ("components", "whiten")] == [9, 3]
    assert Method("centre").width(9) == 9
    assert Method("components", 1).flaw(1)


def test_the_digest_stands_for_method_and_numbers():
    made = [fitted(method).transform for method in ("centre", "components:3", "whiten:3")]
    assert len({one.digest for one in made}) == 3
