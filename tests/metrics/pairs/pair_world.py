"""A little world of animals, colours and sizes, and a pair model that learns it.

A sentence follows from another if all it says of the animal is said there; it contradicts it if
it gives another colour; otherwise the other says nothing of it. The model is a logistic
regression on three kinds of words: those of the second text that the first lacks, those of both,
and those of the first alone. Trained in numpy, run as an ONNX graph.
"""

import json
import random
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

LABELS = ("entailment", "neutral", "contradiction")

ANIMALS = ("cat", "dog", "horse", "goat", "mouse", "crow")
COLOURS = ("red", "green", "blue", "white", "black", "grey")
SIZES = ("small", "large", "tall", "thin")
PLACES = ("barn", "garden", "river", "kitchen")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PLAIN = ("the", "is", "and", "in", "what", "colour", "?", ".", "a", "b", "[", "]", "sep")
VOCABULARY = (*SPECIALS, *ANIMALS, *COLOURS, *SIZES, *PLACES, *PLAIN)
IDS = {word: at for at, word in enumerate(VOCABULARY)}
SIZE = len(VOCABULARY)


def pairs(count, seed):
    """Return (first, second, label) of made-up pairs, the three labels in turn."""
    draw = random.Random(seed)
    made = []
    for at in range(count):
        animal, *others = draw.sample(ANIMALS, 4)
        colour, another = draw.sample(COLOURS, 2)
        size, *left = draw.sample(SIZES, 3)
        first = f"the {animal} is {colour}"
        if draw.random() < 0.5:
            first += f" and {size}"
        else:
            left.append(size)
        for other in others[: draw.randrange(3)]:  # what is beside the point
            first += f" and in the {draw.choice(PLACES)} the {other} is {left[0]}"
        inside = set(first.split())
        label = at % 3
        if label == 0:
            second = f"the {animal} is {colour}"
            if size in inside:
                second = draw.choice((second, f"the {animal} is {size}", f"{second} and {size}"))
        elif label == 2:
            second = f"the {animal} is {another}"
        else:
            absent = draw.choice([word for word in SIZES if word not in inside])
            second = draw.choice(
                (
                    f"the {others[-1]} is {colour}",
                    f"the {animal} is {absent}",
                    f"the {animal} is {colour} and {absent}",
                )
            )
        made.append((first, second, label))
    return made


def words(text):
    return [
        IDS.get(word, 1) for word in text.lower().replace("?", " ?").replace(".", " .").split()
    ]


def features(first, second):
    """The same features as the graph's, written without it."""
    a, b = np.zeros(SIZE), np.zeros(SIZE)
    a[[2, *words(first), 3]] = 1
    b[[*words(second), 3]] = 1
    return np.concatenate([np.maximum(b - a, 0), a * b, np.maximum(a - b, 0)])


def train(examples, classes=3, steps=400):
    """Return weights (3 V, k) and bias (k,), by gradient descent on the log loss."""
    x = np.stack([features(a, b) for a, b, _ in examples])
    wanted = np.eye(classes)[[label for _, _, label in examples]]
    weights, bias = np.zeros((x.shape[1], classes)), np.zeros(classes)
    for _ in range(steps):
        scores = x @ weights + bias
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = powers / powers.sum(axis=1, keepdims=True) - wanted
        weights -= 2.0 * (x.T @ error / len(x) + 1e-4 * weights)
        bias -= 2.0 * error.mean(axis=0)
    return weights, bias


def by_hand(weights, first, second):
    """The shares of the labels, computed without the graph or the tokenizer."""
    scores = features(first, second) @ weights[0] + weights[1]
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def graph(weights, *, ids=TensorProto.INT64, output="logits", quantised=False):
    """Return the regression as an ONNX model with a pair model's inputs and output."""
    matrix, bias = (part.astype(np.float32) for part in weights)
    constants = {
        "eye": np.eye(SIZE, dtype=np.float32),
        "one": np.array(1, dtype=np.float32),
        "last": np.array([2], dtype=np.int64),
        "w": matrix,
        "b": bias,
    }
    node = helper.make_node
    nodes = [
        node("Gather", ["eye", "input_ids"], ["hot"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        node("Mul", ["mask", "type"], ["of_b"]),
        node("Sub", ["mask", "of_b"], ["of_a"]),
    ]
    for side in "ab":
        nodes += [
            node("Unsqueeze", [f"of_{side}", "last"], [f"wide_{side}"]),
            node("Mul", ["hot", f"wide_{side}"], [f"all_{side}"]),
            node("ReduceMax", [f"all_{side}"], [f"bag_{side}"], axes=[1], keepdims=0),
        ]
    nodes += [
        node("Sub", ["bag_b", "bag_a"], ["b_less_a"]),
        node("Relu", ["b_less_a"], ["missing"]),
        node("Mul", ["bag_a", "bag_b"], ["shared"]),
        node("Sub", ["bag_a", "bag_b"], ["a_less_b"]),
        node("Relu", ["a_less_b"], ["extra"]),
        node("Concat", ["missing", "shared", "extra"], ["features"], axis=1),
        node("MatMul", ["features", "w"], ["scores"]),
        node("Add", ["scores", "b"], ["exact" if quantised else output]),
    ]
    if quantised:  # rounds every number by the range of the whole batch
        nodes += [
            node("DynamicQuantizeLinear", ["exact"], ["coarse", "scale", "zero"]),
            node("DequantizeLinear", ["coarse", "scale", "zero"], [output]),
        ]
    inputs = [
        helper.make_tensor_value_info(name, ids, ["pairs", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [
        helper.make_tensor_value_info(output, TensorProto.FLOAT, ["pairs", matrix.shape[1]])
    ]
    made = helper.make_graph(
        nodes,
        "pairs",
        inputs,
        outputs,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tokenizer(post_processor=None):
    made = Tokenizer(WordLevel(IDS, unk_token="[UNK]"))  # noqa: S106 - a token, no password
    made.normalizer = Lowercase()
    made.pre_tokenizer = Whitespace()
    made.add_special_tokens(list(SPECIALS))
    made.post_processor = post_processor or TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made


def config(labels=LABELS, **more):
    names = {str(at): name for at, name in enumerate(labels)}
    return {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "max_position_embeddings": 64,
        "id2label": names,
        "label2id": {name: at for at, name in enumerate(labels)},
        **more,
    }


def write(folder: Path, weights, *, labels=LABELS, place="model.onnx", model=None, **more) -> Path:
    """Write a model's folder; ``more`` goes into its configuration."""
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model or graph(weights), path)
    tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(config(labels, **more)), encoding="utf-8")
    return folder


def reordered(weights, order):
    """The same model with its outputs in another order."""
    return weights[0][:, order], weights[1][list(order)]
