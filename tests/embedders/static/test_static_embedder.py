"""A static model's vectors, held against a plain loop over tokens."""

import sys
import threading

import msgspec
import numpy as np
import pytest
import tiny_bert
from static_models import WIDTH, by_hand, rows, write_static, write_static_embedding

from closecall.embedders.base import Embedded, Failure, TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.registry import load_embedder
from closecall.embedders.static.embedder import StaticEmbedder
from closecall.errors import EmbeddingError, ModelError, UsageError
from closecall.testing import check_embedder

TEXTS = [
    "red cat",
    "the red cat sat: 42 birds ran!",
    "green",
    "é",
    "cat " * 700,
    "好 dog\nbird",
    "[CLS] red [SEP]",
    "cat ☃ dog",
]
SIZE = len(tiny_bert.VOCABULARY)
WEIGHTS = np.linspace(0.1, 2, SIZE).astype(np.float32)
MAPPING = [at // 2 for at in range(SIZE)]


@pytest.fixture
def folder(tmp_path):
    return write_static(tmp_path / "tiny")


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16", "I8"])
def test_a_vector_is_the_mean_of_its_tokens_at_length_1(tmp_path, dtype):
    table = np.round(rows() * 20) if dtype == "I8" else rows()
    made = StaticEmbedder(write_static(tmp_path / "tiny", table=table, dtype=dtype))
    if dtype == "BF16":
        table = (table.view(np.uint32) & 0xFFFF0000).view(np.float32)
    elif dtype == "F16":
        table = table.astype(np.float16)
    wanted = [by_hand(tmp_path / "tiny", text, table=table) for text in TEXTS]
    np.testing.assert_allclose(made.embed(TEXTS), wanted, atol=1e-7)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("mapping", [None, MAPPING])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_weights_and_mapping_and_length(tmp_path, weights, mapping, normalize):
    table = rows() if mapping is None else rows(count=SIZE // 2 + 1)
    folder = write_static(
        tmp_path / "tiny",
        table=table,
        weights=weights,
        mapping=mapping,
        config={"normalize": normalize},
    )
    made = StaticEmbedder(folder)
    options = {"weights": weights, "mapping": mapping, "normalize": normalize, "table": table}
    wanted = [by_hand(folder, text, **options) for text in TEXTS]
    np.testing.assert_allclose(made.embed(TEXTS), wanted, rtol=1e-6, atol=1e-7)
    assert made.instrument.normalize is normalize


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_layout_of_sentence_transformers(tmp_path, nested, normalize):
    folder = write_static_embedding(tmp_path / "tiny", nested=nested, normalize=normalize)
    inner = folder / "0_StaticEmbedding" if nested else folder
    made = StaticEmbedder(folder)
    wanted = [by_hand(inner, text, normalize=normalize) for text in TEXTS]
    np.testing.assert_allclose(made.embed(TEXTS), wanted, atol=1e-6)
    assert (made.instrument.normalize, made.instrument.model) == (normalize, "tiny")


def test_a_configuration_without_a_type_beside_the_module(tmp_path):
    folder = write_static(tmp_path / "tiny", config={"model_type": None})
    tiny_bert.write_json(
        folder / "modules.json",
        [{"type": "sentence_transformers.sentence_transformer.modules.x.StaticEmbedding"}],
    )
    made = StaticEmbedder(folder)
    assert made.instrument.normalize  # the configuration says so, the modules do not
    np.testing.assert_allclose(made.embed(["red cat"])[0], by_hand(folder, "red cat"), atol=1e-6)


def test_the_contract_is_kept(tmp_path, folder):
    texts = ("red cat", "blue dog ran", "42", "A\nB\tC", "cat")
    other = write_static(tmp_path / "other" / "tiny", table=rows(seed=1))
    plain = write_static(tmp_path / "plain" / "tiny", config={"normalize": False})
    lower = write_static(
        tmp_path / "upper" / "tiny", tokenizer=tiny_bert.tokenizer(lowercase=False)
    )
    check_embedder(
        StaticEmbedder(folder),
        texts=texts,
        variants={
            "weights": StaticEmbedder(other),
            "normalize": StaticEmbedder(plain),
            "tokenizer": StaticEmbedder(lower),
        },
    )
    check_embedder(StaticEmbedder(plain), texts=texts)


def test_vectors_do_not_depend_on_their_neighbours_or_on_threads(folder):
    made = StaticEmbedder(folder, threads=1)
    texts = [*TEXTS, *(f"cat {at} dog {at % 7}" for at in range(600))]
    whole = made.embed(texts)
    alone = np.concatenate([made.embed([text]) for text in texts])
    assert whole.tobytes() == alone.tobytes()
    assert whole.tobytes() == StaticEmbedder(folder, threads=3).embed(texts).tobytes()


def test_a_long_text_is_read_to_its_end(folder):
    made = StaticEmbedder(folder)
    long = "cat " * 30_000
    counted = made.embed_counted([long + "dog"])
    assert counted.tokens[0] == msgspec.structs.replace(
        counted.tokens[0], seen=30_001, total=30_001, windows=1, own=30_001, unknown=0
    )
    np.testing.assert_allclose(counted.vectors[0], by_hand(folder, long + "dog"), atol=1e-6)
    assert not np.array_equal(counted.vectors[0], made.embed([long])[0])
    assert made.instrument.max_tokens == 0


def test_published_cutting_and_padding_are_undone(tmp_path):
    tokenizer = tiny_bert.tokenizer()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=8)
    made = StaticEmbedder(write_static(tmp_path / "cut", tokenizer=tokenizer))
    plain = StaticEmbedder(write_static(tmp_path / "plain"))
    found, wanted = made.embed_counted(["cat", *TEXTS]), plain.embed_counted(["cat", *TEXTS])
    assert found.vectors.tobytes() == wanted.vectors.tobytes()
    assert found.tokens == wanted.tokens
    assert found.tokens[0].own == 1


def test_unknown_tokens_are_counted_and_left_out(folder):
    made = StaticEmbedder(folder)
    vectors, tokens = made.embed_counted(["cat ☃ dog", "cat dog", "☃ ☂"])
    assert vectors[0].tobytes() == vectors[1].tobytes()
    assert (tokens[0].own, tokens[0].unknown, tokens[0].unreadable) == (3, 1, False)
    assert (tokens[2].unreadable, bool(vectors[2].any())) == (True, False)


def test_a_text_without_a_known_token_has_no_vector(folder):
    made = StaticEmbedder(folder)
    with pytest.raises(EmbeddingError, match="knows no word or sign") as caught:
        made.embed(["cat", "☃", "dog", "☂ ☃"])
    assert list(caught.value.indices) == [1, 3]
    keys = [TextKey("cat"), TextKey("☃"), TextKey("☃ ☂", pieces=True)]
    found = CachedEmbedder(made).fetch(keys)
    assert isinstance(found[keys[0]], Embedded)
    assert all(isinstance(found[key], Failure) and found[key].unreadable for key in keys[1:])


@pytest.mark.parametrize(
    ("text", "said"), [("\u0001", "no token"), ("bird bird", "add up to zero")]
)
def test_a_text_of_nothing_is_at_fault_alone(tmp_path, text, said):
    table = rows()
    table[tiny_bert.VOCABULARY.index("bird")] = 0
    made = StaticEmbedder(write_static(tmp_path / "tiny", table=table))
    with pytest.raises(EmbeddingError, match=said) as caught:
        made.embed(["cat", text])
    assert list(caught.value.indices) == [1]
    found = CachedEmbedder(made).fetch([TextKey("cat"), TextKey(text)])
    assert isinstance(found[TextKey("cat")], Embedded)
    assert said in found[TextKey(text)].reason


def test_a_sum_beyond_float32_is_refused(tmp_path):
    table = np.full((SIZE, WIDTH), 3e38, dtype=np.float32)
    folder = write_static(
        tmp_path / "tiny", table=table, weights=np.full(SIZE, 9), config={"normalize": False}
    )
    with pytest.raises(EmbeddingError, match="not finite"):
        StaticEmbedder(folder).embed(["cat"])


def test_pieces_are_rows_of_the_table_with_places(tmp_path):
    tokenizer = tiny_bert.tokenizer()
    tokenizer.add_special_tokens(["[SEP]", "[PAD]"])
    made = StaticEmbedder(write_static(tmp_path / "tiny", tokenizer=tokenizer))
    text = "Red  cat ☃ [SEP] [PAD] xy"
    one = made.embed_pieces([text])[0]
    said = [text[start:end] for start, end in one.pieces.spans]
    assert said == ["Red", "cat", "x", "y"]
    numbers = [tiny_bert.VOCABULARY.index(token) for token in ("red", "cat", "x", "##y")]
    table = rows().astype(np.float64)[numbers]
    wanted = table / np.linalg.norm(table, axis=1, keepdims=True)
    np.testing.assert_allclose(one.pieces.vectors, wanted, atol=1e-6)
    assert one.vector.tobytes() == made.embed([text])[0].tobytes()


def test_tokens_with_a_row_of_zeros_have_no_piece(tmp_path):
    table = rows()
    table[tiny_bert.VOCABULARY.index("cat")] = 0
    made = StaticEmbedder(write_static(tmp_path / "tiny", table=table))
    text = "red cat dog"
    spans = made.embed_pieces([text])[0].pieces.spans
    assert [text[start:end] for start, end in spans] == ["red", "dog"]


def test_the_identity_is_that_of_the_files(folder):
    import hashlib

    made = StaticEmbedder(folder).instrument
    files = [folder / name for name in ("model.safetensors", "tokenizer.json")]
    assert [made.weights, made.tokenizer] == [
        hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    ]
    assert (made.kind, made.dims, made.pooling, made.precision) == (
        "static",
        WIDTH,
        "mean",
        "fp32",
    )
    assert StaticEmbedder(write_static(folder)).instrument == made


def test_what_was_hashed_is_what_is_used(tmp_path, folder):
    made = StaticEmbedder(folder)
    before = made.instrument
    write_static(folder, table=rows(seed=9))
    np.testing.assert_allclose(made.embed(["red cat"])[0], by_hand(folder, "red cat"), atol=1e-6)
    assert made.instrument == before


def test_threads_may_share_it(folder):
    made = StaticEmbedder(folder)
    wanted = StaticEmbedder(folder).embed(TEXTS).tobytes()
    found = []
    workers = [
        threading.Thread(target=lambda: found.append(made.embed(TEXTS).tobytes()))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [wanted] * 4


def test_it_is_found_by_folder_and_by_its_name_in_the_store(folder, monkeypatch):
    wanted = StaticEmbedder(folder).instrument
    assert load_embedder(f"static:{folder}").instrument == wanted
    for window in ("truncate", "error"):
        assert load_embedder(f"static:{folder}", window=window).instrument == wanted
    monkeypatch.setenv("CLOSECALL_MODELS_DIR", str(folder.parent))
    assert load_embedder("tiny").instrument == wanted
    with pytest.raises(UsageError, match="static: needs a folder"):
        load_embedder("static:")
    with pytest.raises(ModelError, match="no such folder"):
        load_embedder(f"static:{folder}x")


def test_nothing_heavy_is_imported(folder, tmp_path):
    import subprocess

    code = (
        "import sys; from closecall.embedders.registry import load_embedder;"
        f"load_embedder('static:{folder.as_posix()}').embed(['red cat']);"
        "heavy = {'onnxruntime', 'safetensors', 'torch', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
