"""The transformer compiled by torch, with CUDA graphs on a card; only where it is asked for."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from closecall.embedders.st.loaded import Loaded, first_line
from closecall.errors import ConfigurationError, EmbeddingError, ModelError

FURTHEST = {"fp32": 1e-4, "fp16": 2e-2, "bf16": 1e-1}
"""How far a compiled model's vector may lie from the plain one's, of length 1 both: what rounding
alone does in a precision, with room."""

_MOST_SHAPES = 128
_ROW = 12


def compiled(torch: Any, loaded: Loaded, precision: str, *, backend: Any = "inductor") -> Loaded:
    """Return the model with its transformer compiled, one graph a shape.

    Compiling joins steps and so changes the order of roundings, by less than a precision rounds,
    like another device or batch: it is no part of the identity. That is not taken on trust: a
    text is run both ways first.

    Raises
    ------
    ConfigurationError
        If it cannot be compiled here; nothing runs uncompiled in its place.
    ModelError
        If the compiled model makes another vector.
    """
    if "recompile_limit" not in signature(torch.compile).parameters:
        raise ConfigurationError(
            f"compile=true needs a torch that compiles so many shapes (2.13 does), and this is "
            f"{torch.__version__}. Update it, or leave compile out"
        )
    row = np.concatenate([loaded.before, np.arange(_ROW), loaded.after]).astype(np.int32)
    row = row[: loaded.layout.max_tokens]
    plain, _ = loaded.run([row], hidden=False)
    how: dict[str, Any] = {"backend": backend, "dynamic": False, "fullgraph": True}
    if backend == "inductor" and loaded.device.startswith("cuda"):
        how["mode"] = "reduce-overhead"  # CUDA graphs
    model = loaded.modules[0].auto_model
    fast = torch.compile(model.forward, recompile_limit=_MOST_SHAPES, **how)
    calls = 0

    @wraps(model.forward)
    def forward(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return fast(*given, **named)

    # The library calls this method by name, so compiling the module as a whole would do nothing.
    model.forward = forward
    loaded = loaded._replace(compiled=True)
    try:
        found, _ = loaded.run([row], hidden=False)
    except Exception as error:  # compilers raise whatever their parts raise
        told = error.reason if isinstance(error, EmbeddingError) else first_line(error)
        raise ConfigurationError(
            f"{loaded.layout.folder}: torch {torch.__version__} cannot compile it for "
            f"{loaded.device}: {told}. Leave compile=true out"
        ) from error
    if not calls:
        raise ConfigurationError(
            "compile=true: this sentence-transformers does not run the model where it can be "
            "compiled. Leave it out"
        )
    length = float(np.linalg.norm(plain)) or 1.0
    apart = float(np.linalg.norm(found - plain)) / length
    if not apart <= FURTHEST[precision]:
        raise ModelError(
            f"{loaded.layout.folder}: compiled, it makes another vector of the same text "
            f"({apart:.1e} apart, {FURTHEST[precision]:.0e} allowed). Leave compile=true out"
        )
    return loaded
