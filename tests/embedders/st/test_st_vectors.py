"""Vectors are those of sentence-transformers itself, whatever the architecture."""

import numpy as np
import pytest
import tiny_models

from closecall.embedders.st.embedder import StEmbedder
from closecall.embedders.st.options import StOptions
from closecall.errors import EmbeddingError, ModelError, TextTooLongError, UsageError
from closecall.records import Role

pytestmark = pytest.mark.torch

CPU = StOptions(device="cpu")
TEXTS = [*tiny_models.texts(40), "", "  red cat\t", "cat\r\ndog", "e\u0301"]


def encoded(folder, texts, **options):
    """What the library makes of the texts, canonical as the embedder makes them."""
    from sentence_transformers import SentenceTransformer

    from closecall.instrument import canonical_text

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return model.encode(
        [canonical_text(text) for text in texts], show_progress_bar=False, **options
    )


@pytest.mark.parametrize(
    "pooling", ["mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"]
)
def test_every_pooling_gives_the_library_s_vectors(tmp_path, pooling):
    folder = tiny_models.bert(tmp_path / "m", pooling=pooling)
    embedder = StEmbedder(folder, CPU, window="truncate")
    assert embedder.instrument.pooling == pooling
    assert np.abs(embedder.embed(TEXTS) - encoded(folder, TEXTS)).max() < 2e-6


@pytest.mark.parametrize("make", [tiny_models.mpnet, tiny_models.xlm_roberta, tiny_models.decoder])
def test_every_architecture_gives_the_library_s_vectors(tmp_path, make):
    folder = make(tmp_path / "m")
    embedder = StEmbedder(folder, CPU, window="truncate")
    texts = [text for text in TEXTS if text.strip() == text]
    vectors = embedder.embed(texts)
    assert np.abs(vectors - encoded(folder, texts)).max() < 2e-6
    alone = np.vstack([embedder.embed([text]) for text in texts])
    assert np.abs(vectors - alone).max() < 2e-6


def test_a_text_fills_the_window_of_a_model_that_counts_positions_from_two(tmp_path):
    folder = tiny_models.mpnet(tmp_path / "m")
    long = ["red cat " * 40, "blue " * 30, "dog " * 31, "bird " * 200]
    for window in ("truncate", "chunk"):
        embedder = StEmbedder(folder, CPU, window=window)
        assert embedder.instrument.max_tokens == 32
        vectors, tokens = embedder.embed_counted(long)
        assert [one.truncated for one in tokens] == [
            window == "truncate" and at != 1 for at in range(4)
        ]
        if window == "truncate":
            assert np.abs(vectors - encoded(folder, long)).max() < 2e-6
    # One token more has no position: the library itself fails there.
    tiny_models.edit_json(folder / "sentence_bert_config.json", max_seq_length=33)
    with pytest.raises(ModelError, match="33 is more than the 32 positions"):
        StEmbedder(folder, CPU)
    with pytest.raises(IndexError):
        encoded(folder, long)
    # Published ones pad with token 1 and say no window of their own.
    (folder / "sentence_bert_config.json").unlink()
    tiny_models.edit_json(folder / "config.json", pad_token_id=1)
    tiny_models.edit_json(folder / "tokenizer_config.json", model_max_length=512)
    assert StEmbedder(folder, CPU).instrument.max_tokens == 32


def test_two_poolings_and_no_normalize(tmp_path):
    folder = tiny_models.bert(tmp_path / "m", pooling=["cls", "mean"], normalize=False)
    embedder = StEmbedder(folder, CPU, window="truncate")
    assert (embedder.instrument.dims, embedder.instrument.pooling) == (48, "cls+mean")
    assert not embedder.instrument.normalize
    assert np.abs(embedder.embed(TEXTS) - encoded(folder, TEXTS)).max() < 5e-6


def test_a_dense_layer_and_its_width(tmp_path):
    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense", "Normalize")
    tiny_models.dense(folder, 24, 10)
    embedder = StEmbedder(folder, CPU, window="truncate")
    assert embedder.instrument.dims == 10
    assert embedder.instrument.options["modules"] == "Transformer>Pooling>Dense>Normalize"
    assert np.abs(embedder.embed(TEXTS) - encoded(folder, TEXTS)).max() < 2e-6


@pytest.mark.parametrize("own", [True, False], ids=["by its configuration", "as asked"])
def test_fewer_dims_are_the_first_ones_at_length_one(tmp_path, own):
    folder = tiny_models.bert(tmp_path / "m")
    if own:
        tiny_models.edit_json(folder / "config_sentence_transformers.json", truncate_dim=7)
    options = CPU if own else StOptions(device="cpu", dims=7)
    embedder = StEmbedder(folder, options, window="truncate")
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 7)
    assert embedder.instrument.dims == 7
    wanted = encoded(folder, TEXTS, truncate_dim=7, normalize_embeddings=True)
    assert np.abs(vectors - wanted).max() < 2e-6


def test_prompts_stand_before_texts_of_their_role(tmp_path):
    folder = tiny_models.bert(tmp_path / "m", prompts={"query": "query: ", "passage": "passage: "})
    embedder = StEmbedder(folder, CPU, window="truncate")
    for role, prompt in ((Role.QUERY, "query: "), (Role.DOCUMENT, "passage: "), (Role.TEXT, "")):
        wanted = encoded(folder, TEXTS, prompt=prompt)
        assert np.abs(embedder.embed(TEXTS, role) - wanted).max() < 2e-6


def test_texts_are_lower_cased_where_the_folder_says_so(tmp_path):
    folder = tiny_models.bert(tmp_path / "m", lowercase=True)
    embedder = StEmbedder(folder, CPU, window="truncate")
    assert embedder.instrument.options["lowercase"] == "true"
    texts = ["RED cat", "Blue BIRD", "42"]
    assert np.abs(embedder.embed(texts) - encoded(folder, texts)).max() < 2e-6
    assert np.array_equal(*embedder.embed(["RED", "red"]))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_lower_precisions_are_near_and_say_what_they_are(tiny, precision):
    import torch

    embedder = StEmbedder(tiny, StOptions(device="cpu", precision=precision), window="truncate")
    assert embedder.instrument.precision == precision
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    wanted = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    assert next(embedder._ready().modules[0].parameters()).dtype == wanted
    exact = StEmbedder(tiny, CPU, window="truncate").embed(TEXTS)
    difference = np.abs(vectors - exact).max()
    assert 1e-6 < difference < 0.1
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_what_follows_the_transformer_is_computed_in_float32(tmp_path):
    import torch

    folder = tiny_models.modules(tiny_models.bert(tmp_path / "m"), "Dense", "Normalize")
    tiny_models.dense(folder, 24, 10)
    embedder = StEmbedder(folder, StOptions(device="cpu", precision="bf16"))
    exact = StEmbedder(folder, CPU)
    assert 1e-6 < np.abs(embedder.embed(TEXTS) - exact.embed(TEXTS)).max() < 0.1
    _, *rest = embedder._ready().modules
    assert {weight.dtype for module in rest for weight in module.parameters()} == {torch.float32}


def test_a_text_has_the_same_vector_whatever_stands_beside_it(tiny):
    embedder = StEmbedder(tiny, CPU)
    texts = tiny_models.texts(60, seed=1, most=40)
    together = embedder.embed(texts)
    for batch in (1, 20, 64, 100_000):
        other = StEmbedder(tiny, StOptions(device="cpu", batch_tokens=batch))
        assert np.abs(other.embed(texts) - together).max() < 1e-6
    order = list(reversed(range(60)))
    assert np.abs(embedder.embed([texts[at] for at in order]) - together[order]).max() < 1e-6


def test_long_texts_are_read_in_windows_as_the_other_runtime_reads_them(tmp_path):
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.models.compiler import Naming, compile_folder

    folder = tiny_models.bert(tmp_path / "m", prompts={"query": "query: "})
    compile_folder(folder, tmp_path / "compiled", Naming(name="m"))
    texts = tiny_models.texts(30, seed=2, most=90)
    for window, overlap in (("chunk", None), ("chunk", 3), ("truncate", None)):
        ours = StEmbedder(folder, CPU, window=window, overlap=overlap)
        theirs = OnnxEmbedder(tmp_path / "compiled", window=window, overlap=overlap)
        assert ours.instrument.overlap == theirs.instrument.overlap
        for role in (Role.TEXT, Role.QUERY):
            one, two = ours.embed_counted(texts, role), theirs.embed_counted(texts, role)
            assert one.tokens == two.tokens
            assert np.abs(one.vectors - two.vectors).max() < 5e-6
    assert max(count.windows for count in one.tokens) == 1
    with pytest.raises(TextTooLongError) as refused:
        StEmbedder(folder, CPU, window="error").embed(texts)
    counts = StEmbedder(folder, CPU, window="truncate").embed_counted(texts).tokens
    long = [at for at, count in enumerate(counts) if count.truncated]
    assert long
    assert list(refused.value.indices) == long


def test_a_smaller_window_is_another_instrument(tiny):
    small = StEmbedder(tiny, StOptions(device="cpu", max_tokens=8))
    assert small.instrument.max_tokens == 8
    (count,) = small.embed_counted(["red cat dog bird sat ran blue green"]).tokens
    assert count.windows > 1
    assert not count.truncated


def test_texts_that_are_none_are_refused_as_everywhere(tiny):
    embedder = StEmbedder(tiny, CPU)
    assert embedder.embed([]).shape == (0, 24)
    with pytest.raises(UsageError, match="single text"):
        embedder.embed("red cat")
    with pytest.raises(EmbeddingError) as refused:
        embedder.embed(["red", "\ud800"])
    assert refused.value.indices == (1,)


def test_a_text_without_any_token_is_named(tmp_path):
    from tokenizers import Tokenizer
    from tokenizers.processors import ByteLevel

    folder = tiny_models.decoder(tmp_path / "m")
    path = folder / "tokenizer.json"
    plain = Tokenizer.from_file(str(path))
    plain.post_processor = ByteLevel()  # puts nothing around a text
    plain.save(str(path))
    embedder = StEmbedder(folder, CPU)
    assert embedder.embed(["a", "b"]).shape == (2, 24)
    with pytest.raises(EmbeddingError, match="no token") as refused:
        embedder.embed(["a", "", "b"])
    assert refused.value.indices == (1,)
