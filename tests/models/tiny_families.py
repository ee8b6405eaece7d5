"""Small random models of BERT's relatives, and what they compute, in plain numpy."""

import json
import math

import numpy as np
import numpy_bert
import tiny_bert

COUNTED = ("roberta", "xlm-roberta", "camembert", "mpnet")

RENAMED = {
    "mpnet": {
        "attention.self.query": "attention.attn.q",
        "attention.self.key": "attention.attn.k",
        "attention.self.value": "attention.attn.v",
        "attention.output.dense": "attention.attn.o",
        "attention.output.LayerNorm": "attention.LayerNorm",
    },
    "distilbert": {
        "encoder.layer": "transformer.layer",
        "attention.self.query": "attention.q_lin",
        "attention.self.key": "attention.k_lin",
        "attention.self.value": "attention.v_lin",
        "attention.output.dense": "attention.out_lin",
        "attention.output.LayerNorm": "sa_layer_norm",
        "intermediate.dense": "ffn.lin1",
        "output.dense": "ffn.lin2",
        "output.LayerNorm": "output_layer_norm",
    },
}
FIELDS = {
    "distilbert": {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
    }
}
PREFIXES = {"xlm-roberta": "roberta.", "camembert": "roberta."}
BIAS = "encoder.relative_attention_bias.weight"
LONGEST = 200


class Tiny:
    """A model in a folder, and the formulas for it."""

    def __init__(self, folder, kind, *, pad=1, headed=False, pooling="mean", **changes):
        self.kind, self.pad, self.pooling = kind, pad, pooling
        self.counted = kind in COUNTED
        self.padding = 1 if kind == "mpnet" else pad
        self.config = {
            **tiny_bert.CONFIG,
            "model_type": kind,
            "max_position_embeddings": LONGEST + (self.padding + 1 if self.counted else 0),
            "type_vocab_size": 1 if self.counted else 2,
            **changes,
        }
        tiny_bert.write_folder(
            folder, pooling={"pooling_mode": pooling}, max_seq_length=LONGEST, config=self.config
        )
        self.weights = tiny_bert.weights(self.config, seed=7)
        if kind in ("mpnet", "distilbert"):
            del self.weights["embeddings.token_type_embeddings.weight"]
        if kind == "mpnet":
            draw = np.random.default_rng(8)
            shape = (32, self.config["num_attention_heads"])
            self.weights[BIAS] = draw.normal(0, 1.5, shape).astype(np.float32)
        prefix = PREFIXES.get(kind, f"{kind}.") if headed else ""
        named = {self.name(name): values for name, values in self.weights.items()}
        tiny_bert.write_safetensors(folder / "model.safetensors", named, prefix=prefix)
        own = FIELDS.get(kind, {})
        said = {own.get(field, field): value for field, value in self.config.items()}
        if self.counted:
            said["pad_token_id"] = pad
        (folder / "config.json").write_text(json.dumps(said), encoding="utf-8")

    def name(self, name):
        for ours, theirs in RENAMED.get(self.kind, {}).items():
            if self.kind == "mpnet" or ours != "output.dense" or "attention" not in name:
                name = name.replace(f"{ours}.", f"{theirs}.")
        return name

    def tokens(self, ids, mask=None):
        places = None
        if self.counted:
            places, count = [], 0
            for token in ids:
                count += token != self.padding
                places.append(self.padding + (count if token != self.padding else 0))
        added = None
        if self.kind == "mpnet":
            table = self.weights[BIAS].astype(np.float64)
            size = range(len(ids))
            buckets = [[bucket(there - here) for there in size] for here in size]
            added = table[np.array(buckets)].transpose(2, 0, 1)
        weights = {name: values for name, values in self.weights.items() if name != BIAS}
        return numpy_bert.tokens(weights, self.config, ids, mask, places=places, added=added)


def bucket(distance, groups=32, farthest=128):
    """The group of a distance, by the logarithm in which the paper of T5 gives it."""
    half = groups // 2
    exact = half // 2
    size = abs(distance)
    if size >= exact:
        step = math.log(size / exact) / math.log(farthest / exact) * (half - exact)
        size = min(exact + math.floor(step + 1e-9), half - 1)
    return size + half if distance > 0 else size
