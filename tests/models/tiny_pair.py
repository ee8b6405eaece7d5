"""A small random pair model and the small model whose words it reads, as folders of the libraries."""

import sys
from pathlib import Path

import numpy as np
import tiny_bert
from tokenizers.processors import TemplateProcessing

from closecall.models.compiler import Naming, compile_folder

# At the end: models/ holds a build.py, and there is a package of that name.
sys.path.append(str(Path(__file__).parents[2] / "models"))

CONFIG = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
}
"""Wide enough that matrices are stored in 8 bits."""

SAMPLES = (
    ("the red cat sat", "red cat"),
    ("blue bird ran query", "the dog ran"),
    ("a", "b"),
    ("green dog, blue bird", "好 cat sat! é"),
)


def write(folder, *, seed=0, config=None):
    """Write ``words`` (compiled) and ``trained`` under a folder; return the config and weights."""
    config, encoder = tiny_bert.write_folder(
        folder / "words-source", config={**CONFIG, **(config or {})}
    )
    made = tiny_bert.tokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    made.save(str(folder / "words-source" / "tokenizer.json"))
    compile_folder(folder / "words-source", folder / "words", Naming(name="words"), storage="fp16")
    (folder / "words" / "LICENSE").write_text("a licence\n", encoding="utf-8")
    words = encoder["embeddings.word_embeddings.weight"].astype(np.float16).astype(np.float32)
    trained = {**tiny_bert.weights(config, seed + 1), "embeddings.word_embeddings.weight": words}
    rng = np.random.default_rng(seed + 2)
    width = config["hidden_size"]
    trained["pooler.dense.weight"] = rng.normal(0, 1.5 / np.sqrt(width), (width, width))
    trained["pooler.dense.bias"] = rng.normal(0, 0.2, width)
    head = {
        "classifier.weight": rng.normal(0, 2 / np.sqrt(width), (1, width)),
        "classifier.bias": rng.normal(0, 0.2, 1),
    }
    return config, write_trained(folder / "trained", config, trained, head)


def write_trained(folder, config, encoder, head):
    """Write a folder of the transformers library; return its tensors as they were written."""
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    architecture = {"architectures": ["BertForSequenceClassification"]}
    tiny_bert.write_json(folder / "config.json", {**config, **labels, **architecture})
    named = {f"bert.{name}": values for name, values in encoder.items()} | head
    tensors = {name: np.asarray(values, dtype=np.float32) for name, values in named.items()}
    return tiny_bert.write_safetensors(folder / "model.safetensors", tensors)
