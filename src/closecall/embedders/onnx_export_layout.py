"""What the folder of an exported graph says of itself: pooling, window, prefixes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from closecall.embedders.onnx_options import POOLINGS, ExportOptions
from closecall.embedders.st.layout import (
    DENSE,
    NORMALIZE,
    POOLING,
    TRANSFORMER,
    Module,
    StLayout,
    read_st_layout,
)
from closecall.embedders.st.trust import require_plain_transformer
from closecall.errors import ModelError, UnsupportedArchitectureError, UsageError
from closecall.models.cards import MOST_DIMS, TOKENIZER_FILE
from closecall.models.families import FAMILIES
from closecall.there import is_file

# These count positions from the padding token's on.
_AFTER_PADDING = (
    "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer",
    "roberta-prelayernorm", "data2vec-text", "ibert", "xmod",
)  # fmt: skip


class ExportLayout(NamedTuple):
    """A folder, read.

    ``pooled``: whether its steps are pooling and perhaps normalising, which can be done here;
    otherwise the graph has to do them. ``first_position`` is that of a text's first token, for
    graphs that want to be told of positions.
    """

    st: StLayout
    pooled: bool
    first_position: int

    @property
    def tokenizer(self) -> Path:
        """Path of the tokenizer."""
        return self.st.transformer / TOKENIZER_FILE


def read_export_layout(folder: Path, model: str, options: ExportOptions) -> ExportLayout:
    """Read the folder of an exported graph.

    Raises
    ------
    UsageError
        If an option says what the folder says itself.
    ModelError
        If a file or field is missing or wrong, or nothing says how vectors are pooled.
    UnsupportedArchitectureError
        If the folder asks for something that is not run.
    """
    modules = _modules(folder, options)
    layout = read_st_layout(
        folder,
        model,
        dims=options.dims,
        max_tokens=options.max_tokens,
        prompts=options.prompts,
        modules=modules,
    )
    if max(layout.hidden, layout.width) > MOST_DIMS:
        raise ModelError(
            f"{layout.transformer / 'config.json'}: hidden_size: vectors of more than "
            f"{MOST_DIMS:,} numbers are not made"
        )
    kinds = [module.kind for module in layout.modules[2:]]
    pooled = DENSE not in kinds and "LayerNorm" not in kinds
    if pooled and layout.pooling not in POOLINGS:
        raise UnsupportedArchitectureError(
            f"{layout.modules[1].folder / 'config.json'}: pooling {layout.pooling!r} is not one "
            f"that is done here ({', '.join(POOLINGS)}); st: does it, with torch"
        )
    path = layout.transformer / TOKENIZER_FILE
    if not is_file(path):
        raise ModelError(
            f"{path}: no such file; the tokenizer is wanted in the format of the tokenizers "
            "library. Save it with AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    config = layout.modules[0].config
    return ExportLayout(layout, pooled, _first_position(config))


def _first_position(config: Mapping[str, Any]) -> int:
    if config.get("model_type") not in _AFTER_PADDING:
        return 0
    family = FAMILIES.get(config["model_type"])
    padding = config.get("pad_token_id") if family is None or family.padding is None else 1
    return (padding if isinstance(padding, int) and padding >= 0 else 1) + 1


def _modules(folder: Path, options: ExportOptions) -> tuple[Module, ...] | None:
    """Return the steps that options say, None where the folder says them itself."""
    given = [name for name in ("pooling", "normalize") if getattr(options, name) is not None]
    if is_file(folder / "modules.json"):
        if given:
            raise UsageError(
                f"{folder}: {' and '.join(given)}: modules.json says that; leave it out, or "
                "change the model's own configuration"
            )
        return None
    if options.pooling is None or options.normalize is None:
        raise ModelError(
            f"{folder}: has no modules.json, so nothing says how token vectors become a text's, "
            "and a wrong guess gives vectors that mean nothing. Its model card says it: write "
            f"pooling ({', '.join(POOLINGS)}) and normalize (true, false) after the folder, as in "
            f"'onnx:{folder}?pooling=mean&normalize=true', or put the modules.json and the "
            "1_Pooling folder of the published model beside config.json"
        )
    steps = [
        Module(TRANSFORMER, folder, require_plain_transformer(folder)),
        Module(POOLING, folder, {"pooling_mode": options.pooling}),
    ]
    if options.normalize:
        steps.append(Module(NORMALIZE, folder, {}))
    return tuple(steps)
