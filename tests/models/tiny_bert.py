"""Small random BERT models in sentence-transformers layout, with a tokenizer of their own."""

import json

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("red", "green", "blue", "cat", "dog", "bird", "sat", "ran", "query", "passage", "é", "好")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789:.,!?'"
VOCABULARY = (*SPECIALS, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS))

CONFIG = {
    "model_type": "bert",
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 48,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}

MODULES = ("Transformer", "Pooling", "Normalize")


def tokenizer(*, lowercase=True):
    ids = {token: at for at, token in enumerate(VOCABULARY)}
    made = Tokenizer(WordPiece(ids, unk_token="[UNK]"))  # noqa: S106 - a token, no password
    made.normalizer = BertNormalizer(lowercase=lowercase, strip_accents=False)
    made.pre_tokenizer = BertPreTokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def weights(config, seed=0):
    """Random tensors, large enough that attention and curves leave their linear part."""
    rng = np.random.default_rng(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]
    made = {}

    def matrix(name, rows, columns):
        made[f"{name}.weight"] = rng.normal(0, 1.5 / np.sqrt(columns), (rows, columns))
        made[f"{name}.bias"] = rng.normal(0, 0.2, rows)

    def norm(name):
        made[f"{name}.weight"] = rng.normal(1, 0.2, width)
        made[f"{name}.bias"] = rng.normal(0, 0.2, width)

    for name, rows in (
        ("word", config["vocab_size"]),
        ("position", config["max_position_embeddings"]),
        ("token_type", config["type_vocab_size"]),
    ):
        made[f"embeddings.{name}_embeddings.weight"] = rng.normal(0, 1, (rows, width))
    norm("embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        here = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            matrix(f"{here}.attention.self.{part}", width, width)
        matrix(f"{here}.attention.output.dense", width, width)
        norm(f"{here}.attention.output.LayerNorm")
        matrix(f"{here}.intermediate.dense", inner, width)
        matrix(f"{here}.output.dense", width, inner)
        norm(f"{here}.output.LayerNorm")
    return {name: values.astype(np.float32) for name, values in made.items()}


def stored(values, dtype):
    """Return the bytes of a tensor, and the float32 they stand for."""
    if dtype == "BF16":
        upper = (values.view(np.uint32) >> 16).astype(np.uint16)
        return upper.tobytes(), (upper.astype(np.uint32) << 16).view(np.float32)
    kept = values.astype({"F32": np.float32, "F16": np.float16, "F64": np.float64}[dtype])
    return kept.tobytes(), kept.astype(np.float32)


def write_safetensors(path, tensors, dtype="F32", prefix=""):
    """Write the format by its definition: length of header, header, data."""
    header, seen, data = {}, {}, b""
    for name, values in tensors.items():
        raw, seen[name] = stored(values, dtype)
        place = [len(data), len(data) + len(raw)]
        header[prefix + name] = {"dtype": dtype, "shape": values.shape, "data_offsets": place}
        data += raw
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)
    return seen


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_folder(
    folder,
    *,
    config=None,
    seed=0,
    dtype="F32",
    prefix="",
    pooling=None,
    normalize=True,
    prompts=None,
    max_seq_length=20,
    lowercase=False,
):
    """Write a model; return its configuration and the float32 weights its file stands for."""
    config = {**CONFIG, **(config or {})}
    folder.mkdir(parents=True, exist_ok=True)
    modules = MODULES if normalize else MODULES[:2]
    write_json(
        folder / "modules.json",
        [
            {
                "idx": at,
                "name": str(at),
                "path": "" if at == 0 else f"{at}_{kind}",
                "type": f"sentence_transformers.models.{kind}",
            }
            for at, kind in enumerate(modules)
        ],
    )
    write_json(folder / "config.json", config)
    write_json(folder / "1_Pooling" / "config.json", pooling or {"pooling_mode_mean_tokens": True})
    write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": max_seq_length, "do_lower_case": lowercase},
    )
    if prompts is not None:
        write_json(folder / "config_sentence_transformers.json", {"prompts": prompts})
    tokenizer(lowercase=not lowercase).save(str(folder / "tokenizer.json"))
    tensors = weights(config, seed)
    return config, write_safetensors(folder / "model.safetensors", tensors, dtype, prefix)
