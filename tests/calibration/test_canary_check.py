"""Recording an embedder's canaries, and telling noise, a change of precision and another model."""

import msgspec
import numpy as np
import pytest
from changed_embedders import (
    REAL,
    SLIGHT,
    Shuffled,
    Wrapped,
    as_fp16,
    bundled,
    record,
    seen,
)

from closecall.calibration.drift.canaries import CANARIES, DIGEST, VERSION
from closecall.calibration.drift.canary_check import check_canaries
from closecall.calibration.drift.canary_record import (
    FLOORS,
    CanaryRecord,
    precision_class,
    record_canaries,
    score_noise,
)
from closecall.calibration.drift.canary_vectors import GIVE_UP_AFTER
from closecall.embedders.base import Counted
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.registry import load_embedder
from closecall.errors import (
    CalibrationFileError,
    ConfigurationError,
    EmbeddingError,
    TextTooLongError,
    UsageError,
)
from closecall.instrument import Instrument
from closecall.records import Role
from closecall.testing import HashEmbedder

TEXT = {canary.name: canary.text for canary in CANARIES}


# --- the bundled model ---------------------------------------------------------------------------


def test_the_same_model_is_the_same_to_the_last_bit():
    check = check_canaries(record(), load_embedder("minilm"))
    assert (check.verdict, check.worst, check.distance) == ("same", None, 0.0)
    assert (check.pair, check.pair_change) == (None, 0.0)
    assert (check.limit, check.pair_limit) == (1e-6, 1e-5)
    assert (check.reasons, check.equalities) == ((), {})
    assert (record().precision, record().dims) == ("fp32", 384)
    assert (record().eps_self, record().eps_pair) == (0.0, 0.0)


def test_the_order_of_texts_is_no_change():
    assert check_canaries(record(), Shuffled(bundled())).verdict == "same"


@pytest.mark.parametrize("change", SLIGHT)
def test_fewer_bits_are_a_change_of_precision(change):
    check, _ = seen(change)
    assert check.verdict == "precision change"
    assert check.worst in TEXT
    assert check.distance <= 5e-3
    assert check.limit < check.distance or check.pair_limit < check.pair_change <= 2e-2
    assert any("is noise" in reason for reason in check.reasons)
    assert not any("a change of precision" in reason for reason in check.reasons)
    assert check.equalities == {}


@pytest.mark.parametrize("change", REAL)
def test_a_real_change_is_another_instrument(change):
    check, moved = seen(change)
    assert check.verdict == "different instrument"
    assert check.worst == max(moved, key=moved.get)
    assert check.distance == moved[check.worst] > 5e-3
    assert f"'{check.worst}' moved by {check.distance:.2g}" in check.reasons[0]
    assert "up to 0.005 a change of precision" in check.reasons[0]


CAUSES = {
    "case kept": ("accents", "one sentence with and without accents: two vectors now"),
    "upper case unknown": ("case", "one sentence in lower and upper case: two vectors now"),
    "accents kept": ("accents", "one sentence with and without accents: two vectors now"),
    "white space around marked": ("whitespace", "without white space around: two vectors now"),
    "full stops dropped": ("punctuation", "without its full stop: one vector now, two at"),
    "digits masked": ("minutes", "one sentence with another number: one vector now, two at"),
    "'not' lost": ("negation", "one sentence with and without 'not': one vector now, two at"),
    "cut at 16 tokens": ("length", "with and without its last part: one vector now, two at"),
}


@pytest.mark.parametrize("change", CAUSES)
def test_pairs_that_became_equal_or_ceased_to_be_name_the_cause(change):
    check, _ = seen(change)
    pair, words = CAUSES[change]
    assert check.equalities[pair] is ("one vector now" in words)
    assert any(words in reason for reason in check.reasons)


def test_a_canary_the_model_can_no_longer_read_is_named():
    check, _ = seen("case kept")
    assert any(
        reason.startswith("canary 'case-upper' had a vector at calibration and has none now: ")
        and "knows no word" in reason
        for reason in check.reasons
    )


# --- the record ----------------------------------------------------------------------------------


class Placed:
    """An embedder made of vectors by text, each a list of numbers; others come from words."""

    def __init__(self, vectors=None, *, dims=64, **identity):
        self.inner = HashEmbedder(dims)
        self.vectors = vectors or {}
        self.instrument = msgspec.structs.replace(self.inner.instrument, **identity)
        self.calls = []

    def embed(self, texts, role=Role.TEXT):
        self.calls.append((tuple(texts), role))
        found = self.inner.embed(texts, role)
        for row, text in zip(found, texts, strict=True):
            if text in self.vectors:
                row[:] = self.vectors[text]
        return found


class Noisy(Placed):
    """Turns every vector by an angle that depends on how many texts come together."""

    def __init__(self, angle, **identity):
        super().__init__(**identity)
        self.angle = angle

    def embed(self, texts, role=Role.TEXT):
        found = super().embed(texts, role).astype(np.float64)
        if len(texts) == 1:
            first, second = found[:, 0].copy(), found[:, 1].copy()
            found[:, 0] = first * np.cos(self.angle) - second * np.sin(self.angle)
            found[:, 1] = first * np.sin(self.angle) + second * np.cos(self.angle)
            found[:, 2] += self.angle * 0.1
        return found.astype(np.float32)


def test_each_canary_is_embedded_three_times_in_its_role():
    embedder = Placed()
    found = record_canaries(embedder)
    asked = [(text, role) for texts, role in embedder.calls for text in texts]
    assert sorted(asked) == sorted(3 * [(canary.text, canary.role) for canary in CANARIES])
    sizes = [len(texts) for texts, _ in embedder.calls]
    assert sizes[:3] == [4, 4, 26]
    assert sizes[3 : 3 + len(CANARIES)] == [1] * len(CANARIES)
    assert sum(sizes[3 + len(CANARIES) :]) == len(CANARIES)
    assert max(sizes[3 + len(CANARIES) :]) < 20
    assert found.shapes == ("all at once", "one by one", "halves reversed")
    assert (found.version, found.digest) == (VERSION, DIGEST)
    embedder.calls.clear()
    check_canaries(found, embedder)
    assert [len(texts) for texts, _ in embedder.calls] == [4, 4, 26]


def test_the_record_keeps_the_very_vectors_and_survives_json():
    embedder = HashEmbedder(32)
    found = record_canaries(embedder)
    for name, vector in found.by_name().items():
        assert vector.tobytes() == embedder.embed([TEXT[name]])[0].tobytes()
        assert found.norms[name] == pytest.approx(1, abs=1e-6)
    for order in (None, "sorted"):  # whatever order a file keeps its keys in
        again = msgspec.json.decode(
            msgspec.json.encode(found, order=order), type=CanaryRecord, strict=True
        )
        assert again == found
        assert check_canaries(again, HashEmbedder(32)).distance == 0.0
    with pytest.raises(msgspec.ValidationError, match="vectors hold"):
        msgspec.convert({**msgspec.to_builtins(found), "dims": 33}, CanaryRecord)


def test_tolerances_are_ten_times_the_noise_seen():
    found = record_canaries(Noisy(1e-2))
    assert 1e-7 < found.eps_self < 1e-4
    assert 1e-7 < found.eps_pair < 1e-2
    assert found.text_limit == 10 * found.eps_self > FLOORS["fp32"].text
    assert found.pair_limit == 10 * found.eps_pair > FLOORS["fp32"].pair
    assert found.steady
    assert check_canaries(found, Noisy(1e-2)).verdict == "same"
    assert check_canaries(found, Wrapped(Counting(Noisy(1e-2)), vectors=as_fp16)).verdict == "same"
    assert not record_canaries(Noisy(0.3)).steady


class Counting:
    """Gives an embedder without token counts the method that returns them."""

    def __init__(self, inner):
        self.inner = inner
        self.instrument = inner.instrument

    def embed(self, texts, role=Role.TEXT):
        return self.inner.embed(texts, role)

    def embed_counted(self, texts, role=Role.TEXT):
        return Counted(self.embed(texts, role), [None] * len(texts))


@pytest.mark.parametrize(
    ("precision", "provider", "text", "pair"),
    [
        ("fp32", "local", 1e-6, 1e-5),
        ("fp16-weights", "local", 1e-6, 1e-5),
        ("fp16", "local", 1e-5, 1e-3),
        ("bf16", "local", 5e-4, 1e-2),
        ("int8", "local", 5e-3, 2e-2),
        ("fp4", "local", 1e-6, 1e-5),
        ("fp32", "openai", 1e-4, 2e-3),
        ("int8", "ollama", 1e-4, 2e-3),
    ],
)
def test_least_tolerances_follow_from_what_the_embedder_computes_in(
    precision, provider, text, pair
):
    found = record_canaries(Placed(precision=precision, provider=provider))
    assert (found.text_limit, found.pair_limit) == (text, pair)
    assert score_noise(found, 1) == pair
    assert score_noise(found, 100) == 100 * pair
    instrument = Instrument(kind="x", model="x", provider=provider, dims=2, precision=precision)
    assert precision_class(instrument) == found.precision


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_a_scale_is_a_number_above_zero(scale):
    with pytest.raises(UsageError, match="scale must be"):
        score_noise(record(), scale)


# --- verdicts, one rule at a time ----------------------------------------------------------------


def at(cosine, dims=64):
    """Return a unit vector that far from the first axis."""
    vector = np.zeros(dims, dtype=np.float32)
    vector[:2] = cosine, np.sqrt(1 - cosine**2)
    return vector


def moved(distance):
    """Return an embedder that turned one text, all alone, by a 1 - cosine."""
    return Placed({TEXT["plain-4"]: at(1 - distance)})


@pytest.mark.parametrize(
    ("distance", "verdict"),
    [
        (0.0, "same"),
        (1e-4, "precision change"),
        (4.9e-3, "precision change"),
        (5.1e-3, "different instrument"),
    ],
)
def test_the_text_that_moved_most_decides(distance, verdict, monkeypatch):
    monkeypatch.setattr("closecall.calibration.drift.canary_check.pair_scores", lambda _: {})
    check = check_canaries(record_canaries(moved(0.0)), moved(distance))
    assert check.verdict == verdict
    assert check.worst == ("plain-4" if distance else None)
    assert check.distance == pytest.approx(distance, abs=1e-7)
    assert (check.pair, check.pair_change) == (None, None)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (0.0, "same"),
        (1e-5, "precision change"),
        (1.9e-2, "precision change"),
        (2.1e-2, "different instrument"),
    ],
)
def test_the_pair_that_changed_most_decides(change, verdict):
    found = record_canaries(Placed())
    scores = {**found.pair_scores, "sea": found.pair_scores["sea"] + change}
    check = check_canaries(msgspec.structs.replace(found, pair_scores=scores), Placed())
    assert check.verdict == verdict
    assert check.pair == ("sea" if change else None)
    assert check.pair_change == pytest.approx(change)
    assert (check.worst, check.distance) == (None, 0.0)


def test_between_the_noise_of_a_coarse_class_and_another_instrument_there_is_nothing():
    found = record_canaries(Placed(precision="int8"))
    scores = {**found.pair_scores, "sea": found.pair_scores["sea"] + 1.9e-2}
    check = check_canaries(msgspec.structs.replace(found, pair_scores=scores), Placed())
    assert check.verdict == "same"
    scores["sea"] += 2e-3
    check = check_canaries(msgspec.structs.replace(found, pair_scores=scores), Placed())
    assert check.verdict == "different instrument"


def test_another_width_is_another_instrument_without_asking():
    other = HashEmbedder(65)
    check = check_canaries(record_canaries(HashEmbedder(64)), other)
    assert check.verdict == "different instrument"
    assert (check.worst, check.distance, check.pair_change) == (None, None, None)
    assert check.reasons == ("a vector has 65 numbers; at calibration it had 64",)
    assert other.texts == []


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0005, "same"), (1.002, "different instrument")]
)
def test_the_length_of_vectors_may_not_change(factor, verdict):
    longer = Wrapped(HashEmbedder(), vectors=lambda vectors: 7 * vectors)
    found = record_canaries(longer)
    assert found.norms["word"] == pytest.approx(7)
    check = check_canaries(found, Wrapped(longer, vectors=lambda vectors: factor * vectors))
    assert check.verdict == verdict
    said = [reason for reason in check.reasons if "has length 7.014" in reason]
    assert len(said) == (verdict != "same")
    assert all("at calibration it had 7" in reason for reason in said)


def nearer(right, wrong):
    return Placed(
        {
            TEXT["salt-question"]: at(1.0),
            TEXT["salt-right"]: at(right),
            TEXT["salt-wrong"]: at(wrong),
        }
    )


def test_right_and_wrong_answers_that_change_places_are_no_change_of_precision():
    found = record_canaries(nearer(0.505, 0.495))
    check = check_canaries(found, nearer(0.495, 0.505))
    assert check.distance < 5e-3
    assert check.pair_change < 2e-2
    assert check.verdict == "different instrument"
    said = "the wrong answer of 'salt' now is nearer to the question than the right one"
    assert any(said in reason for reason in check.reasons)
    # As long as they do not change places, or not by more than noise, it is one.
    assert check_canaries(found, nearer(0.501, 0.499)).verdict == "precision change"
    noisy = msgspec.structs.replace(found, eps_pair=2e-3)
    assert check_canaries(noisy, nearer(0.495, 0.505)).verdict == "precision change"


def test_rounding_does_not_make_texts_equal_or_unequal():
    found = record_canaries(Placed({TEXT["drug"]: at(1.0), TEXT["drug-wrong"]: at(1 - 5e-7)}))
    near = Placed({TEXT["drug"]: at(1.0), TEXT["drug-wrong"]: at(1 - 4e-3)})
    apart = Placed({TEXT["drug"]: at(1.0), TEXT["drug-wrong"]: at(1 - 6e-3)})
    assert check_canaries(found, near).equalities == {}
    assert check_canaries(found, apart).equalities == {"negation": False}
    assert check_canaries(record_canaries(near), near).equalities == {}
    assert check_canaries(record_canaries(apart), near).equalities == {}


# --- texts that fail -----------------------------------------------------------------------------


def failing(*names, error=None):
    """Return an embedder that fails on some canaries: naming them, or with an error of its own."""
    texts = [TEXT[name] for name in names]

    def on_embed(batch):
        at_fault = [index for index, text in enumerate(batch) if text in texts]
        if at_fault:
            raise error or TextTooLongError("too long", at_fault, reason="too long to read")

    return HashEmbedder(on_embed=on_embed)


@pytest.mark.parametrize("error", [None, RuntimeError("out of memory")], ids=["named", "unnamed"])
def test_a_text_that_fails_is_a_reason_and_not_a_number(error):
    found = record_canaries(failing("long", "emoji-1", error=error))
    assert set(found.unmeasured) == {"long", "emoji-1"}
    assert all(
        ("out of memory" if error else "too long to read") in reason
        for reason in found.unmeasured.values()
    )
    assert set(found.norms) == set(TEXT) - {"long", "emoji-1"}
    assert {"length", "emoji", "sea"}.isdisjoint(found.pair_scores)
    assert check_canaries(found, failing("long", "emoji-1", error=error)).verdict == "same"


def test_texts_that_begin_or_cease_to_fail_are_a_change():
    whole = check_canaries(record_canaries(failing()), failing("long", "emoji-1"))
    assert whole.verdict == "different instrument"
    (reason,) = whole.reasons
    assert reason == (
        "canaries 'emoji-1', 'long' had a vector at calibration and have none now: "
        "hash-words (local): too long to read"
    )
    mended = check_canaries(record_canaries(failing("word")), failing())
    assert mended.verdict == "different instrument"
    (reason,) = mended.reasons
    assert reason == (
        "canary 'word' has a vector now and had none at calibration: "
        "hash-words (local): too long to read"
    )


def test_a_text_that_fails_in_one_shape_only_is_not_measured():
    def on_embed(batch):
        if batch == [TEXT["word"]]:
            raise EmbeddingError("alone", [0])

    assert set(record_canaries(HashEmbedder(on_embed=on_embed)).unmeasured) == {"word"}


def test_an_embedder_that_is_out_of_order_is_an_error_after_few_calls():
    calls = []

    def on_embed(batch):
        calls.append(batch)
        raise ConnectionError("refused")

    for act in (record_canaries, lambda embedder: check_canaries(record_of_words(), embedder)):
        calls.clear()
        with pytest.raises(EmbeddingError, match=r"none of the 34 canary texts .*refused"):
            act(HashEmbedder(on_embed=on_embed))
        roles = 3 * (1 + GIVE_UP_AFTER)
        assert len(calls) <= roles + len(CANARIES) + 2 * roles


def record_of_words():
    return record_canaries(HashEmbedder())


def test_a_model_that_cannot_be_loaded_is_an_error():
    class Broken(HashEmbedder):
        def load(self):
            raise ConfigurationError("no such model")

    with pytest.raises(ConfigurationError, match="no such model"):
        record_canaries(Broken())


def test_a_cache_is_refused():
    for act in (record_canaries, lambda embedder: check_canaries(record_of_words(), embedder)):
        with pytest.raises(UsageError, match="behind it"):
            act(CachedEmbedder(HashEmbedder()))


def test_a_record_of_other_canaries_is_refused():
    other = msgspec.structs.replace(record_of_words(), digest="0" * 64, version=7)
    with pytest.raises(CalibrationFileError, match=r"version 7.*calibrate again"):
        check_canaries(other, HashEmbedder())


def test_other_texts_of_the_same_version_are_not_called_another_version():
    other = msgspec.structs.replace(record_of_words(), digest="0" * 64)
    with pytest.raises(CalibrationFileError, match="vectors of other canary texts") as caught:
        check_canaries(other, HashEmbedder())
    assert "version 1" not in str(caught.value)


def test_a_reason_of_any_length_is_cut_short():
    record = record_of_words()
    unmeasured = {**record.unmeasured, next(iter(record.norms)): "x" * 100_000}
    found = check_canaries(msgspec.structs.replace(record, unmeasured=unmeasured), HashEmbedder())
    assert 200 < max(map(len, found.reasons)) < 600
