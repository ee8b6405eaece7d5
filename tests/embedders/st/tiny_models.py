"""Random models of several architectures, small enough to be made anew for a test."""

import json
import random

import tiny_bert
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE, Unigram
from tokenizers.processors import TemplateProcessing

WORDS = (
    "red",
    "green",
    "blue",
    "cat",
    "dog",
    "bird",
    "sat",
    "ran",
    "ein",
    "42",
    "x7",
    "Cat",
    "好",
    "é",
)
TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "model_max_length": 48,
}


_POOLING_KEYS = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens"}


def texts(count, seed=0, most=14):
    """Texts of 0 to ``most`` words, some of them unknown to the models."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choices((*WORDS, "§", "zebra!"), k=draw.randint(0, most)))
        for _ in range(count)
    ]


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def edit_json(path, **changes):
    raw = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, {**raw, **changes})


def bert(folder, *, pooling="mean", tokenizer=None, **options):
    """Write the tiny BERT with what the library needs beside it; return its folder."""
    width = tiny_bert.CONFIG["hidden_size"]
    said = {"word_embedding_dimension": width, "pooling_mode": pooling}
    if isinstance(pooling, list):  # several are spelled in a way that all versions read
        del said["pooling_mode"]
        said |= {_POOLING_KEYS[mode]: True for mode in pooling}
    tiny_bert.write_folder(folder, pooling=said, **options)
    say_pytorch(folder / "model.safetensors")
    write_json(folder / "tokenizer_config.json", {**TOKENIZER, **(tokenizer or {})})
    return folder


def say_pytorch(path):
    """Add the note of the format that older libraries want in a file of weights."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = {"__metadata__": {"format": "pt"}, **json.loads(raw[8 : 8 + length])}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + raw[8 + length :])


def modules(folder, *kinds):
    """Write modules.json for classes after the transformer and the pooling."""
    listed = ["Transformer", "Pooling", *kinds]
    write_json(
        folder / "modules.json",
        [
            {
                "idx": at,
                "name": str(at),
                "path": "" if at == 0 else f"{at}_{kind}",
                "type": f"sentence_transformers.models.{kind}",
            }
            for at, kind in enumerate(listed)
        ],
    )
    return folder


def dense(folder, inner, outer, at=2, seed=5):
    """Write a dense layer after the pooling."""
    import numpy as np

    draw = np.random.default_rng(seed)
    place = folder / f"{at}_Dense"
    write_json(
        place / "config.json",
        {
            "in_features": inner,
            "out_features": outer,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        },
    )
    weights = {
        "linear.weight": draw.normal(0, 1, (outer, inner)).astype(np.float32),
        "linear.bias": draw.normal(0, 1, outer).astype(np.float32),
    }
    tiny_bert.write_safetensors(place / "model.safetensors", weights)


def _transformers(folder, model, tokenizer, specials, *, pooling, longest, normalize=True):
    folder.mkdir(parents=True)
    model.eval().save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": longest, **specials},
    )
    modules(folder, *(["Normalize"] if normalize else []))
    width = model.config.hidden_size
    said = {"word_embedding_dimension": width, "pooling_mode": pooling}
    write_json(folder / "1_Pooling" / "config.json", said)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": longest})
    return folder


def _seeded(make):
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model = make()
        for parameter in model.parameters():
            # Large enough that attention and curves leave their linear part.
            torch.nn.init.normal_(parameter, 0.0, 0.4)
    return model


def mpnet(folder):
    """Relative attention, positions from 2 on, no token types.

    The library counts positions after 1 whatever pads, so 34 of them are room for 32 tokens.
    """
    from transformers import MPNetConfig, MPNetModel

    config = MPNetConfig(
        vocab_size=len(tiny_bert.VOCABULARY), hidden_size=24, num_hidden_layers=2,
        num_attention_heads=3, intermediate_size=40, max_position_embeddings=34, pad_token_id=0,
        bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    model = _seeded(lambda: MPNetModel(config))
    specials = {k: v for k, v in TOKENIZER.items() if k.endswith("_token")}
    return _transformers(folder, model, tiny_bert.tokenizer(), specials, pooling="cls", longest=32)


def xlm_roberta(folder):
    """A unigram tokenizer that counts the space before a word as part of it."""
    from transformers import XLMRobertaConfig, XLMRobertaModel

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *(f"▁{word}" for word in WORDS)]
    pieces += list(tiny_bert.LETTERS)
    made = Tokenizer(Unigram([(piece, -float(at)) for at, piece in enumerate(pieces)], unk_id=3))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    config = XLMRobertaConfig(
        vocab_size=len(pieces), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=40, max_position_embeddings=34, pad_token_id=1, bos_token_id=0,
        eos_token_id=2, type_vocab_size=1,
    )  # fmt: skip
    specials = {
        "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>",
        "cls_token": "<s>", "sep_token": "</s>",
    }  # fmt: skip
    model = _seeded(lambda: XLMRobertaModel(config))
    return _transformers(folder, model, made, specials, pooling="mean", longest=32)


def decoder(folder):
    """Causal attention, rotary positions, bytes as tokens, pooling over the last token."""
    from transformers import Qwen2Config, Qwen2Model

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(BPE({letter: at for at, letter in enumerate([*letters, "<end>"])}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<end>"])
    made.post_processor = TemplateProcessing(
        single="$A <end>", special_tokens=[("<end>", len(letters))]
    )
    config = Qwen2Config(
        vocab_size=len(letters) + 1, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        num_key_value_heads=3, intermediate_size=40, max_position_embeddings=64,
        bos_token_id=len(letters), eos_token_id=len(letters),
    )  # fmt: skip
    specials = {"eos_token": "<end>", "pad_token": "<end>", "padding_side": "left"}
    specials["model_input_names"] = ["input_ids", "attention_mask"]
    model = _seeded(lambda: Qwen2Model(config))
    return _transformers(folder, model, made, specials, pooling="lasttoken", longest=40)
