"""What stands after ``st:``: a folder or a model's name, and options like those of an address."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from closecall.embedders.prompts import AUTO, POLICIES
from closecall.embedders.spec_options import split_spec, whole_number
from closecall.errors import UsageError

PRECISIONS = ("fp32", "fp16", "bf16")
EXAMPLE = "st:models/my-model?dims=256&precision=bf16&device=cuda"

_NUMBERS = ("dims", "max_tokens", "batch_tokens")
_SWITCH = {"true": True, "false": False}
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")


class StOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is to be run.

    Parameters
    ----------
    dims
        Numbers of a vector that are kept, from its first; None for what the model says.
    precision
        ``fp32``, ``fp16`` or ``bf16``: how the transformer computes. What follows it (pooling
        and the like) is computed in float32.
    max_tokens
        A window smaller than the model's; None for the model's.
    prompts
        ``auto``: prefixes of the configuration, else of the family's card. ``config``: of the
        configuration only. ``none``: no prefixes.
    revision
        Branch, tag or commit of a cached model; empty for ``main``.
    device
        ``auto`` (cuda, else mps, else cpu), ``cpu``, ``mps``, ``cuda`` or ``cuda:N``.
    batch_tokens
        Most tokens in one pass, padding included; None for what suits the device. Changes speed
        and memory only.
    compile
        Whether torch compiles the transformer, with CUDA graphs on a card: minutes at the first
        texts, once for each of some 30 shapes of batches, for faster passes after that. Not part
        of the identity: a vector moves by less than its precision, which is tried out first.

    Raises
    ------
    UsageError
        If a value is not allowed.
    """

    dims: int | None = None
    precision: str = "fp32"
    max_tokens: int | None = None
    prompts: str = AUTO
    revision: str = ""
    device: str = "auto"
    batch_tokens: int | None = None
    compile: bool = False

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int) or value < 1
            ):
                raise UsageError(f"{name} must be a whole number from 1, got {value!r}")
        for name, allowed in (("precision", PRECISIONS), ("prompts", POLICIES)):
            if getattr(self, name) not in allowed:
                raise UsageError(
                    f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}"
                )
        if not isinstance(self.compile, bool):
            raise UsageError(f"compile must be true or false, got {self.compile!r}")
        if not _DEVICE.fullmatch(self.device):
            raise UsageError(f"device must be auto, cpu, mps, cuda or cuda:N, got {self.device!r}")


def parse_spec(spec: str) -> tuple[str, StOptions]:
    """Return the model and the options of what stands after ``st:``.

    Options follow a question mark and are parted by ``&``; a folder whose name has a question
    mark is taken by its whole name.

    Raises
    ------
    UsageError
        If no model is named, or an option is unknown, given twice or not allowed.
    """
    name, given = split_spec(spec, StOptions.__struct_fields__, example=EXAMPLE, kind="st")
    if not name:
        raise UsageError(
            f"st: needs a folder or the name of a cached model, for example {EXAMPLE}"
        )
    values: dict[str, Any] = {
        option: whole_number(option, text)
        if option in _NUMBERS
        else _SWITCH.get(text, text)
        if option == "compile"
        else text
        for option, text in given.items()
    }
    return name, StOptions(**values)
