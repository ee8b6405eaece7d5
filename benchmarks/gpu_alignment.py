"""Matching tokens on a device against numpy on the host; a part of ``gpu.py``.

closecall matches with numpy only. This says what a device could save of it: ``sent`` brings the
token vectors of a batch of cases there, as it would have to where they were checked and kept on
the host; ``there`` finds them on the device already, the most that could be had; ``numpy`` is
what closecall does; ``whole`` is all that measuring a case takes once its texts are embedded,
matching included.
"""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import texts as made_up
from gpu_notes import Clock, MissingError, Notes, tried

from closecall.embedders.base import Embedded, Pieces, TextKey
from closecall.metrics.alignment.answer import AnswerAlignment
from closecall.metrics.alignment.context import ContextAlignment
from closecall.metrics.alignment.matching import best_matches
from closecall.records import Case, Role

WIDTH = 384
FURTHEST = 1e-5
"""How far a cosine of the device may lie from numpy's."""

BATCH = 64
ROUNDS = 3


class Pair(NamedTuple):
    """Token vectors of one text, and those of the texts it is looked for in."""

    tokens: Any
    others: list[Any]


class Work(NamedTuple):
    """Cases of one length, with made-up token vectors: a pair each, and how to measure them."""

    name: str
    pairs: list[Pair]
    measure: Callable[[], None]


def works(count: int) -> list[Work]:
    """Return cases: a sentence each, a passage for its reference, a passage among five."""
    short, long = made_up.short(2 * count), made_up.long(6 * count)
    sentences = [
        Case(id=f"{at}", response=short[2 * at], references=(short[2 * at + 1],))
        for at in range(count)
    ]
    passages = [
        Case(id=f"{at}", response=long[2 * at], references=(long[2 * at + 1],))
        for at in range(count)
    ]
    contexts = [
        Case(id=f"{at}", response=long[6 * at], context=tuple(long[6 * at + 1 : 6 * at + 6]))
        for at in range(max(2, count // 4))
    ]
    return [
        _work("sentences", sentences, AnswerAlignment()),
        _work("passages", passages, AnswerAlignment()),
        _work("in five passages", contexts, ContextAlignment()),
    ]


def _work(name: str, cases: list[Case], metric: Any) -> Work:
    draw = np.random.default_rng(3)
    lookup: dict[TextKey, Embedded] = {}
    pairs = []
    for case in cases:
        keys = metric.texts(case)
        for key in keys:
            spans = tuple(match.span() for match in re.finditer(r"\w+|[^\w\s]", key.text))
            rows = draw.standard_normal((len(spans), WIDTH), dtype=np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            lookup[key] = Embedded(rows[0], None, Pieces(rows, spans))
        own = [lookup[TextKey(key.text, Role.TEXT, pieces=True)].pieces.vectors for key in keys]
        # The reference is looked for in the response, and the response in its context.
        pairs.append(Pair(own[0], own[1:]) if case.references else Pair(own[-1], own[:-1]))

    def measure() -> None:
        for case in cases:
            metric.measure(case, lookup)

    return Work(name, pairs, measure)


def by_numpy(pairs: Sequence[Pair]) -> list[tuple[Any, Any]]:
    """Return the best match of each token, and which text has it, as closecall finds them."""
    return [best_matches(pair.tokens, pair.others) for pair in pairs]


class Batch(NamedTuple):
    """Padded token vectors on a device; ``whose`` is the text of each token, -1 for padding."""

    tokens: Any
    others: Any
    whose: Any


def brought(torch: Any, pairs: Sequence[Pair], device: str) -> Batch:
    """Return pairs as one padded batch on a device."""
    joined = [np.concatenate(pair.others) for pair in pairs]
    size = max(len(pair.tokens) for pair in pairs), max(len(one) for one in joined)
    tokens = np.zeros((len(pairs), size[0], WIDTH), dtype=np.float32)
    others = np.zeros((len(pairs), size[1], WIDTH), dtype=np.float32)
    whose = np.full((len(pairs), size[1]), -1, dtype=np.int64)
    for at, (pair, one) in enumerate(zip(pairs, joined, strict=True)):
        tokens[at, : len(pair.tokens)] = pair.tokens
        others[at, : len(one)] = one
        lengths = [len(other) for other in pair.others]
        whose[at, : len(one)] = np.repeat(np.arange(len(lengths)), lengths)
    sent = [torch.from_numpy(array) for array in (tokens, others, whose)]
    if device.startswith("cuda"):
        sent = [tensor.pin_memory() for tensor in sent]
    return Batch(*(tensor.to(device, non_blocking=True) for tensor in sent))


def on_device(torch: Any, batch: Batch, pairs: Sequence[Pair]) -> list[tuple[Any, Any]]:
    """Return what ``by_numpy`` does; of all cosines only the best come back."""
    with torch.inference_mode():
        cosines = torch.bmm(batch.tokens, batch.others.transpose(1, 2))
        cosines.masked_fill_((batch.whose < 0)[:, None, :], float("-inf"))
        best, at = cosines.max(dim=2)
        whose = batch.whose.gather(1, at)
        best, whose = best.clamp(max=1).cpu().numpy(), whose.cpu().numpy()
    return [
        (best[row, : len(pair.tokens)], whose[row, : len(pair.tokens)])
        for row, pair in enumerate(pairs)
    ]


def compare(
    work: Work, device: str, timed: Callable[[Callable[[], Any]], float]
) -> dict[str, Any]:
    """Return microseconds a case of each way, and how far the device's cosines lie apart.

    Whose token is best may differ where two texts have nearly the same cosine; ``ties`` counts
    those.
    """
    import torch

    groups = [work.pairs[at : at + BATCH] for at in range(0, len(work.pairs), BATCH)]
    there = [brought(torch, group, device) for group in groups]
    wanted = by_numpy(work.pairs)
    found = [
        one
        for batch, group in zip(there, groups, strict=True)
        for one in on_device(torch, batch, group)
    ]
    pairs = list(zip(wanted, found, strict=True))
    ways: dict[str, Callable[[], Any]] = {
        "numpy": lambda: by_numpy(work.pairs),
        "sent": lambda: [on_device(torch, brought(torch, one, device), one) for one in groups],
        "there": lambda: [
            on_device(torch, batch, one) for batch, one in zip(there, groups, strict=True)
        ],
        "whole": work.measure,
    }
    return {
        "cases": len(work.pairs),
        "furthest": max(float(np.abs(a[0] - b[0]).max()) for a, b in pairs),
        "ties": sum(int((a[1] != b[1]).sum()) for a, b in pairs),
        "microseconds_a_case": {
            name: 1e6 * timed(way) / len(work.pairs) for name, way in ways.items()
        },
    }


def median_seconds(way: Callable[[], Any]) -> float:
    """Return the median of three rounds after one that is not timed."""
    way()
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        way()
        rounds.append(time.perf_counter() - start)
    return sorted(rounds)[ROUNDS // 2]


def alignment(clock: Clock, notes: Notes, *, quick: bool) -> list[dict[str, Any]]:
    """Print and return what matching tokens takes, by numpy and on the card."""
    device = "cpu" if quick else "cuda"
    print(f"matching tokens, microseconds a case (numpy on the host; {device}):")
    results = []
    for work in works(8 if quick else 512):
        entry: dict[str, Any] = {"cases_of": work.name, "device": device}
        results.append(entry)

        def run(work=work, entry=entry) -> None:
            if importlib.util.find_spec("torch") is None:
                raise MissingError("torch is not installed")
            import torch

            if device == "cuda" and not torch.cuda.is_available():
                raise MissingError(f"torch {torch.__version__} finds no card here")
            entry.update(compare(work, device, median_seconds))

        reason = tried(run, clock)
        if reason:
            entry["not_measured"] = reason
            print(f"  {work.name:18} not measured {notes.mark(reason)}")
            continue
        entry["agrees"] = entry["furthest"] <= FURTHEST
        took = entry["microseconds_a_case"]
        print(
            f"  {work.name:18} numpy {took['numpy']:,.0f}, sent there {took['sent']:,.0f}, there "
            f"already {took['there']:,.0f}, the whole of measuring {took['whole']:,.0f}; largest "
            f"difference {entry['furthest']:.1e}"
            f"{'' if entry['agrees'] else ': FURTHER THAN ALLOWED'}"
        )
    print()
    return results
