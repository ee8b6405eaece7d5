"""The ONNX embedder: right, in order, the same bytes whoever the neighbours, nothing cut unsaid."""

import os
import random
import shutil
import subprocess
import sys
import threading

import numpy as np
import numpy_bert
import onnx
import pytest
import tiny_bert
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from closecall.embedders import onnx_reading, onnx_runtime
from closecall.embedders.base import CountingEmbedder
from closecall.embedders.onnx import OnnxEmbedder, worker_threads
from closecall.errors import (
    ConfigurationError,
    EmbeddingError,
    ModelError,
    ModelIntegrityError,
    TextTooLongError,
    UsageError,
)
from closecall.instrument import canonical_text
from closecall.models.compiler import Naming, compile_folder
from closecall.models.hashing import hash_file
from closecall.models.store import find_model
from closecall.records import Role, Tokens

WINDOW = 20
ROOM = WINDOW - 2


class Model:
    """A tiny compiled model and what it was made of."""

    def __init__(self, folder, **options):
        self.config, self.weights = tiny_bert.write_folder(folder / "source", **options)
        self.folder = folder / "compiled"
        self.card = compile_folder(folder / "source", self.folder, Naming(name="tiny"))
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    def ids(self, text):
        return self.tokenizer.encode(canonical_text(text), add_special_tokens=False).ids

    def vector(self, content):
        ids = [2, *content, 3]
        hidden = numpy_bert.tokens(self.weights, self.config, ids)
        return numpy_bert.embedding(hidden, np.ones(len(ids)), normalize=self.card.normalize)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return Model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def embedder(tiny):
    return OnnxEmbedder(tiny.folder, threads=2)


@pytest.fixture(scope="module")
def bundled():
    return OnnxEmbedder(find_model(), threads=2)


def sentences(count, seed=0, longest=12):
    rng = random.Random(seed)
    words = [word for word in tiny_bert.WORDS if word.isalpha()]
    return [" ".join(rng.choices(words, k=rng.randint(0, longest))) for _ in range(count)]


def test_equals_the_formulas_in_the_order_asked(tiny, embedder):
    texts = [*sentences(40), "", " ", "cat", "CAT!", "好 é 🙂", "e\u0301", "a\r\nb", "x" * 150]
    vectors = embedder.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 24), np.float32)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, tiny.vector(tiny.ids(text)), atol=1e-5)


def test_canonical_spellings_share_a_vector(embedder):
    one, two, three = embedder.embed(["é a\nb", "e\u0301 a\r\nb", "é a\rb"])
    assert one.tobytes() == two.tobytes() == three.tobytes()


def test_it_is_a_counting_embedder(embedder):
    assert isinstance(embedder, CountingEmbedder)


def test_no_texts(embedder):
    vectors, tokens = embedder.embed_counted([])
    assert vectors.shape == (0, 24)
    assert list(tokens) == []


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_the_same_bytes_whatever_the_neighbours(embedder, tiny, data):
    pool = [*sentences(60, seed=1), *sentences(5, seed=2, longest=60), ""]
    alone = {text: embedder.embed([text])[0].tobytes() for text in pool}
    texts = data.draw(st.lists(st.sampled_from(pool), max_size=80))
    other = OnnxEmbedder(
        tiny.folder,
        threads=data.draw(st.integers(1, 3)),
        batch_tokens=data.draw(st.sampled_from([1, 37, 256, 4096])),
    )
    for text, vector in zip(texts, other.embed(texts), strict=True):
        assert vector.tobytes() == alone[text]


@pytest.mark.parametrize(
    "config",
    [
        {"hidden_act": "gelu_new", "intermediate_size": 41},
        {"hidden_act": "gelu", "intermediate_size": 43},
        {"hidden_size": 30, "intermediate_size": 37},
    ],
    ids=["tanh", "erf", "width"],
)
def test_the_same_bytes_at_sizes_no_vector_unit_likes(tmp_path, config):
    embedder = OnnxEmbedder(Model(tmp_path, config=config).folder, threads=1)
    texts = sentences(150, seed=11, longest=16)
    whole = embedder.embed(texts)
    for at, text in enumerate(texts):
        assert embedder.embed([text])[0].tobytes() == whole[at].tobytes()


def test_the_bundled_model_gives_the_same_bytes_whatever_the_neighbours(bundled):
    rng = random.Random(5)
    words = ["the", "parcel", "refund", "bank", "was", "late", "never", "came", "again", "office"]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 60))) for _ in range(120)]
    texts += [" ".join(rng.choices(words, k=400)), "", "."]
    whole = bundled.embed(texts)
    for at in (0, 17, 63, 119, 120, 121, 122):
        assert bundled.embed([texts[at]])[0].tobytes() == whole[at].tobytes()
    order = rng.sample(range(len(texts)), len(texts))
    small = OnnxEmbedder(find_model(), threads=1, batch_tokens=150)
    assert small.embed([texts[at] for at in order]).tobytes() == whole[order].tobytes()


def test_vectors_have_length_1_only_if_the_model_says_so(embedder, tmp_path):
    texts = sentences(20, longest=50)
    np.testing.assert_allclose(np.linalg.norm(embedder.embed(texts), axis=1), 1, atol=1e-6)
    plain = Model(tmp_path, normalize=False)
    vectors = OnnxEmbedder(plain.folder).embed(texts)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > 0.1
    at = next(at for at, text in enumerate(texts) if 0 < len(plain.ids(text)) <= ROOM)
    np.testing.assert_allclose(vectors[at], plain.vector(plain.ids(texts[at])), atol=1e-5)


# --- long texts ------------------------------------------------------------------------------


def long_text(tokens):
    return " ".join(random.Random(tokens).choices(["red", "cat", "ran", "blue"], k=tokens))


@pytest.mark.parametrize(
    ("count", "windows"), [(0, 1), (17, 1), (18, 1), (19, 2), (32, 2), (33, 3), (46, 3), (47, 4)]
)
def test_chunk_reads_all_of_it(tiny, embedder, count, windows):
    assert embedder.instrument.overlap == 4
    text = long_text(count)
    vectors, (tokens,) = embedder.embed_counted([text])
    assert tokens == Tokens(count + 2, count + 2, windows, own=count)
    ids = tiny.ids(text)
    parts = [ids[start : start + ROOM] for start in range(0, max(1, count - 4), ROOM - 4)]
    assert len(parts) == windows
    mean = sum(max(1, len(part)) * tiny.vector(part) for part in parts)
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_the_end_of_a_long_text_counts(embedder):
    text = long_text(200)
    one, two = embedder.embed([text, text + " dog"])
    assert np.abs(one - two).max() > 1e-4


def test_overlap_is_as_asked(tiny):
    text = long_text(30)
    ids = tiny.ids(text)
    vectors, (tokens,) = OnnxEmbedder(tiny.folder, overlap=0).embed_counted([text])
    assert tokens.windows == 2
    mean = 18 * tiny.vector(ids[:18]) + 12 * tiny.vector(ids[18:])
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), atol=1e-5)
    assert OnnxEmbedder(tiny.folder, overlap=17).embed_counted([text]).tokens[0].windows == 13


def test_truncate_reads_the_beginning_and_says_so(tiny):
    cut = OnnxEmbedder(tiny.folder, window="truncate")
    vectors, (long, short) = cut.embed_counted([long_text(30), long_text(18)])
    assert long == Tokens(20, 32, 1, own=18)
    assert long.truncated
    assert short == Tokens(20, 20, 1, own=18)
    np.testing.assert_allclose(vectors[0], tiny.vector(tiny.ids(long_text(30))[:18]), atol=1e-5)


def test_error_names_every_text_that_is_too_long(tiny):
    strict = OnnxEmbedder(tiny.folder, window="error")
    with pytest.raises(
        TextTooLongError, match=r"texts\[1\], texts\[3\].*window='chunk'"
    ) as caught:
        strict.embed(["cat", long_text(19), long_text(18), long_text(90)])
    assert caught.value.indices == (1, 3)
    vectors, (tokens,) = strict.embed_counted([long_text(18)])
    assert tokens == Tokens(20, 20, 1, own=18)
    assert vectors.shape == (1, 24)


def test_error_names_them_across_slabs(tiny, monkeypatch):
    monkeypatch.setattr(onnx_reading, "_SLAB_TOKENS", 10)
    monkeypatch.setattr(onnx_reading, "_CALL_TEXTS", 1)
    texts = [long_text(19) if at % 7 == 3 else "cat" for at in range(40)]
    with pytest.raises(TextTooLongError) as caught:
        OnnxEmbedder(tiny.folder, window="error").embed(texts)
    assert caught.value.indices == tuple(range(3, 40, 7))


def test_small_slabs_and_calls_change_nothing(tiny, embedder, monkeypatch):
    texts = sentences(100, seed=4, longest=50)
    whole = embedder.embed_counted(texts)
    monkeypatch.setattr(onnx_reading, "_SLAB_TOKENS", 50)
    monkeypatch.setattr(onnx_reading, "_CALL_TEXTS", 2)
    monkeypatch.setattr(onnx_reading, "_CALL_CHARS", 30)
    again = embedder.embed_counted(texts)
    assert again.vectors.tobytes() == whole.vectors.tobytes()
    assert again.tokens == whole.tokens


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="ab é好:'\t\n\x07\u0301🙂 ", max_size=300))
def test_cutting_before_tokenising_cannot_change_the_tokens(embedder, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_reading, "_PIECE_CHARS", 10**9)
        embedder_tokens = embedder.embed_counted([text]).tokens
        whole = reader(embedder)._tokenize([text], map)[0]
        patch.setattr(onnx_reading, "_PIECE_CHARS", 7)
        pieces = reader(embedder)._tokenize([text], map)[0]
        assert embedder.embed_counted([text]).tokens == embedder_tokens
    np.testing.assert_array_equal(pieces, whole)


def reader(embedder, role=Role.TEXT):
    return onnx_reading.Reader(embedder._ready(), embedder.instrument, role)


def test_a_text_of_a_megabyte_is_read_to_its_end(embedder):
    text = long_text(250_000)
    vectors, (tokens,) = embedder.embed_counted([text])
    assert tokens.seen == tokens.total == 250_002
    assert np.isfinite(vectors).all()


# --- roles -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory):
    prompts = {"query": "query: ", "passage": "passage: "}
    return Model(tmp_path_factory.mktemp("prefixed"), prompts=prompts)


def test_each_role_has_its_prefix(prefixed):
    embedder = OnnxEmbedder(prefixed.folder)
    for role, prefix in ((Role.QUERY, "query: "), (Role.DOCUMENT, "passage: "), (Role.TEXT, "")):
        vectors, (tokens,) = embedder.embed_counted(["red cat"], role)
        ids = prefixed.ids(prefix + "red cat")
        assert tokens == Tokens(len(ids) + 2, len(ids) + 2, 1, own=2)
        np.testing.assert_allclose(vectors[0], prefixed.vector(ids), atol=1e-5)


def test_every_window_has_the_prefix(prefixed):
    embedder = OnnxEmbedder(prefixed.folder, overlap=4)
    vectors, (tokens,) = embedder.embed_counted([long_text(25)], Role.QUERY)
    prefix, ids = prefixed.ids("query: "), prefixed.ids(long_text(25))
    assert len(prefix) == 2
    assert tokens == Tokens(29, 29, 2, own=25)
    parts = [ids[:16], ids[12:]]
    mean = sum(len(part) * prefixed.vector([*prefix, *part]) for part in parts)
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), atol=1e-5)
    cut = OnnxEmbedder(prefixed.folder, window="truncate")
    vectors, (tokens,) = cut.embed_counted([long_text(25)], Role.QUERY)
    assert tokens == Tokens(20, 29, 1, own=16)
    np.testing.assert_allclose(vectors[0], prefixed.vector([*prefix, *ids[:16]]), atol=1e-5)


def test_a_prefix_that_leaves_no_room(prefixed):
    with pytest.raises(ConfigurationError, match="prefix of role query"):
        OnnxEmbedder(prefixed.folder, overlap=16).embed(["cat"], Role.QUERY)
    assert OnnxEmbedder(prefixed.folder, overlap=16).embed(["cat"]).shape == (1, 24)


def test_lower_casing_of_the_model(tmp_path):
    model = Model(tmp_path, lowercase=True)
    upper, lower = OnnxEmbedder(model.folder).embed(["RED Cat", "red cat"])
    assert upper.tobytes() == lower.tobytes()
    assert OnnxEmbedder(model.folder).instrument.options == {"lowercase": "true"}


def test_token_types_are_fed_when_the_graph_wants_them(tmp_path, tiny, embedder):
    folder = tmp_path / "typed"
    source = tiny.folder.parent / "source"
    compile_folder(source, folder, Naming(name="typed"), token_types=True)
    texts = sentences(10)
    np.testing.assert_allclose(OnnxEmbedder(folder).embed(texts), embedder.embed(texts), atol=1e-6)


# --- identity --------------------------------------------------------------------------------


def test_identity_comes_from_the_card_without_loading(tiny, monkeypatch):
    instrument = OnnxEmbedder(tiny.folder, window="truncate").instrument
    assert instrument.kind == "onnx"
    assert (instrument.model, instrument.provider) == ("tiny", "local")
    assert instrument.weights == tiny.card.file("model.onnx").sha256
    assert instrument.tokenizer == tiny.card.file("tokenizer.json").sha256
    assert (instrument.dims, instrument.max_tokens) == (24, WINDOW)
    assert (instrument.window, instrument.overlap) == ("truncate", 0)
    assert (instrument.pooling, instrument.normalize, instrument.precision) == (
        "mean",
        True,
        "fp32",
    )


def test_what_changes_vectors_changes_the_digest_and_nothing_else_does(tiny, prefixed):
    base = OnnxEmbedder(tiny.folder).instrument.digest
    assert OnnxEmbedder(tiny.folder, threads=3, batch_tokens=7).instrument.digest == base
    others = [
        OnnxEmbedder(tiny.folder, overlap=5),
        OnnxEmbedder(tiny.folder, window="truncate"),
        OnnxEmbedder(tiny.folder, window="error"),
        OnnxEmbedder(prefixed.folder),
    ]
    digests = {embedder.instrument.digest for embedder in others}
    assert len(digests | {base}) == 5


# --- wrong input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        ("one text", "single text"),
        (["a", None], r"texts\[1\] must be str, got NoneType"),
        ([b"a"], r"texts\[0\] must be str, got bytes"),
        (["a", "b", 3.5], r"texts\[2\] must be str, got float"),
    ],
)
def test_only_texts(embedder, texts, part):
    with pytest.raises(UsageError, match=part):
        embedder.embed(texts)


def test_half_a_surrogate_pair_is_no_text(embedder):
    with pytest.raises(EmbeddingError, match=r"texts\[1\].*surrogate") as caught:
        embedder.embed(["good", "bad \ud83d", "🙂"])
    assert caught.value.indices == (1,)


@pytest.mark.parametrize(
    "options", [{"threads": 0}, {"threads": 1.5}, {"batch_tokens": 0}, {"window": "cut"}]
)
def test_wrong_options(tiny, options):
    with pytest.raises(UsageError):
        OnnxEmbedder(tiny.folder, **options)


def test_threads_come_from_the_environment(tiny, monkeypatch):
    monkeypatch.setenv("CLOSECALL_THREADS", "3")
    assert OnnxEmbedder(tiny.folder).threads == 3
    assert OnnxEmbedder(tiny.folder, threads=1).threads == 1
    for wrong in ("0", "-1", "two", "1.5", "³", "9" * 5000):
        monkeypatch.setenv("CLOSECALL_THREADS", wrong)
        with pytest.raises(ConfigurationError, match="CLOSECALL_THREADS"):
            worker_threads()


def test_vectors_that_are_not_finite_are_refused(tmp_path):
    model = Model(tmp_path, normalize=False)
    huge = tiny_bert.weights(model.config)
    for name in ("weight", "bias"):
        huge[f"encoder.layer.1.output.LayerNorm.{name}"][:] = 3e38
    tiny_bert.write_safetensors(tmp_path / "source" / "model.safetensors", huge)
    compile_folder(tmp_path / "source", model.folder, Naming(name="huge"))
    with pytest.raises(EmbeddingError, match="not finite") as caught:
        OnnxEmbedder(model.folder).embed(["cat", "dog"])
    assert caught.value.indices == (0, 1)


def edited(folder, old, new):
    card = folder / "card.toml"
    text = card.read_text(encoding="utf-8")
    assert old in text
    card.write_text(text.replace(old, new), encoding="utf-8")
    return OnnxEmbedder(folder)


def test_a_failure_of_the_runtime_is_an_embedding_error(copy):
    embedder = edited(copy, "max_tokens = 20", "max_tokens = 90")
    assert embedder.embed(["cat"]).shape == (1, 24)
    with pytest.raises(EmbeddingError, match="onnxruntime failed"):
        embedder.embed([long_text(80)])


def test_a_card_that_does_not_fit_the_graph(copy):
    with pytest.raises(ModelError, match="width 24, the card says 32"):
        edited(copy, "dims = 24", "dims = 32").embed(["cat"])


# --- damage ----------------------------------------------------------------------------------


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny.folder, tmp_path / "copy")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "append"])
def test_damaged_files_are_never_used(copy, name, damage):
    path = copy / name
    raw = bytearray(path.read_bytes())
    found = {"flip": None, "cut": raw[:-9], "empty": b"", "append": raw + b" "}[damage]
    if found is None:
        raw[len(raw) // 2] ^= 1
        found = raw
    path.write_bytes(found)
    embedder = OnnxEmbedder(copy)
    with pytest.raises(ModelIntegrityError, match="expected sha256"):
        embedder.check_files()
    for _ in range(2):
        with pytest.raises(ModelIntegrityError, match="expected sha256") as caught:
            embedder.embed(["cat"])
        assert str(path) in str(caught.value)
        assert "closecall models verify" in str(caught.value)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_files_are_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(ModelError, match="no such file") as caught:
        OnnxEmbedder(copy).embed(["cat"])
    assert str(copy / name) in str(caught.value)


# --- what the hash covers --------------------------------------------------------------------


def recorded(folder, name, data):
    """Write a file of a model and record its hash; return an embedder of the folder."""
    old = hash_file(folder / name)
    (folder / name).write_bytes(data)
    new = hash_file(folder / name)
    edited(folder, f"size = {old.size}", f"size = {new.size}")
    return edited(folder, f'"{old.sha256}"', f'"{new.sha256}"')


@pytest.mark.parametrize("constants", [False, True])
def test_weights_outside_the_hashed_file_are_refused(copy, monkeypatch, constants):
    whole = onnx.load(copy / "model.onnx")
    if constants:
        nodes = [
            onnx.helper.make_node("Constant", [], [tensor.name], value=tensor)
            for tensor in whole.graph.initializer
        ]
        rest = list(whole.graph.node)
        del whole.graph.initializer[:]
        del whole.graph.node[:]
        whole.graph.node.extend(nodes + rest)
    onnx.save(
        whole,
        copy / "split.onnx",
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
        convert_attribute=True,
    )
    embedder = recorded(copy, "model.onnx", (copy / "split.onnx").read_bytes())
    monkeypatch.chdir(copy)  # where the runtime looks when a graph comes from memory
    with pytest.raises(ModelError, match="other files"):
        embedder.load()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_what_is_used_is_what_was_hashed(copy, embedder, monkeypatch, name):
    read = onnx_runtime.read_file

    def read_then_change(path, *most):
        data = read(path, *most)
        if path.name == name:
            path.write_bytes(b"{}")
        return data

    monkeypatch.setattr(onnx_runtime, "read_file", read_then_change)
    changed = OnnxEmbedder(copy)
    assert changed.embed(["red cat"]).tobytes() == embedder.embed(["red cat"]).tobytes()
    assert (copy / name).read_bytes() == b"{}"


def test_the_bytes_of_the_file_are_let_go(embedder):
    embedder.load()
    assert not embedder._ready().session.raw._model_bytes


# --- loading ---------------------------------------------------------------------------------


def scalar_output(_raw):
    made = onnx.helper.make_graph(
        [onnx.helper.make_node("ReduceSum", ["x"], ["embedding"], keepdims=0)],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n"])],
        [onnx.helper.make_tensor_value_info("embedding", onnx.TensorProto.FLOAT, [])],
    )
    opset = onnx.helper.make_opsetid("", 17)
    return onnx.helper.make_model(made, ir_version=8, opset_imports=[opset]).SerializeToString()


@pytest.mark.parametrize(
    ("name", "change", "part"),
    [
        ("model.onnx", lambda raw: b"ORTM" + raw, "not an ONNX file"),
        ("model.onnx", lambda raw: raw.replace(b"MatMul", b"MutMal"), "cannot load it"),
        ("model.onnx", scalar_output, "the card says 24"),
        ("tokenizer.json", lambda raw: b"\xff", "not a tokenizer"),
        ("tokenizer.json", lambda raw: raw.replace(b'"a":', b'"A":'), "the letter a"),
    ],
    ids=["no protobuf", "unknown operator", "scalar output", "no JSON", "no letters"],
)
def test_what_cannot_be_used_is_a_model_error(copy, name, change, part):
    raw = (copy / name).read_bytes()
    if part == "the letter a":
        raw = raw.replace(b'"[UNK]":', b'"[GONE]":')
    embedder = recorded(copy, name, change(raw))
    with pytest.raises(ModelError, match=part) as caught:
        embedder.load()
    assert str(copy / name) in str(caught.value)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_package_that_cannot_be_imported_is_named(tiny, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=f"{package} cannot be imported"):
        OnnxEmbedder(tiny.folder).load()


# --- processes and threads -------------------------------------------------------------------


def test_several_threads_may_embed_at_once(tiny):
    texts = sentences(60, seed=9, longest=40)
    wanted = OnnxEmbedder(tiny.folder, threads=1).embed(texts).tobytes()
    shared = OnnxEmbedder(tiny.folder, threads=2)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(shared.embed(texts).tobytes()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 6


def script(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "TOKENIZERS_PARALLELISM"},
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_process_that_embedded_may_fork(tiny):
    code = """
import os, sys
from closecall.embedders.onnx import OnnxEmbedder
embedder = OnnxEmbedder(sys.argv[1], threads=2)
texts = ["red cat " * n for n in range(30)]
before = embedder.embed(texts).tobytes()
child = os.fork()
if child == 0:
    os._exit(0 if embedder.embed(texts).tobytes() == before else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert embedder.embed(texts).tobytes() == before
"""
    done = script(code, tiny.folder)
    assert done.stderr == ""


def test_no_thread_outlives_a_call(tiny):
    code = """
import os, sys, threading, time
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # as loading a model does: its thread is not ours
import numpy, onnxruntime, tokenizers
from closecall.embedders.onnx import OnnxEmbedder
def tasks():
    place = "/proc/self/task"
    return len(os.listdir(place)) if os.path.isdir(place) else threading.active_count()
before = tasks()
OnnxEmbedder(sys.argv[1], threads=2).embed(["red cat " * n for n in range(600)])
for _ in range(6000):  # the system takes a moment to forget a thread that was joined
    if tasks() != before:
        time.sleep(0.01)
assert tasks() == before, (before, tasks())
"""
    script(code, tiny.folder)


def test_embedding_needs_neither_the_compiler_nor_torch(tiny):
    code = """
import sys
for name in ("onnx", "safetensors", "torch", "transformers", "sentence_transformers", "scipy"):
    sys.modules[name] = None
from closecall.embedders.onnx import OnnxEmbedder
embedder = OnnxEmbedder(sys.argv[1])
assert not {"onnxruntime", "tokenizers"} & set(sys.modules)
assert embedder.embed(["cat"]).shape == (1, 24)
"""
    assert script(code, tiny.folder).stderr == ""


def test_tokens_outside_the_vocabulary_are_counted(bundled):
    known, half, none, blank = bundled.embed_counted(["Yes", "Yes \u2705", "\u2705", " "]).tokens
    assert (known.own, known.unknown, known.unreadable) == (1, 0, False)
    assert (half.own, half.unknown, half.unreadable) == (2, 1, False)
    assert (none.own, none.unknown, none.unreadable) == (1, 1, True)
    assert (blank.own, blank.unknown, blank.unreadable) == (0, 0, False)


def test_tokens_the_model_did_not_see_are_not_its_unknown_ones(bundled):
    cut = OnnxEmbedder(find_model(), window="truncate", threads=1)
    (tokens,) = cut.embed_counted(["word " * 300 + "\u2705 " * 50]).tokens
    assert (tokens.seen, tokens.own, tokens.unknown) == (256, 254, 0)


def test_files_are_checked_without_loading_the_model(copy, monkeypatch):
    embedder = OnnxEmbedder(copy)
    monkeypatch.setattr(onnx_runtime, "make_session", None)
    embedder.check_files()
    (copy / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json: no such file"):
        embedder.check_files()
