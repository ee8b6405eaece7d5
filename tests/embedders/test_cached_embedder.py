"""Each text embedded once, each vector checked once, whatever the embedder does."""

import unicodedata

import numpy as np
import pytest

from closecall.cache import VectorCache
from closecall.embedders.base import (
    Counted,
    CountingEmbedder,
    Embedded,
    Embedder,
    Failure,
    TextKey,
    Usage,
)
from closecall.embedders.cached import CachedEmbedder, FetchStats
from closecall.embedders.remembered import ENTRY_BYTES
from closecall.errors import (
    ConfigurationError,
    EmbeddingError,
    ModelError,
    TextTooLongError,
    UsageError,
)
from closecall.instrument import Instrument
from closecall.records import Role, Tokens

DIMS = 4


def vector(text, role=Role.TEXT):
    seed = [*text.encode("utf-8", "surrogatepass"), len(role.value)]
    return np.random.default_rng(seed).standard_normal(DIMS, np.float32)


class Plain:
    """An embedder that keeps what it was asked, and spoils what it is told to."""

    def __init__(self, prefixes=None, spoil=None, before=None):
        self.instrument = Instrument(
            kind="test", model="plain", provider="local", dims=DIMS, prefixes=prefixes or {}
        )
        self.calls = []
        self._spoil = spoil or (lambda result, call: result)
        self._before = before or (lambda texts, call: None)

    def embed(self, texts, role=Role.TEXT):
        self.calls.append((list(texts), role))
        self._before(list(texts), len(self.calls))
        vectors = np.array([vector(text, role) for text in texts], np.float32)
        return self._spoil(vectors, len(self.calls))

    @property
    def asked(self):
        return [texts for texts, _ in self.calls]


class Counting(Plain):
    def embed_counted(self, texts, role=Role.TEXT):
        return Counted(self.embed(texts, role), [Tokens(len(t), len(t)) for t in texts])


def keys(*texts, role=Role.TEXT):
    return [TextKey(text, role) for text in texts]


def fetch(embedder, *texts, **options):
    """Fetch texts through a new wrapper; return its outcomes by text."""
    return {k.text: v for k, v in CachedEmbedder(embedder, **options).fetch(keys(*texts)).items()}


def assert_right(outcomes, *texts):
    for text in texts:
        assert np.array_equal(outcomes[text].vector, vector(text)), text


def assert_failed(outcomes, text, what):
    assert isinstance(outcomes[text], Failure), text
    assert what in outcomes[text].reason
    assert "plain" in outcomes[text].reason
    assert "\n" not in outcomes[text].reason
    assert len(outcomes[text].reason) <= 500


def test_it_is_an_embedder_that_counts():
    cached = CachedEmbedder(Plain())
    assert isinstance(cached, Embedder)
    assert isinstance(cached, CountingEmbedder)
    assert cached.instrument == Plain().instrument


def test_equal_texts_are_embedded_once():
    inner = Plain()
    cached = CachedEmbedder(inner)
    asked = keys("b", "a", "b") + keys("a", role=Role.QUERY) + keys("c\r\n", "c\n", "e\u0301", "é")
    found = cached.fetch(asked)
    assert inner.asked == [["b", "a", "c\n", "é"]]
    assert set(found) == set(asked)
    assert cached.stats == FetchStats(asked=8, unique=4, embedded=4)


def test_what_is_embedded_is_canonical():
    inner = Plain()
    fetch(inner, unicodedata.normalize("NFD", "Zürich\r\nBâle"))
    assert inner.asked == [["Zürich\nBâle"]]


def test_roles_with_prefixes_of_their_own_are_embedded_apart():
    inner = Plain(prefixes={"query": "q: "})
    found = CachedEmbedder(inner).fetch([TextKey("a", role) for role in Role])
    assert inner.calls == [(["a"], Role.QUERY), (["a"], Role.TEXT)]
    assert np.array_equal(found[TextKey("a", Role.QUERY)].vector, vector("a", Role.QUERY))
    assert np.array_equal(found[TextKey("a", Role.DOCUMENT)].vector, vector("a"))


def test_a_later_batch_is_served_from_memory():
    inner = Plain()
    cached = CachedEmbedder(inner)
    cached.fetch(keys("a", "b"))
    found = cached.fetch(keys("b", "c"))
    assert inner.asked == [["a", "b"], ["c"]]
    assert np.array_equal(found[TextKey("b")].vector, vector("b"))
    assert cached.stats == FetchStats(asked=4, unique=4, memory_hits=1, embedded=3)


def test_memory_is_bounded_and_keeps_what_was_used_last():
    entry = ENTRY_BYTES + 4 * DIMS
    inner = Plain()
    cached = CachedEmbedder(inner, memory_bytes=2 * entry)
    cached.fetch(keys("a", "b"))
    cached.fetch(keys("a"))
    cached.fetch(keys("c"))
    assert cached.memory_bytes == 2 * entry
    cached.fetch(keys("a", "b"))
    assert inner.asked == [["a", "b"], ["c"], ["b"]]
    for n in range(50):
        found = cached.fetch(keys(*(f"{n} {m}" for m in range(9))))
        assert len(found) == 9
        assert cached.memory_bytes <= 2 * entry


def test_without_memory_everything_still_works():
    inner = Plain()
    cached = CachedEmbedder(inner, memory_bytes=0)
    assert len(cached.fetch(keys("a", "b"))) == 2
    assert len(cached.fetch(keys("a", "b"))) == 2
    assert inner.asked == [["a", "b"]] * 2
    with pytest.raises(UsageError):
        CachedEmbedder(inner, memory_bytes=-1)


def test_memory_holds_rows_not_batches():
    whole = []

    def keep(result, call):
        whole.append(result)
        return result

    found = fetch(Plain(spoil=keep), "a", "b")
    assert not np.shares_memory(found["a"].vector, whole[0])
    whole[0][:] = 0
    assert_right(found, "a", "b")


def test_vectors_cannot_be_written_to(tmp_path):
    with VectorCache(tmp_path / "v.sqlite3") as store:
        for _ in range(2):
            value = fetch(Plain(), "a", store=store)["a"]
            with pytest.raises(ValueError, match="read-only"):
                value.vector[0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                value.vector.flags.writeable = True


def test_the_store_serves_a_second_run(tmp_path):
    texts = [f"text {n}" for n in range(40)]
    with VectorCache(tmp_path / "v.sqlite3") as store:
        first = CachedEmbedder(Counting(), store)
        before = first.fetch(keys(*texts))
        inner = Counting()
        second = CachedEmbedder(inner, store)
        after = second.fetch(keys(*texts, "new"))
        assert inner.asked == [["new"]]
        assert second.stats == FetchStats(asked=41, unique=41, store_hits=40, embedded=1)
        for key, value in before.items():
            assert value.vector.tobytes() == after[key].vector.tobytes()
            assert value.tokens == after[key].tokens == Tokens(len(key.text), len(key.text))


class Recorder:
    """A store that keeps how it was used."""

    def __init__(self):
        self.gets, self.puts = [], []

    def get_many(self, instrument, names):
        self.gets.append(len(names))
        return {}

    def put_many(self, instrument, rows):
        self.puts.append(list(rows))

    def close(self):
        raise AssertionError("the store is its owner's to close")


def test_one_query_and_one_write_a_batch():
    store = Recorder()
    cached = CachedEmbedder(Plain(), store)
    cached.fetch(keys("a", "b", "a"))
    cached.fetch(keys("a", "b"))
    assert store.gets == [2]
    assert [len(rows) for rows in store.puts] == [2]


def spoiled(value, rows=(1,), calls=(1, 2)):
    def spoil(result, call):
        if call in calls:
            for row in rows:
                if row < len(result):
                    result[row if call == 1 else 0] = value
        return result

    return spoil


@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "NaN"), (0, "zero")]
)
def test_an_unsound_vector_fails_its_text_alone(value, what):
    store = Recorder()
    inner = Plain(spoil=lambda r, call: spoiled(value, rows=(1,) if call == 1 else (0,))(r, call))
    cached = CachedEmbedder(inner, store)
    found = {k.text: v for k, v in cached.fetch(keys("a", "b", "c")).items()}
    assert_right(found, "a", "c")
    assert_failed(found, "b", what)
    assert inner.asked == [["a", "b", "c"], ["b"]], "tried once more, alone"
    ((rows),) = store.puts
    assert [text.text for _, text, _ in rows] == ["a", "c"], "never stored"
    assert cached.stats == FetchStats(asked=3, unique=3, embedded=2, failed=1)
    cached.fetch(keys("b"))
    assert len(inner.calls) == 3, "nor remembered"


def test_a_vector_that_is_sound_the_second_time_counts():
    inner = Plain(spoil=spoiled(np.nan, calls=(1,)))
    found = fetch(inner, "a", "b", "c")
    assert_right(found, "a", "b", "c")


def test_a_second_try_that_raises_leaves_the_first_reason():
    def before(texts, call):
        if call == 2:
            raise EmbeddingError("gone")

    found = fetch(Plain(spoil=spoiled(np.nan), before=before), "a", "b")
    assert_right(found, "a")
    assert_failed(found, "b", "NaN")


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda r: r[:, :-1], "shape (3, 4), got (3, 3)"),
        (lambda r: r[:-1], "shape (3, 4), got (2, 4)"),
        (lambda r: np.vstack([r, r]), "got (6, 4)"),
        (lambda r: r.ravel(), "got (12,)"),
        (lambda r: r[None], "got (1, 3, 4)"),
        (lambda r: None, "dtype object"),
        (lambda r: [[1.0], [1.0, 2.0], []], "shape"),
        (lambda r: r.astype(int), "dtype int64"),
        (lambda r: r.astype(complex), "dtype complex128"),
        (lambda r: np.full((3, 4), "x"), "dtype <U1"),
    ],
)
def test_a_result_of_the_wrong_shape_fails_the_batch(spoil, what):
    found = fetch(Plain(spoil=lambda result, call: spoil(result)), "a", "b", "c")
    for text in "abc":
        assert_failed(found, text, what)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ">f4", np.longdouble])
def test_other_floats_become_float32(dtype):
    found = fetch(Plain(spoil=lambda r, call: r.astype(dtype)), "a", "b")
    for text in "ab":
        assert found[text].vector.dtype == np.dtype("=f4")
        assert np.array_equal(found[text].vector, vector(text).astype(dtype).astype(np.float32))


def test_lists_of_floats_are_taken():
    found = fetch(Plain(spoil=lambda result, call: result.tolist()), "a", "b")
    assert_right(found, "a", "b")


def test_a_number_too_large_for_float32_is_not_finite():
    found = fetch(Plain(spoil=lambda r, call: r.astype(np.float64) * 1e300), "a")
    assert_failed(found, "a", "infinity")


def test_texts_an_error_names_fail_and_the_rest_is_tried_without_them():
    def before(texts, call):
        bad = [i for i, text in enumerate(texts) if text.startswith("bad")]
        if bad:
            raise EmbeddingError("cannot read\nthis", bad)

    inner = Plain(before=before)
    found = fetch(inner, "a", "bad 1", "b", "bad 2")
    assert_right(found, "a", "b")
    assert_failed(found, "bad 1", "cannot read this")
    assert_failed(found, "bad 2", "cannot read this")
    assert inner.asked[1:] == [["a", "b"]]


def test_an_embedder_that_names_one_text_at_a_time():
    def before(texts, call):
        for i, text in enumerate(texts):
            if text.startswith("bad"):
                raise EmbeddingError("no", [i])

    found = fetch(Plain(before=before), "a", *(f"bad {n}" for n in range(5)), "b")
    assert_right(found, "a", "b")
    assert sum(isinstance(one, Failure) for one in found.values()) == 5


def test_an_embedder_that_always_finds_another_text_at_fault_is_given_up():
    def before(texts, call):
        raise EmbeddingError("no", [0])

    inner = Plain(before=before)
    found = fetch(inner, *(f"text {n}" for n in range(50)))
    assert len(inner.calls) == 16
    assert all(isinstance(one, Failure) for one in found.values())
    assert_failed(found, "text 49", "16 times")


@pytest.mark.parametrize("indices", [[3], [-1], [0, 99]])
def test_indices_that_are_not_there_fail_the_batch(indices):
    def before(texts, call):
        raise EmbeddingError("odd", indices)

    inner = Plain(before=before)
    found = fetch(inner, "a", "b", "c")
    for text in "abc":
        assert_failed(found, text, "odd")
    assert len(inner.calls) == 1


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (EmbeddingError("server is away"), "plain (local): server is away"),
        (EmbeddingError(""), "without a message"),
        (RuntimeError("CUDA\n  out of memory"), "RuntimeError: CUDA out of memory"),
        (MemoryError(), "MemoryError"),
        (ValueError("x" * 5000), "ValueError: xxx"),
    ],
)
def test_any_other_error_fails_the_batch_with_its_message(error, what):
    def before(texts, call):
        raise error

    inner = Plain(before=before)
    found = fetch(inner, "a", "b")
    for text in "ab":
        assert_failed(found, text, what)
    assert len(inner.calls) == 1


def test_an_interruption_passes():
    def before(texts, call):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(Plain(before=before), "a")


def test_a_batch_that_failed_is_tried_again_when_asked_again():
    def before(texts, call):
        if call == 1:
            raise EmbeddingError("busy")

    cached = CachedEmbedder(Plain(before=before))
    assert isinstance(cached.fetch(keys("a"))[TextKey("a")], Failure)
    assert isinstance(cached.fetch(keys("a"))[TextKey("a")], Embedded)


def test_a_text_too_long_is_not_tried_again():
    def before(texts, call):
        long = [i for i, text in enumerate(texts) if len(text) > 5]
        if long:
            raise TextTooLongError("6 tokens, the window holds 5", long)

    inner = Plain(before=before)
    cached = CachedEmbedder(inner)
    for _ in range(2):
        found = cached.fetch(keys("a", "too long"))
        assert "window" in found[TextKey("too long")].reason
        assert isinstance(found[TextKey("a")], Embedded)
    assert len(inner.calls) == 2


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u2003"])
def test_a_blank_text_is_never_sent(blank):
    inner = Plain()
    found = fetch(inner, "a", blank)
    assert_right(found, "a")
    assert "blank" in found[blank].reason
    assert inner.asked == [["a"]]


def test_token_counts_are_one_a_text():
    class Short(Counting):
        def embed_counted(self, texts, role=Role.TEXT):
            vectors, tokens = super().embed_counted(texts, role)
            return Counted(vectors, tokens[:-1])

    assert fetch(Counting(), "abc")["abc"].tokens == Tokens(3, 3)
    assert fetch(Plain(), "abc")["abc"].tokens is None
    assert_failed(fetch(Short(), "abc", "d"), "abc", "1 token counts came for 2 texts")


@pytest.mark.parametrize(
    "odd", [Tokens(-1, 3), Tokens(1, 1 << 60), Tokens(1.5, 2), Tokens(1, 2, own=True), (1, 2), 7]
)
def test_token_counts_that_are_none_fail_the_text_and_say_so(odd):
    class Odd(Counting):
        def embed_counted(self, texts, role=Role.TEXT):
            return Counted(self.embed(texts, role), [odd] * len(texts))

    assert_failed(fetch(Odd(), "abc"), "abc", "expected Tokens of whole numbers from 0")


@pytest.mark.parametrize("odd", [None, (1, 0, 5), Usage(1, 0, 1 << 60), Usage(1, -1), Usage(1.0)])
def test_a_use_that_is_none_is_the_embedders_fault(odd):
    class Metered(Plain):
        usage = odd

    with pytest.raises(ConfigurationError, match=r"plain.*whole numbers from 0"):
        _ = CachedEmbedder(Metered()).usage
    Metered.usage = Usage(2, 0, 7)
    assert CachedEmbedder(Metered()).usage.prompt_tokens == 7


def test_a_text_that_is_no_text_is_the_callers_mistake():
    with pytest.raises(UsageError, match="NoneType"):
        CachedEmbedder(Plain()).fetch([TextKey(None)])


def test_embed_keeps_the_order():
    texts = [f"text {n % 7}" for n in range(30)]
    cached = CachedEmbedder(Counting())
    vectors, tokens = cached.embed_counted(texts)
    assert np.array_equal(vectors, np.array([vector(text) for text in texts]))
    assert tokens == [Tokens(6, 6)] * 30
    assert cached.embed(texts).dtype == np.float32
    assert cached.embed([]).shape == (0, DIMS)
    cached.embed(texts)[0] = 0
    assert np.array_equal(cached.embed(texts), vectors)


def test_embed_says_which_texts_failed():
    with pytest.raises(EmbeddingError, match=r"2 of 4 texts .*text 1: .*blank") as caught:
        CachedEmbedder(Plain()).embed(["a", "", "b", " "])
    assert caught.value.indices == (1, 3)


def test_nothing_asked_nothing_done():
    inner, store = Plain(), Recorder()
    assert CachedEmbedder(inner, store).fetch([]) == {}
    assert inner.calls == store.gets == store.puts == []


def test_an_embedder_that_cannot_be_used_at_all_is_no_fault_of_a_text():
    def before(texts, call):
        raise ConfigurationError("no key")

    with pytest.raises(ConfigurationError, match="no key"):
        fetch(Plain(before=before), "a", "b")


class Loading(Plain):
    def __init__(self, error=None):
        super().__init__()
        self.loads = 0
        self._error = error

    def load(self):
        self.loads += 1
        if self._error is not None:
            raise self._error


def test_prepare_loads_an_embedder_that_can_load():
    embedder = Loading()
    CachedEmbedder(embedder).prepare()
    assert embedder.loads == 1
    assert embedder.calls == []
    CachedEmbedder(Plain()).prepare()


def test_what_stops_an_embedder_from_loading_is_a_configuration_error():
    error = ModelError("model.onnx: no such file")
    with pytest.raises(ModelError) as caught:
        CachedEmbedder(Loading(error)).prepare()
    assert caught.value is error
    for other in (EmbeddingError("no memory left"), RuntimeError("no memory left")):
        with pytest.raises(ConfigurationError, match=r"cannot be loaded: plain.*no memory left"):
            CachedEmbedder(Loading(other)).prepare()
    with pytest.raises(KeyboardInterrupt):
        CachedEmbedder(Loading(KeyboardInterrupt())).prepare()


def test_a_text_the_model_knows_no_word_of_has_no_vector_and_is_not_stored():
    class Blind(Plain):
        def embed_counted(self, texts, role=Role.TEXT):
            tokens = [Tokens(3, 3, own=1, unknown=t.count("?")) for t in texts]
            return Counted(self.embed(texts, role), tokens)

    store = Recorder()
    found = CachedEmbedder(Blind(), store).fetch(keys("?", "a"))
    assert "knows no word or sign" in found[TextKey("?")].reason
    assert isinstance(found[TextKey("a")], Embedded)
    assert [text.text for rows in store.puts for _, text, _ in rows] == ["a"]


class Checkable(Loading):
    def __init__(self, error=None, damaged=None):
        super().__init__(error)
        self.checks, self.damaged = 0, damaged

    def check_files(self):
        self.checks += 1
        if self.damaged is not None:
            raise self.damaged


def test_with_a_store_that_knows_it_an_embedder_loads_with_the_first_text_it_lacks(tmp_path):
    with VectorCache(tmp_path / "v.sqlite3") as store:
        first = Checkable()
        cached = CachedEmbedder(first, store)
        cached.prepare()
        assert (first.loads, first.checks) == (1, 0)  # nothing is known of it
        cached.fetch(keys("a", "b"))
        again = Checkable()
        cached = CachedEmbedder(again, store)
        cached.prepare()
        cached.fetch(keys("a", "b"))
        assert (again.loads, again.checks, again.calls) == (0, 1, [])
        cached.fetch(keys("a", "c"))
        cached.fetch(keys("d"))
        assert (again.loads, again.asked) == (1, [["c"], ["d"]])
        other = Loading()
        CachedEmbedder(other, store).prepare()
        assert other.loads == 1  # it has no way to look at its files


def test_damaged_files_are_refused_early_and_a_later_failure_to_load_is_no_text_s_fault(tmp_path):
    with VectorCache(tmp_path / "v.sqlite3") as store:
        CachedEmbedder(Checkable(), store).fetch(keys("a"))
        damaged = ModelError("model.onnx: damaged")
        with pytest.raises(ModelError) as caught:
            CachedEmbedder(Checkable(damaged=damaged), store).prepare()
        assert caught.value is damaged
        cached = CachedEmbedder(Checkable(RuntimeError("no memory left")), store)
        cached.prepare()
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"cannot be loaded: plain.*no memory"):
                cached.fetch(keys("b"))
