"""What feeding a card ahead of time, padding to few lengths and compiling bring; for ``gpu.py``.

One model of sentence-transformers, the same texts, one row for each way. ``busy`` is the share of
the time in which the device computes, from the profiler's sum over its kernels; the rest it waits.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import texts as made_up
from gpu_notes import Clock, MissingError, Notes, tried

from closecall.embedders.st.embedder import StEmbedder
from closecall.embedders.st.flow import CARD, PLAIN, Flow
from closecall.embedders.st.options import StOptions

ROUNDS = 3
PRECISIONS = ("fp16", "fp32", "bf16")
FEEDING_BOUND = {"fp32": 1e-5, "fp16": 2e-2, "bf16": 1e-1}
"""How far the same weights in the same precision may move a number of a vector of length 1."""


class Way(NamedTuple):
    """A way of running a model; ``compiled``: with CUDA graphs, some 30 shapes, minutes."""

    name: str
    flow: Flow
    compiled: bool = False


WAYS = (
    Way("plain", PLAIN),
    Way("lengths of 8", Flow(multiple=8)),
    Way("lengths of 16", Flow(multiple=16)),
    Way("overlap", CARD._replace(multiple=1)),
    Way("as shipped", CARD),
    Way("few shapes", CARD._replace(few=True)),
    Way("compile=true", CARD, compiled=True),
)


class Measured(NamedTuple):
    """Seconds of the rounds, tokens of all texts, vectors, and the share the device is busy."""

    seconds: list[float]
    tokens: int
    vectors: Any
    busy: float | str

    @property
    def middle(self) -> float:
        return statistics.median(self.seconds)


def measure(
    folder: Path, way: Way, precision: str, device: str, sets: dict[str, Sequence[str]]
) -> dict[str, Measured]:
    """Return what each set of texts takes, by its name; loads the model once."""
    options = StOptions(device=device, precision=precision, compile=way.compiled)
    embedder = StEmbedder(folder, options, flow=way.flow)
    found = {}
    for name, texts in sets.items():
        counted = embedder.embed_counted(texts)
        rounds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            embedder.embed(texts)
            rounds.append(time.perf_counter() - start)
        tokens = sum(one.seen for one in counted.tokens)
        found[name] = Measured(rounds, tokens, counted.vectors, busy(embedder, texts))
    return found


def busy(embedder: StEmbedder, texts: Sequence[str]) -> float | str:
    """Return the share of the time in which the card computes, 0 to 1, or why it is not known."""
    import torch

    if not embedder.device.startswith("cuda"):
        return "the device is no card"
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            start = time.perf_counter()
            embedder.embed(texts)
            torch.cuda.synchronize(embedder.device)
            whole = time.perf_counter() - start
        kernels = [
            event.self_device_time_total
            for event in profiled.key_averages()
            if not event.key.lower().startswith(("memcpy", "memset"))
        ]
    except (RuntimeError, AttributeError) as error:
        return f"the profiler failed: {str(error).partition(chr(10))[0]}"
    if not sum(kernels):
        return "the profiler saw no kernel"
    return min(1.0, sum(kernels) / 1e6 / whole)


def report(found: Measured, plain: Measured, count: int) -> dict[str, Any]:
    """Return a row of the table; ``plain`` is the same texts, fed one batch after another."""
    same = float(np.abs(found.vectors - plain.vectors).max())
    told: dict[str, Any] = {
        "texts": count,
        "seconds": found.seconds,
        "texts_per_second": count / found.middle,
        "tokens_per_second": found.tokens / found.middle,
        "times_plain": plain.middle / found.middle,
        "largest_difference": same,
    }
    if isinstance(found.busy, str):
        told["busy_not_measured"] = found.busy
    else:
        told["busy"] = found.busy
    return told


def feeding(
    folder: Path | None, clock: Clock, notes: Notes, *, quick: bool
) -> list[dict[str, Any]]:
    """Print and return what each way of feeding the card is worth, against none of them."""
    print("feeding a model of sentence-transformers (median of rounds; times as plain):")
    sizes = (40, 10) if quick else (20_000, 4000)
    sets = {"short": made_up.short(sizes[0]), "long": made_up.long(sizes[1])}
    device = "cpu" if quick else "cuda"
    missing = "no --weights were given" if folder is None else ""
    if importlib.util.find_spec("torch") is None:
        missing = "torch is not installed"
    if missing:
        print(f"  all ways: not measured {notes.mark(missing)}\n")
        return [{"way": "all", "not_measured": missing}]
    results: list[dict[str, Any]] = []
    plain: dict[str, dict[str, Measured]] = {}
    failed: dict[str, str] = {}
    kinds = ("fp32",) if quick else PRECISIONS
    every = [(way, kind) for way in WAYS for kind in kinds]
    # Ways of one precision together; those that are compiled last, as they take the longest.
    for way, precision in sorted(every, key=lambda one: (one[0].compiled, kinds.index(one[1]))):
        found: dict[str, Measured] = {}

        def run(way: Way = way, found: Any = found, precision: str = precision) -> None:
            if quick and way.compiled:
                raise MissingError("compiling takes minutes; not with --quick")
            if precision in failed:  # nothing to compare with
                raise MissingError(failed[precision])
            found.update(measure(folder, way, precision, device, sets))

        reason = tried(run, clock)
        entry = {"way": way.name, "precision": precision, "device": device}
        if reason:
            if way is WAYS[0]:
                failed[precision] = reason
            results.append({**entry, "not_measured": reason})
            print(f"  {precision:5}{way.name:14} not measured {notes.mark(reason)}")
            continue
        plain.setdefault(precision, found)
        for name, texts in sets.items():
            told = report(found[name], plain[precision][name], len(texts))
            told["agrees"] = told["largest_difference"] <= FEEDING_BOUND[precision]
            results.append({**entry, "set": name, **told})
            part = f"{told['busy']:.0%}" if "busy" in told else "-"
            print(
                f"  {precision:5}{way.name:14}{name:6}{told['texts_per_second']:>12,.0f} "
                f"texts/s {told['times_plain']:6.2f} x, busy {part}, largest difference "
                f"{told['largest_difference']:.1e}"
                f"{'' if told['agrees'] else ': FURTHER THAN ITS PRECISION ALLOWS'}",
                flush=True,
            )
    print()
    return results
