"""The bundled model with one thing changed: what canaries have to tell apart."""

import functools
import re

import msgspec
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

from closecall.calibration.drift.canary_check import check_canaries
from closecall.calibration.drift.canary_record import record_canaries
from closecall.calibration.drift.canary_vectors import distances, embed_canaries, measured
from closecall.embedders.base import Counted
from closecall.embedders.onnx import OnnxEmbedder
from closecall.models.store import find_model
from closecall.records import Role


class Wrapped:
    """An embedder whose texts, or vectors, are changed on the way; its instrument says nothing.

    ``texts`` changes one text, ``vectors`` an array of them.
    """

    def __init__(self, inner, texts=str, vectors=np.asarray):
        self._inner = inner
        self._texts = texts
        self._vectors = vectors

    @property
    def instrument(self):
        return self._inner.instrument

    def embed(self, texts, role=Role.TEXT):
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts, role=Role.TEXT):
        found = self._inner.embed_counted([self._texts(text) for text in texts], role)
        return found._replace(vectors=self._vectors(found.vectors))


# --- noise and precision -------------------------------------------------------------------------


class Shuffled(Wrapped):
    """Embeds in another order, one text after the other, and returns in the order asked."""

    def embed_counted(self, texts, role=Role.TEXT):
        order = np.random.default_rng(3).permutation(len(texts)).tolist()
        found = {at: self._inner.embed_counted([texts[at]], role) for at in order}
        rows = [found[at].vectors[0] for at in range(len(texts))]
        return Counted(np.stack(rows), [found[at].tokens[0] for at in range(len(texts))])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def as_fp16(vectors):
    return vectors.astype(np.float16).astype(np.float32)


def as_bf16(vectors):
    bits = np.ascontiguousarray(vectors).view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return (rounded & 0xFFFF0000).view(np.float32)


def as_int8(vectors):
    scale = np.abs(vectors).max(axis=1, keepdims=True) / 127
    return (np.round(vectors / scale) * scale).astype(np.float32)


# --- the tokenizer, the window, the pooling: on the session of the base model --------------------


@functools.cache
def bundled():
    return OnnxEmbedder(find_model(), threads=2)


class Remembering:
    """A session that computes a row of tokens once: what a change leaves alone costs nothing."""

    def __init__(self, session):
        self._session = session
        self._known = {}

    def run(self, outputs, feed):
        keys = [row.tobytes() for row in feed["input_ids"]]
        new = [at for at, key in enumerate(keys) if key not in self._known]
        if new:
            found = self._session.run(outputs, {name: rows[new] for name, rows in feed.items()})
            self._known.update(zip((keys[at] for at in new), found[0], strict=True))
        return [np.stack([self._known[key] for key in keys])]


@functools.cache
def usual_session():
    return Remembering(bundled()._ready().session)


def variant(*, tokenizer=None, session=None, **identity):
    """Return the bundled model with another tokenizer, session or identity."""
    made = OnnxEmbedder(find_model(), threads=2)
    made._instrument = msgspec.structs.replace(made.instrument, **identity)
    loaded = bundled()._ready()
    made._running = loaded._replace(
        tokenizer=tokenizer or loaded.tokenizer,
        session=Remembering(session) if session else usual_session(),
    )
    return made


def normalised(**options):
    """Return the model with another normalizer in its tokenizer."""
    copy = Tokenizer.from_str(bundled()._ready().tokenizer.to_str())
    usual = {"lowercase": True, "strip_accents": None, "handle_chinese_chars": True}
    copy.normalizer = BertNormalizer(clean_text=True, **{**usual, **options})
    return variant(tokenizer=copy)


class FirstToken:
    """A session that takes the first token where the model averages all."""

    def run(self, _outputs, feed):
        return [unit(bundled()._ready().session.run(["tokens"], feed)[0][:, 0])]


# --- the graph -----------------------------------------------------------------------------------


def regraphed(change):
    """Return the model with its graph changed."""
    graph = onnx.load(find_model().graph)
    change(graph.graph)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return variant(session=session)


def _matrices(graph):
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT16 and tensor.name.startswith("layer."):
            yield tensor, numpy_helper.to_array(tensor).astype(np.float32)


def _store(tensor, values):
    tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), tensor.name))


def rounded_weights(graph):
    """Round every matrix of the encoder to 8 bits, with a scale for each output."""
    for tensor, values in _matrices(graph):
        _store(tensor, as_int8(values.T).T)


def nudged_weights(graph):
    """Train on, a little: move every weight of one layer by a tenth of their spread."""
    rng = np.random.default_rng(5)
    for tensor, values in _matrices(graph):
        if tensor.name.startswith("layer.3."):
            _store(tensor, values + rng.normal(0, 0.1 * values.std(), values.shape))


def dropped_layer(graph):
    for node in graph.node:
        for at, name in enumerate(node.input):
            if name == "hidden.4":
                node.input[at] = "hidden.3"


# --- all of them ---------------------------------------------------------------------------------


def texts(change):
    return lambda: Wrapped(variant(), texts=change)


def vectors(change):
    return lambda: Wrapped(variant(), vectors=change)


SLIGHT = {
    "rounded to fp16": vectors(as_fp16),
    "rounded to bf16": vectors(as_bf16),
    "rounded to int8": vectors(as_int8),
    "weights rounded to int8": lambda: regraphed(rounded_weights),
}
"""Changes of precision."""

REAL = {
    "prefix": texts(lambda text: f"query: {text}"),
    "prefix of queries": lambda: variant(prefixes={"query": "query: "}),
    "prefix of documents": lambda: variant(prefixes={"document": "passage: "}),
    "full stop added": texts(lambda text: f"{text}."),
    "full stops dropped": texts(lambda text: text.rstrip(".")),
    "case kept": lambda: normalised(lowercase=False),
    "upper case unknown": texts(lambda text: "x" if text.isupper() else text),
    "accents kept": lambda: normalised(strip_accents=False),
    "letters with accents lost": texts(lambda text: re.sub("[à-ÿ]", "", text)),
    "Chinese characters not apart": lambda: normalised(handle_chinese_chars=False),
    "emoji lost": texts(lambda text: re.sub("[\U0001f000-\U0001ffff\ufe0f]", "", text)),
    "white space around marked": texts(lambda text: re.sub(r"^\s+|\s+$", "_", text)),
    "digits masked": texts(lambda text: re.sub(r"\d", "0", text)),
    "'not' lost": texts(lambda text: text.replace(" not ", " ")),
    "single words padded": texts(lambda text: text if " " in text else f"{text} [PAD]"),
    "addresses lost": texts(lambda text: re.sub(r"https?://\S+", "", text)),
    "cut at 16 tokens": lambda: variant(max_tokens=16, window="truncate", overlap=0),
    "cut at 256 tokens": lambda: variant(window="truncate", overlap=0),
    "windows of 512": lambda: variant(max_tokens=512),
    "first token": lambda: variant(session=FirstToken()),
    "weights moved": lambda: regraphed(nudged_weights),
    "layer dropped": lambda: regraphed(dropped_layer),
}
"""Changes that make another instrument."""


@functools.cache
def record():
    return record_canaries(bundled())


@functools.cache
def seen(change):
    """Return what the check says of a change, and how far each canary moved."""
    embedder = {**SLIGHT, **REAL}[change]()
    moved = distances(record().by_name(), measured(embed_canaries(embedder)))
    return check_canaries(record(), embedder), moved
