"""Token vectors: the model's own, each token once, standing where its span says it stands."""

import itertools
import random
import shutil
import unicodedata

import numpy as np
import numpy_bert
import onnx
import onnxruntime
import pytest
import tiny_bert
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing

from closecall.embedders import onnx_reading, onnx_runtime
from closecall.embedders.base import NoPiecesError, PieceEmbedder
from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.windows import Span, shares, spans
from closecall.errors import EmbeddingError, TextTooLongError, UsageError
from closecall.instrument import canonical_text
from closecall.models.compiler import Naming, compile_folder
from closecall.models.hashing import hash_file
from closecall.models.store import find_model
from closecall.records import Role, Tokens

UNKNOWN, BEFORE, AFTER = 1, 2, 3
ROOM = 18
"""Tokens of a text in a window of the tiny model."""

TOKENIZER = Tokenizer.from_file(str(find_model().folder / "tokenizer.json"))
TOKENIZER.no_padding()
TOKENIZER.no_truncation()


class Model:
    """A tiny compiled model and what it was made of."""

    def __init__(self, folder, **options):
        self.config, self.weights = tiny_bert.write_folder(folder / "source", **options)
        self.folder = folder / "compiled"
        self.card = compile_folder(folder / "source", self.folder, Naming(name="tiny"))
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    def ids(self, text):
        return self.tokenizer.encode(canonical_text(text), add_special_tokens=False).ids

    def rows(self, content):
        """Token vectors of one window by the formulas: unit rows, special tokens left out."""
        hidden = numpy_bert.tokens(self.weights, self.config, [BEFORE, *content, AFTER])[1:-1]
        return hidden / np.linalg.norm(hidden, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return Model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def embedder(tiny):
    return OnnxEmbedder(tiny.folder, threads=2)


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory):
    prompts = {"query": "query: ", "passage": "query: re"}
    return Model(tmp_path_factory.mktemp("prefixed"), prompts=prompts)


@pytest.fixture(scope="module")
def bundled():
    return OnnxEmbedder(find_model(), threads=2)


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny.folder, tmp_path / "copy")


def sentences(count, seed=0, longest=12):
    rng = random.Random(seed)
    words = [word for word in tiny_bert.WORDS if word.isalpha()]
    return [" ".join(rng.choices(words, k=rng.randint(0, longest))) for _ in range(count)]


def long_text(tokens):
    return " ".join(random.Random(tokens).choices(["red", "cat", "ran", "blue"], k=tokens))


def surfaces(found, text):
    return [canonical_text(text)[start:end] for start, end in found.pieces.spans]


def signature(found):
    return (
        found.vector.tobytes(),
        found.tokens,
        found.pieces.vectors.tobytes(),
        found.pieces.spans,
    )


# --- whose vectors they are --------------------------------------------------------------------


def test_equal_the_formulas_in_the_order_asked(tiny, embedder):
    texts = [*sentences(30), "", "cat", "CAT!", "好 é", "e\u0301 red", "a\r\nb"]
    for text, found in zip(texts, embedder.embed_pieces(texts), strict=True):
        ids = tiny.ids(text)
        assert UNKNOWN not in ids
        assert found.pieces.vectors.dtype == np.float32
        assert found.pieces.vectors.shape == (len(ids), 24)
        assert len(found.pieces.spans) == len(ids)
        np.testing.assert_allclose(found.pieces.vectors, tiny.rows(ids), atol=2e-5)


def test_equal_what_the_runtime_gives_for_the_bundled_model(bundled):
    text = "Ships that sail at dawn carry naïve 好 passengers, unbelievably."
    model = find_model()
    encoding = TOKENIZER.encode(text)
    ids = np.array([encoding.ids], dtype=np.int32)
    session = onnxruntime.InferenceSession(model.graph, providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    hidden = session.run(["tokens"], feed)[0][0].astype(np.float64)
    kept = [at for at, number in enumerate(encoding.ids) if number not in (100, 101, 102)]
    rows = hidden[kept] / np.linalg.norm(hidden[kept], axis=1, keepdims=True)
    (found,) = bundled.embed_pieces([text])
    assert len(kept) == len(encoding.ids) - 3, "two special tokens and one unknown"
    np.testing.assert_allclose(found.pieces.vectors, rows, atol=1e-6)
    assert found.pieces.spans == tuple(encoding.offsets[at] for at in kept)


def test_vector_and_tokens_are_those_without_pieces_bit_for_bit(embedder, bundled):
    cases = [
        (embedder, [*sentences(40, seed=3), long_text(60), "🙂", ""]),
        (bundled, ["a parcel", "that never came " * 90, "🙂 ok", ""]),
    ]
    for model, texts in cases:
        vectors, tokens = model.embed_counted(texts)
        found = model.embed_pieces(texts)
        assert np.array([one.vector for one in found]).tobytes() == vectors.tobytes()
        assert [one.tokens for one in found] == list(tokens)


def test_rows_have_length_1_and_cannot_be_written_to(embedder):
    for found in embedder.embed_pieces(sentences(20, longest=60)):
        lengths = np.linalg.norm(found.pieces.vectors.astype(np.float64), axis=1)
        np.testing.assert_allclose(lengths, 1, atol=1e-6)
        with pytest.raises(ValueError, match="read-only"):
            found.pieces.vectors[:] = 0
        assert found.pieces.vectors.base is None, "holds its own rows, not its batch"


def test_it_is_a_piece_embedder(embedder):
    assert isinstance(embedder, PieceEmbedder)
    assert embedder.embed_pieces([]) == []


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_the_same_bytes_whatever_the_neighbours(embedder, tiny, data):
    pool = [*sentences(40, seed=1), *sentences(5, seed=2, longest=60), "", "🙂 cat"]
    alone = {text: signature(*embedder.embed_pieces([text])) for text in pool}
    texts = data.draw(st.lists(st.sampled_from(pool), max_size=60))
    other = OnnxEmbedder(
        tiny.folder,
        threads=data.draw(st.integers(1, 3)),
        batch_tokens=data.draw(st.sampled_from([1, 37, 256, 4096])),
    )
    for text, found in zip(texts, other.embed_pieces(texts), strict=True):
        assert signature(found) == alone[text]


def test_the_same_bytes_at_widths_no_vector_unit_likes(tmp_path):
    config = {"hidden_size": 30, "intermediate_size": 37}
    embedder = OnnxEmbedder(Model(tmp_path, config=config).folder, threads=1)
    texts = sentences(80, seed=11, longest=16)
    whole = embedder.embed_pieces(texts)
    for at, text in enumerate(texts):
        assert signature(*embedder.embed_pieces([text])) == signature(whole[at])


def test_the_bundled_model_gives_the_same_bytes_whatever_the_neighbours(bundled):
    rng = random.Random(5)
    words = ["the", "parcel", "refund", "bank", "was", "late", "never", "came", "again"]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(40)]
    texts += [" ".join(rng.choices(words, k=400)), ""]
    whole = bundled.embed_pieces(texts)
    for at in (0, 17, 39, 40, 41):
        assert signature(*bundled.embed_pieces([texts[at]])) == signature(whole[at])


def test_small_slabs_and_calls_change_nothing(embedder, monkeypatch):
    texts = sentences(60, seed=4, longest=50)
    whole = [signature(found) for found in embedder.embed_pieces(texts)]
    monkeypatch.setattr(onnx_reading, "_SLAB_TOKENS", 50)
    monkeypatch.setattr(onnx_reading, "_CALL_TEXTS", 2)
    monkeypatch.setattr(onnx_reading, "_CALL_CHARS", 30)
    assert [signature(found) for found in embedder.embed_pieces(texts)] == whole


# --- where they stand --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Paris IS old", ["Paris", "IS", "old"], id="lower-casing"),
        pytest.param("Café crème", ["Café", "cr", "ème"], id="accents"),
        pytest.param("Cafe\u0301 old", ["Café", "old"], id="composed-by-nfc"),
        pytest.param("\u1e69o x\u0323y", None, id="marks-nfc-cannot-compose"),
        pytest.param("\u212bngstrom old", None, id="nfc-changes-the-letter"),
        pytest.param("\u0958 old", None, id="nfc-makes-two-of-one"),
        pytest.param("日本 tea", ["日", "本", "tea"], id="chinese-signs"),
        pytest.param("🙂 👩\u200d🚀 tea ✓", ["tea"], id="emoji-are-unknown"),
        pytest.param("one\r\ntwo\rsix", ["one", "two", "six"], id="line-breaks"),
        pytest.param("  \t one\u00a0two \n", ["one", "two"], id="white-space"),
        pytest.param("don't (say) 3.5%", None, id="punctuation"),
        pytest.param("a\x07b\u200bc tea", ["a\x07b\u200bc", "tea"], id="dropped-signs"),
        pytest.param("İstanbul tea", ["İstanbul", "tea"], id="longer-when-lowered"),
        pytest.param("한국", ["한"] * 3 + ["국"] * 3, id="letters-within-one-sign"),
        pytest.param("unbelievably", None, id="one-word-of-several-tokens"),
        pytest.param("tea [SEP] [MASK] two", ["tea", "two"], id="the-models-own-signs"),
        pytest.param("", [], id="nothing"),
        pytest.param(" \u200b\x07 ", [], id="nothing-left"),
    ],
)
def test_spans_give_the_words_of_the_canonical_text(bundled, text, expected):
    (found,) = bundled.embed_pieces([text])
    given_tokens = bundled_tokens(text)
    words = surfaces(found, text)
    if expected is not None:
        assert words == expected
    assert len(words) == len(given_tokens) == len(found.pieces.vectors)
    for word, token in zip(words, given_tokens, strict=True):
        assert token in plain(word)
    assert_ascending(found.pieces.spans, canonical_text(text))


def bundled_tokens(text):
    """Return the tokens of a text without special and unknown ones and continuation signs."""
    tokens = TOKENIZER.encode(canonical_text(text), add_special_tokens=False).tokens
    signs = ("[UNK]", "[SEP]", "[MASK]")
    return [token.removeprefix("##") for token in tokens if token not in signs]


def plain(word):
    """Lower case, accents and signs without a shape dropped: what the tokenizer does, by hand."""
    letters = unicodedata.normalize("NFD", word).lower()
    letters = unicodedata.normalize("NFD", letters)
    return "".join(c for c in letters if unicodedata.category(c) not in ("Mn", "Cc", "Cf"))


def assert_ascending(found, text):
    for start, end in found:
        assert 0 <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
    for one, other in itertools.pairwise(found):
        assert one[0] <= other[0]
        assert one[1] <= other[1]


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.text(alphabet="ab éÉ日:'\t\n\r\x07\u0301🙂İıßÅ한ΣςZ1\u200b\u0323ﬁ\u00ad\u0958", max_size=40)
)
def test_spans_give_the_words_of_any_text(bundled, text):
    (found,) = bundled.embed_pieces([text])
    words = surfaces(found, text)
    for word, token in zip(words, bundled_tokens(text), strict=True):
        assert token in plain(word)
    assert_ascending(found.pieces.spans, canonical_text(text))


def test_a_model_that_gets_its_text_in_lower_case(tmp_path):
    embedder = OnnxEmbedder(Model(tmp_path, lowercase=True).folder)
    text = "İİ RED İcat Cat İ"
    (found,) = embedder.embed_pieces([text])
    assert surfaces(found, text) == ["RED", "Cat"], "a letter that becomes two moves no span"
    assert found.tokens.unknown == 3


def test_places_that_no_letter_leads_to(tmp_path):
    """Some tokenizers put a token before the first letter that stands for none."""
    embedder = OnnxEmbedder(Model(tmp_path, lowercase=True).folder)
    reader = onnx_reading.Reader(embedder._ready(), embedder.instrument, Role.TEXT, places=True)
    (slab,) = reader.slabs(["İ cat"], map)
    lowered = np.array([[0, 0], [0, 2], [2, 2], [3, 6], [6, 6]], dtype=np.int32)
    text, places = reader.own_places("İ cat", slab[0]._replace(places=lowered))
    assert text == "İ cat"
    assert places.tolist() == [[0, 0], [0, 1], [1, 1], [2, 5], [5, 5]]


def test_lower_case_of_a_text_is_that_of_its_letters_in_length():
    every = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))))
    assert len(every.lower()) == sum(len(letter.lower()) for letter in every)


def test_unknown_words_are_left_out_and_counted(tiny, embedder):
    text = "red ☃ cat ☃☃ 好"
    (found,) = embedder.embed_pieces([text])
    assert surfaces(found, text) == ["red", "cat", "好"]
    assert found.tokens == Tokens(7, 7, 1, own=5, unknown=2)
    ids = tiny.ids(text)
    kept = [at for at, number in enumerate(ids) if number != UNKNOWN]
    np.testing.assert_allclose(found.pieces.vectors, tiny.rows(ids)[kept], atol=2e-5)
    (none,) = embedder.embed_pieces(["☃ ☃"])
    assert none.pieces.vectors.shape == (0, 24)
    assert none.pieces.spans == ()
    assert none.tokens.unreadable


def test_spans_of_a_text_that_is_cut_for_the_tokenizer(embedder, monkeypatch):
    text = "red cat, é 好 ran " * 30
    whole = signature(*embedder.embed_pieces([text]))
    monkeypatch.setattr(onnx_reading, "_PIECE_CHARS", 7)
    assert signature(*embedder.embed_pieces([text])) == whole
    monkeypatch.undo()
    assert set(surfaces(embedder.embed_pieces([text])[0], text)) == {
        "red",
        "cat",
        ",",
        "é",
        "好",
        "ran",
    }


# --- prefixes ----------------------------------------------------------------------------------


def test_a_prefix_is_left_out_and_spans_count_from_the_text(prefixed):
    embedder = OnnxEmbedder(prefixed.folder)
    (plain_one,) = embedder.embed_pieces(["red cat"])
    (query,) = embedder.embed_pieces(["red cat"], Role.QUERY)
    assert query.pieces.spans == plain_one.pieces.spans == ((0, 3), (4, 7))
    rows = prefixed.rows(prefixed.ids("query: red cat"))
    np.testing.assert_allclose(query.pieces.vectors, rows[2:], atol=2e-5)
    assert query.tokens.own == 2


def test_a_prefix_that_melts_into_the_text(prefixed):
    text = "d cat"
    (found,) = OnnxEmbedder(prefixed.folder).embed_pieces([text], Role.DOCUMENT)
    assert surfaces(found, text) == ["d", "cat"], "of the word read as 'red' the text has the end"
    rows = prefixed.rows(prefixed.ids("query: red cat"))
    np.testing.assert_allclose(found.pieces.vectors, rows[2:], atol=2e-5)


def test_every_window_has_the_prefix_and_gives_none_of_it(prefixed):
    embedder = OnnxEmbedder(prefixed.folder, overlap=4)
    text = long_text(25)
    (found,) = embedder.embed_pieces([text], Role.QUERY)
    assert surfaces(found, text) == text.split()
    prefix, ids = prefixed.ids("query: "), prefixed.ids(text)
    windows = [prefixed.rows([*prefix, *part])[2:] for part in (ids[:16], ids[12:])]
    np.testing.assert_allclose(found.pieces.vectors[:14], windows[0][:14], atol=2e-5)
    np.testing.assert_allclose(found.pieces.vectors[14:], windows[1][2:], atol=2e-5)


# --- long texts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "overlap"),
    [(18, 4), (19, 4), (33, 4), (47, 4), (60, 0), (60, 1), (60, 7), (40, 17), (61, 9)],
)
def test_each_token_of_a_long_text_comes_from_the_window_that_shows_it_best(tiny, count, overlap):
    text = long_text(count)
    (found,) = OnnxEmbedder(tiny.folder, overlap=overlap).embed_pieces([text])
    assert surfaces(found, text) == text.split(), "each token once"
    ids = tiny.ids(text)
    windows = spans(count, ROOM, overlap)
    assert found.tokens.windows == len(windows)
    rows = [tiny.rows(ids[window.start : window.stop]) for window in windows]
    for token in range(count):
        best = best_window(windows, token, count)
        expected = rows[best][token - windows[best].start]
        np.testing.assert_allclose(found.pieces.vectors[token], expected, atol=2e-5)


def best_window(windows, token, count):
    """Return the first window in which a token is furthest from where the text was cut."""

    def margin(window):
        left = token - window.start if window.start > 0 else count
        right = window.stop - 1 - token if window.stop < count else count
        return min(left, right)

    holding = [at for at, window in enumerate(windows) if token in range(*window)]
    return max(holding, key=lambda at: (margin(windows[at]), -at))


@settings(deadline=None)
@given(
    st.integers(0, 500),
    st.integers(1, 40).flatmap(lambda c: st.tuples(st.just(c), st.integers(0, c - 1))),
)
def test_shares_hold_every_token_once_where_it_is_furthest_from_a_cut(count, sizes):
    windows = spans(count, *sizes)
    parts = shares(windows)
    assert [token for part in parts for token in range(*part)] == list(range(count))
    for at, (part, window) in enumerate(zip(parts, windows, strict=True)):
        assert window.start <= part.start <= part.stop <= window.stop
        for token in range(*part):
            assert best_window(windows, token, count) == at


def test_shares_by_hand():
    assert shares([Span(0, 5)]) == [Span(0, 5)]
    assert shares([Span(0, 0)]) == [Span(0, 0)]
    assert shares([Span(0, 8), Span(4, 12)]) == [Span(0, 6), Span(6, 12)]
    assert shares([Span(0, 8), Span(5, 13)]) == [Span(0, 7), Span(7, 13)]
    assert shares([Span(0, 4), Span(4, 8), Span(8, 9)]) == [Span(0, 4), Span(4, 8), Span(8, 9)]


def test_what_truncate_does_not_see_has_no_pieces(tiny):
    text = long_text(30)
    (found,) = OnnxEmbedder(tiny.folder, window="truncate").embed_pieces([text])
    assert found.tokens.truncated
    assert surfaces(found, text) == text.split()[:18]
    np.testing.assert_allclose(found.pieces.vectors, tiny.rows(tiny.ids(text)[:18]), atol=2e-5)


def test_error_names_every_text_that_is_too_long(tiny):
    strict = OnnxEmbedder(tiny.folder, window="error")
    with pytest.raises(TextTooLongError) as caught:
        strict.embed_pieces(["cat", long_text(19), long_text(18), long_text(90)])
    assert caught.value.indices == (1, 3)
    assert len(strict.embed_pieces([long_text(18)])[0].pieces.spans) == 18


# --- what is refused ---------------------------------------------------------------------------


def rewritten(folder, change):
    """Change a model's graph and record it; return an embedder of the folder."""
    path, card = folder / "model.onnx", folder / "card.toml"
    old, graph = hash_file(path), onnx.load(path)
    change(graph.graph)
    path.write_bytes(graph.SerializeToString())
    new = hash_file(path)
    said = card.read_text(encoding="utf-8")
    said = said.replace(old.sha256, new.sha256).replace(f"size = {old.size}", f"size = {new.size}")
    card.write_text(said, encoding="utf-8")
    return OnnxEmbedder(folder)


def drop(graph):
    del graph.output[1]


def narrow(graph):
    """Let ``tokens`` be something three-dimensional of another width."""
    for node in graph.node:
        node.input[:] = ["states" if name == "tokens" else name for name in node.input]
        node.output[:] = ["states" if name == "tokens" else name for name in node.output]
    graph.node.append(onnx.helper.make_node("Concat", ["states"] * 2, ["tokens"], axis=-1))
    graph.output[1].type.tensor_type.shape.dim[2].dim_value = 48


@pytest.mark.parametrize("change", [drop, narrow])
def test_a_graph_without_token_vectors_gives_vectors_alone(copy, embedder, change):
    bare = rewritten(copy, change)
    assert bare.embed(["red cat"]).tobytes() == embedder.embed(["red cat"]).tobytes()
    with pytest.raises(NoPiecesError, match=r"no output 'tokens'.*closecall models add"):
        bare.embed_pieces(["red cat"])
    assert bare.embed_pieces([]) == []


@pytest.mark.parametrize(
    ("value", "what"), [(0, "of zeros"), (np.nan, "not finite"), (-np.inf, "not finite")]
)
def test_token_vectors_without_a_direction_are_refused(tiny, monkeypatch, value, what):
    run = onnx_runtime.Loaded.run_tokens
    dog = tiny.ids("dog")[0]

    def spoiled(loaded, ids):
        vectors, hidden = run(loaded, ids)
        hidden[ids == dog] = value
        return vectors, hidden

    monkeypatch.setattr(onnx_runtime.Loaded, "run_tokens", spoiled)
    monkeypatch.setattr(onnx_reading, "_SLAB_TEXTS", 3)
    monkeypatch.setattr(onnx_reading, "_CALL_TEXTS", 1)
    embedder = OnnxEmbedder(tiny.folder, threads=1)
    with pytest.raises(EmbeddingError, match=what) as caught:
        embedder.embed_pieces(["red cat", "red dog ran", *["cat"] * 15, long_text(40) + " dog"])
    assert caught.value.indices == (1, 17)
    assert len(embedder.embed_pieces(["red cat"])[0].pieces.spans) == 2


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_very_long_and_very_short_token_vectors_are_made_unit_ones(tiny, monkeypatch, size):
    run = onnx_runtime.Loaded.run_tokens

    def scaled(loaded, ids):
        vectors, hidden = run(loaded, ids)
        return vectors, hidden * np.float32(size)

    expected = OnnxEmbedder(tiny.folder).embed_pieces(["red cat"])[0].pieces.vectors
    monkeypatch.setattr(onnx_runtime.Loaded, "run_tokens", scaled)
    found = OnnxEmbedder(tiny.folder).embed_pieces(["red cat"])[0].pieces.vectors
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_only_whole_texts(embedder):
    with pytest.raises(UsageError, match="single text"):
        embedder.embed_pieces("one text")
    with pytest.raises(EmbeddingError, match=r"texts\[1\].*surrogate") as caught:
        embedder.embed_pieces(["good", "bad \ud83d"])
    assert caught.value.indices == (1,)


# --- other tokenizers --------------------------------------------------------------------------


def test_a_tokenizer_of_bytes_counts_no_space_and_shares_a_sign(copy):
    space, letter = in_bytes(" c")
    signs = [*dict.fromkeys(in_bytes("redcat 🙂")), space + letter]
    vocabulary = {"[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    vocabulary |= {sign: 5 + at for at, sign in enumerate(signs)}
    made = Tokenizer(BPE(vocabulary, [(space, letter)], unk_token="[UNK]"))  # noqa: S106
    made.pre_tokenizer = ByteLevel(add_prefix_space=False)
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    path, card = copy / "tokenizer.json", copy / "card.toml"
    old = hash_file(path)
    made.save(str(path))
    new = hash_file(path)
    said = card.read_text(encoding="utf-8").replace(old.sha256, new.sha256)
    card.write_text(said.replace(f"size = {old.size}", f"size = {new.size}"), encoding="utf-8")
    text = "red  🙂at cat"
    (found,) = OnnxEmbedder(copy).embed_pieces([text])
    assert surfaces(found, text) == [*"red", *["🙂"] * 4, *"at", *"cat"]
    assert found.tokens.own == 14, "two spaces are tokens of the model, but no pieces"
    assert_ascending(found.pieces.spans, text)


def in_bytes(text):
    words = ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    return "".join(word for word, _ in words)
