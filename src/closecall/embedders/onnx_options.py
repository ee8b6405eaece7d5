"""What stands after ``onnx:``: a folder, and how its graph is to be run."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.embedders.onnx_session import CPU, checked_device
from closecall.embedders.prompts import AUTO, POLICIES
from closecall.embedders.spec_options import split_spec, whole_number
from closecall.errors import UsageError

EXAMPLE = "onnx:models/my-export?file=onnx/model_fp16.onnx&device=cuda"

POOLINGS = ("mean", "cls", "lasttoken")
"""How token vectors become a text's, where the graph does not do that itself."""

_NUMBERS = ("dims", "max_tokens", "batch_tokens")
_FLAGS = {"true": True, "false": False}

RUNNING = ("device", "batch_tokens")
"""Options that change no vector; a compiled model takes these only, the rest is on its card."""


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How an exported graph is to be run.

    Parameters
    ----------
    file
        The graph, by its path in the folder; None for ``onnx/model.onnx`` or ``model.onnx``.
    device
        ``cpu``, ``cuda`` or ``cuda:N``.
    pooling, normalize
        ``mean``, ``cls`` or ``lasttoken``, and whether vectors are brought to length 1: for a
        folder without ``modules.json``, which says so itself.
    dims
        Numbers of a vector that are kept, from its first; None for what the model says.
    max_tokens
        A window smaller than the model's; None for the model's.
    prompts
        ``auto``, ``config`` or ``none``; see ``StOptions``.
    batch_tokens
        Most tokens in one run; None for what suits the device. Changes speed and memory only.

    Raises
    ------
    UsageError
        If a value is not allowed.
    """

    file: str | None = None
    device: str = CPU
    pooling: str | None = None
    normalize: bool | None = None
    dims: int | None = None
    max_tokens: int | None = None
    prompts: str = AUTO
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        checked_device(self.device)
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < 1
            ):
                raise UsageError(f"{name} must be a whole number from 1, got {value!r}")
        if self.pooling is not None and self.pooling not in POOLINGS:
            raise UsageError(f"pooling must be one of {', '.join(POOLINGS)}, got {self.pooling!r}")
        if self.normalize not in (None, True, False):
            raise UsageError(f"normalize must be true or false, got {self.normalize!r}")
        if self.prompts not in POLICIES:
            raise UsageError(f"prompts must be one of {', '.join(POLICIES)}, got {self.prompts!r}")


def parse_export(spec: str) -> tuple[str, ExportOptions]:
    """Return the folder and the options of what stands after ``onnx:``.

    Raises
    ------
    UsageError
        If no folder is named, or an option is unknown, given twice or not allowed.
    """
    name, written = split_spec(spec, ExportOptions.__struct_fields__, example=EXAMPLE, kind="onnx")
    if not name:
        raise UsageError(f"onnx: needs a folder, for example onnx:models/my-model or {EXAMPLE}")
    values: dict[str, Any] = {option: _value(option, text) for option, text in written.items()}
    return name, ExportOptions(**values)


def parse_running(spec: str) -> tuple[str, dict[str, Any]]:
    """Return a compiled model's name and how it is run, by the arguments of ``OnnxEmbedder``.

    Raises
    ------
    UsageError
        If an option is unknown, given twice or not allowed.
    """
    name, written = split_spec(spec, RUNNING, example="minilm?device=cuda")
    found = {option: _value(option, text) for option, text in written.items()}
    checked_device(found.get("device", CPU))
    return name, found


def running(options: ExportOptions, folder: str) -> dict[str, Any]:
    """Return how a compiled model is run, by the arguments of ``OnnxEmbedder``.

    Raises
    ------
    UsageError
        If an option is given that its card decides.
    """
    plain = ExportOptions()
    given = [
        name
        for name in ExportOptions.__struct_fields__
        if getattr(options, name) != getattr(plain, name)
    ]
    others = [name for name in given if name not in RUNNING]
    if others:
        raise UsageError(
            f"onnx:{folder}: {', '.join(others)}: a model with a card.toml is run as its card "
            f"says; the options it takes are {', '.join(RUNNING)}"
        )
    return {name: getattr(options, name) for name in given}


def _value(option: str, text: str) -> Any:
    if option in _NUMBERS:
        return whole_number(option, text)
    if option == "normalize":
        return _FLAGS.get(text, text)
    return text
