"""The families of encoders the compiler knows, as data: where each keeps what.

All of them compute what BERT computes, with three differences: how positions are counted, whether
tokens have types, and whether attention knows how far two tokens are apart. The names are those
of the transformers library's checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Names(NamedTuple):
    """What a checkpoint calls its parts, ``.weight`` and ``.bias`` left out.

    Those from ``query`` on stand within a layer, whose own name is ``layer`` and its number.
    """

    layer: str = "encoder.layer"
    words: str = "embeddings.word_embeddings"
    positions: str = "embeddings.position_embeddings"
    types: str = "embeddings.token_type_embeddings"
    norm: str = "embeddings.LayerNorm"
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    mixed: str = "attention.output.dense"
    mixed_norm: str = "attention.output.LayerNorm"
    widened: str = "intermediate.dense"
    narrowed: str = "output.dense"
    norm_out: str = "output.LayerNorm"


class Family(NamedTuple):
    """A family.

    Parameters
    ----------
    prefix
        What checkpoints of a model with a head put before every name.
    names
        What the parts are called.
    fields
        The configuration's name for a value, where it is not BERT's.
    defaults
        Values that a configuration may leave out.
    counted
        Whether positions count the tokens that are not padding, from one after the padding
        token's id on. Otherwise they are 0, 1, 2, ...
    padding
        The padding token's id in that count, whatever the configuration says; None for the
        configuration's.
    typed
        Whether tokens have types.
    relative
        The table of what distances add to attention; None where they add nothing.
    """

    prefix: str
    names: Names = Names()
    fields: Mapping[str, str] = {}
    defaults: Mapping[str, int | float] = {}
    counted: bool = False
    padding: int | None = None
    typed: bool = True
    relative: str | None = None


_ROBERTA = Family(
    prefix="roberta.", defaults={"pad_token_id": 1, "layer_norm_eps": 1e-12}, counted=True
)

FAMILIES: Mapping[str, Family] = {
    "bert": Family(prefix="bert."),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "mpnet": Family(
        prefix="mpnet.",
        names=Names(
            query="attention.attn.q",
            key="attention.attn.k",
            value="attention.attn.v",
            mixed="attention.attn.o",
            mixed_norm="attention.LayerNorm",
        ),
        defaults={"layer_norm_eps": 1e-12},
        counted=True,
        padding=1,
        typed=False,
        relative="encoder.relative_attention_bias",
    ),
    "distilbert": Family(
        prefix="distilbert.",
        names=Names(
            layer="transformer.layer",
            query="attention.q_lin",
            key="attention.k_lin",
            value="attention.v_lin",
            mixed="attention.out_lin",
            mixed_norm="sa_layer_norm",
            widened="ffn.lin1",
            narrowed="ffn.lin2",
            norm_out="output_layer_norm",
        ),
        fields={
            "hidden_size": "dim",
            "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads",
            "intermediate_size": "hidden_dim",
            "hidden_act": "activation",
        },
        typed=False,
    ),
}
"""By the ``model_type`` of a configuration."""
