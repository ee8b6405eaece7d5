"""Shape of an encoder, from the ``config.json`` that the transformers library writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from closecall.errors import ModelError, UnsupportedArchitectureError
from closecall.models.config_files import read_object
from closecall.models.families import FAMILIES, Family

ARCHITECTURES = tuple(FAMILIES)
"""Values of ``model_type`` the compiler knows."""

ACTIVATIONS = {
    "gelu": "erf",
    "gelu_python": "erf",
    "gelu_new": "tanh",
    "gelu_fast": "tanh",
    "gelu_pytorch_tanh": "tanh",
}
"""``hidden_act`` of a configuration, and which of the two curves it is."""

RELATIVE_BUCKETS = 32
"""Groups of distances, where attention knows of distances."""


class BertConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Shape of an encoder of BERT's kind, by BERT's names for it."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    hidden_act: str
    layer_norm_eps: float = 1e-12
    type_vocab_size: int = 2
    model_type: str = "bert"
    pad_token_id: int = 0
    relative_attention_num_buckets: int = RELATIVE_BUCKETS

    @property
    def family(self) -> Family:
        """Where the family keeps what."""
        return FAMILIES[self.model_type]

    @property
    def padding(self) -> int:
        """The token that positions do not count, where they are counted."""
        return self.pad_token_id if self.family.padding is None else self.family.padding

    @property
    def first_position(self) -> int:
        """The row of the position table that the first token gets."""
        return self.padding + 1 if self.family.counted else 0

    @property
    def positions(self) -> int:
        """How many tokens, special ones included, the position table has rows for."""
        return self.max_position_embeddings - self.first_position


def read_config(path: Path) -> BertConfig:
    """Read a configuration.

    Raises
    ------
    ModelError
        If the file or a field is missing or wrong; the message names it.
    UnsupportedArchitectureError
        If it asks for something the compiler does not know; the message names it.
    """
    raw = read_object(path)
    kind = raw.get("model_type")
    if kind not in ARCHITECTURES:
        raise UnsupportedArchitectureError(
            f"{path}: model_type {kind!r:.80} is not an architecture the compiler knows "
            f"({', '.join(ARCHITECTURES)})"
        )
    wanted = {
        "position_embedding_type": ("absolute", "absolute"),
        "is_decoder": (False, "false"),
        "add_cross_attention": (False, "false"),
    }
    for field, (value, spelling) in wanted.items():
        if raw.get(field, value) != value:
            raise UnsupportedArchitectureError(
                f"{path}: {field} is {raw[field]!r:.80}; the compiler knows {spelling} only"
            )
    config = _converted(path, raw, FAMILIES[kind])
    if config.hidden_act not in ACTIVATIONS:
        raise UnsupportedArchitectureError(
            f"{path}: hidden_act {config.hidden_act!r:.80} is not an activation the compiler "
            f"knows ({', '.join(ACTIVATIONS)})"
        )
    _require_sound(path, config)
    return config


def _require_sound(path: Path, config: BertConfig) -> None:
    """Refuse numbers that no encoder has."""
    for field in BertConfig.__struct_fields__:
        value = getattr(config, field)
        if field != "pad_token_id" and not isinstance(value, str) and not value > 0:
            name = config.family.fields.get(field, field)
            raise ModelError(f"{path}: {name}: must be positive, got {value}")
    if not config.layer_norm_eps < 1:  # one that outweighs what it is added to levels all texts
        raise ModelError(f"{path}: layer_norm_eps: must be below 1, got {config.layer_norm_eps}")
    if not 0 <= config.pad_token_id < config.vocab_size:
        raise ModelError(
            f"{path}: pad_token_id: must be one of the {config.vocab_size} tokens, got "
            f"{config.pad_token_id}"
        )
    if config.relative_attention_num_buckets != RELATIVE_BUCKETS:
        raise UnsupportedArchitectureError(
            f"{path}: relative_attention_num_buckets is {config.relative_attention_num_buckets}; "
            f"the compiler knows {RELATIVE_BUCKETS} only"
        )
    if config.hidden_size % config.num_attention_heads:
        raise ModelError(
            f"{path}: hidden_size {config.hidden_size} is not a multiple of "
            f"num_attention_heads {config.num_attention_heads}"
        )


def _converted(path: Path, raw: dict[str, Any], family: Family) -> BertConfig:
    """Return a configuration by BERT's names, whatever the family calls things."""
    own = {name: field for field, name in family.fields.items()}
    renamed = {own.get(name, name): value for name, value in raw.items()}
    # Null is how configurations spell that nothing is said.
    said = {name: value for name, value in renamed.items() if value is not None}
    try:
        return msgspec.convert({**family.defaults, **said}, BertConfig, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter of half a letter
        message = str(error)
        for field, name in family.fields.items():
            message = message.replace(f"`{field}`", f"`{name}`").replace(f".{field}`", f".{name}`")
        raise ModelError(f"{path}: {message}") from error
