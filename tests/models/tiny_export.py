"""Small random BERT models as exporters write them: plain operators, int64 inputs, named outputs."""

import numpy as np
import onnx
import tiny_bert
from onnx import TensorProto, helper, numpy_helper

TENSORS = {"fp32": np.float32, "fp16": np.float16}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
STATES = "last_hidden_state"
TEXT = "sentence_embedding"


class Graph:
    """Collects nodes and weights; ``kind`` is ``fp32``, ``fp16`` or ``int8`` (dynamic)."""

    def __init__(self, kind):
        self.kind = kind
        self.nodes, self.weights, self.count = [], [], 0

    def node(self, operator, *inputs, outputs=1, name=None, **attributes):
        self.count += 1
        made = [name or f"v{self.count}.{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), made, **attributes))
        return made[0] if outputs == 1 else made

    def constant(self, values):
        self.count += 1
        name = f"c{self.count}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def weight(self, values):
        """A weight in float32, kept in half where that is the kind."""
        if self.kind != "fp16":
            return self.constant(values.astype(np.float32))
        return self.node("Cast", self.constant(values.astype(np.float16)), to=TensorProto.FLOAT)

    def product(self, value, matrix):
        if self.kind != "int8":
            return self.node("MatMul", value, self.weight(matrix))
        scale = np.float32(np.abs(matrix).max() / 127)
        rounded = self.constant(np.round(matrix / scale).astype(np.int8))
        given, range_, zero = self.node("DynamicQuantizeLinear", value, outputs=3)
        zero_weight = self.constant(np.zeros((), dtype=np.int8))
        whole = self.node("MatMulInteger", given, rounded, zero, zero_weight)
        number = self.node("Cast", whole, to=TensorProto.FLOAT)
        return self.node("Mul", number, self.node("Mul", range_, self.constant(scale)))


def states(graph, weights, config, *, positions):
    """Add the encoder's nodes; the last hidden states leave it by their name."""
    heads = config["num_attention_heads"]
    size = config["hidden_size"] // heads

    def linear(value, name):
        product = graph.product(value, weights[f"{name}.weight"].T)
        return graph.node("Add", product, graph.weight(weights[f"{name}.bias"]))

    def normed(value, name, output=None):
        parts = [graph.weight(weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        epsilon = config["layer_norm_eps"]
        return graph.node("LayerNormalization", value, *parts, name=output, epsilon=epsilon)

    def rows(name, index):
        return graph.node("Gather", graph.weight(weights[f"embeddings.{name}.weight"]), index)

    def split(value):
        shape = graph.constant(np.array([0, 0, heads, size]))
        return graph.node("Transpose", graph.node("Reshape", value, shape), perm=[0, 2, 1, 3])

    total = graph.node(
        "Add",
        rows("word_embeddings", "input_ids"),
        rows("token_type_embeddings", "token_type_ids"),
    )
    places = "position_ids"
    if not positions:
        length = graph.node("Shape", "input_ids", start=1, end=2)
        ends = [graph.constant(np.array(0)), graph.node("Squeeze", length)]
        places = graph.node("Range", *ends, graph.constant(np.array(1)))
    total = graph.node("Add", total, rows("position_embeddings", places))
    hidden = normed(total, "embeddings.LayerNorm")
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    absent = graph.node("Sub", graph.constant(np.float32(1)), mask)
    absent = graph.node("Mul", absent, graph.constant(np.float32(-1e9)))
    absent = graph.node("Unsqueeze", absent, graph.constant(np.array([1, 2])))
    last = config["num_hidden_layers"] - 1
    for layer in range(last + 1):
        here = f"encoder.layer.{layer}"
        parts = (linear(hidden, f"{here}.attention.self.{p}") for p in ("query", "key", "value"))
        query, key, value = (split(part) for part in parts)
        turned = graph.node("Transpose", key, perm=[0, 1, 3, 2])
        scores = graph.node("MatMul", query, turned)
        scores = graph.node("Mul", scores, graph.constant(np.float32(1 / np.sqrt(size))))
        shares = graph.node("Softmax", graph.node("Add", scores, absent), axis=-1)
        mixed = graph.node("Transpose", graph.node("MatMul", shares, value), perm=[0, 2, 1, 3])
        shape = graph.constant(np.array([0, 0, heads * size]))
        mixed = linear(graph.node("Reshape", mixed, shape), f"{here}.attention.output.dense")
        added = graph.node("Add", mixed, hidden)
        hidden = normed(added, f"{here}.attention.output.LayerNorm")
        wide = linear(hidden, f"{here}.intermediate.dense")
        bent = graph.node("Erf", graph.node("Mul", wide, graph.constant(np.float32(0.5**0.5))))
        bent = graph.node("Mul", wide, graph.node("Add", bent, graph.constant(np.float32(1))))
        bent = graph.node("Mul", bent, graph.constant(np.float32(0.5)))
        added = graph.node("Add", linear(bent, f"{here}.output.dense"), hidden)
        output = STATES if layer == last else None
        hidden = normed(added, f"{here}.output.LayerNorm", output)


def write_graph(
    path,
    weights,
    config,
    *,
    kind="fp32",
    positions=False,
    outputs=(STATES,),
    text=None,
    extra_inputs=(),
    shape=("n", "s"),
    external=None,
):
    """Write a graph; ``text`` adds the nodes of ``sentence_embedding``, given the builder."""
    graph = Graph(kind)
    states(graph, weights, config, positions=positions)
    if text is not None:
        text(graph)
    names = [*INPUTS, *(["position_ids"] if positions else []), *extra_inputs]
    width = config["hidden_size"]
    shapes = {STATES: ["n", "s", width], TEXT: ["n", "d"]}
    made = helper.make_graph(
        graph.nodes,
        "exported",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, shapes[o]) for o in outputs],
        graph.weights,
    )
    model = helper.make_model(made, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    path.parent.mkdir(parents=True, exist_ok=True)
    if external is None:
        onnx.save(model, path)
    else:
        onnx.save(model, path, save_as_external_data=True, location=external, size_threshold=128)


def write_export(folder, *, config=None, files=None, layout=None):
    """Write a folder of sentence-transformers with graphs in it and no weights beside them.

    ``files`` maps paths in the folder to options of ``write_graph``. Returns the configuration
    and the weights.
    """
    config, weights = tiny_bert.write_folder(folder, config=config, **(layout or {}))
    (folder / "model.safetensors").unlink()
    for name, options in (files or {"onnx/model.onnx": {}}).items():
        write_graph(folder / name, weights, config, **options)
    return config, weights


def mean(graph):
    """The mean over tokens, where none is padding."""
    graph.node("ReduceMean", STATES, axes=[1], keepdims=0, name=TEXT)


def first(graph):
    """The first token."""
    zero = graph.constant(np.array(0))
    graph.node("Gather", STATES, zero, axis=1, name=TEXT)
