"""Training: the bundled encoder, its word table frozen, as a model of pairs.

Batches are of like lengths, in an order that the seed and the epoch decide, so a run that was
stopped goes on at its last checkpoint with the very batches it would have had. Each core is a
process with its share of every batch: much of a small model's work does not spread over threads.
The learning rate rises over the first tenth of the steps and falls in a straight line to nothing;
then once more over what passes are left (a warm restart: Loshchilov and Hutter 2017).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import distributed
from torch.nn.functional import binary_cross_entropy_with_logits

from pair.rows import Row


class Plan(NamedTuple):
    """What a training run is decided by, apart from its rows and its start."""

    seed: int
    epochs: int = 2
    again: int = 1
    """Passes after these, in which the rate rises and falls once more."""
    tokens: int = 2048
    """Of a batch, padding counted; fewer make the optimiser the larger part of the work."""
    rows: int = 96
    rate: float = 1e-4
    smoothing: float = 0.03
    decay: float = 0.01
    warm: float = 0.1
    bucket: int = 3200
    """Rows that are sorted by length together."""


class Coded(NamedTuple):
    """Rows as token ids: ids and segments of each, and its label."""

    ids: list[list[int]]
    types: list[list[int]]
    labels: list[float]


def coded(rows: Sequence[Row], tokenizer: Any) -> Coded:
    """Return rows as the model reads them; none is cut."""
    found = tokenizer.encode_batch([(row.first, row.response) for row in rows])
    return Coded(
        [one.ids for one in found],
        [one.type_ids for one in found],
        [float(row.accept) for row in rows],
    )


def batches(data: Coded, plan: Plan, epoch: int) -> list[list[int]]:
    """Return the rows of each batch of an epoch, by number."""
    rng = Random(f"{plan.seed} {epoch}")
    order = list(range(len(data.ids)))
    rng.shuffle(order)
    found: list[list[int]] = []
    for start in range(0, len(order), plan.bucket):
        block = sorted(order[start : start + plan.bucket], key=lambda at: (len(data.ids[at]), at))
        batch: list[int] = []
        for at in block:
            width = len(data.ids[at])
            if batch and (len(batch) == plan.rows or (len(batch) + 1) * width > plan.tokens):
                found.append(batch)
                batch = []
            batch.append(at)
        found.append(batch)
    rng.shuffle(found)
    return found


def padded(data: Coded, rows: Sequence[int]) -> dict[str, torch.Tensor]:
    """Return ids, segments and mask of a batch, each int64 (n, s)."""
    width = max(len(data.ids[at]) for at in rows)
    fields = {
        "input_ids": [data.ids[at] for at in rows],
        "token_type_ids": [data.types[at] for at in rows],
        "attention_mask": [[1] * len(data.ids[at]) for at in rows],
    }
    return {
        name: torch.tensor([row + [0] * (width - len(row)) for row in values])
        for name, values in fields.items()
    }


def logits(model: Any, data: Coded, size: int = 64) -> np.ndarray:
    """Return the model's logit of each row, float64 (n,)."""
    model.eval()
    found = np.zeros(len(data.ids))
    order = sorted(range(len(data.ids)), key=lambda at: len(data.ids[at]))
    with torch.inference_mode():
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            found[rows] = model(**padded(data, rows)).logits[:, 0].double().numpy()
    model.train()
    return found


def rate_at(plan: Plan, step: int, turn: int, steps: int) -> float:
    """Return the learning rate of a step of so many, counted from 1.

    ``turn`` is the last step of the first passes; it and the last of all have the rate 0.
    """
    share = step / turn if step <= turn else (step - turn) / (steps - turn)
    return plan.rate * min(share / plan.warm, (1 - share) / (1 - plan.warm))


class Trainer:
    """A run of training that keeps a checkpoint it can go on from."""

    def __init__(self, model: Any, data: Coded, plan: Plan, folder: Path) -> None:
        self.model, self._data, self._plan = model, data, plan
        self._file = folder / "checkpoint.pt"
        model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        plain, decayed = [], []
        for parameter in model.parameters():
            if parameter.requires_grad:
                (decayed if parameter.ndim > 1 else plain).append(parameter)
        self._optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": plan.decay},
                {"params": plain, "weight_decay": 0.0},
            ],
            lr=plan.rate,
            fused=True,
        )
        self._trained = [*decayed, *plain]
        self._ranks = distributed.get_world_size() if distributed.is_initialized() else 1
        self._rank = distributed.get_rank() if self._ranks > 1 else 0
        steps = [len(batches(data, plan, epoch)) for epoch in range(plan.epochs + plan.again)]
        self._turn, self.steps = sum(steps[: plan.epochs]), sum(steps)
        self.done = 0

    def resume(self) -> None:
        """Go on from the checkpoint, where there is one of the same plan and rows."""
        if not self._file.exists():
            return
        kept = torch.load(self._file, weights_only=True)
        if kept["plan"] != json.dumps(self._plan) or kept["rows"] != len(self._data.ids):
            raise SystemExit(f"{self._file}: of another run; name another folder")
        self.model.load_state_dict(kept["model"])
        self._optimizer.load_state_dict(kept["optimizer"])
        torch.set_rng_state(kept["random"])
        self.done = kept["done"]

    def save(self) -> None:
        """Write the checkpoint, by the first process; it appears whole or not at all."""
        if self._rank:
            return
        beside = self._file.with_suffix(".new")
        torch.save(
            {
                "plan": json.dumps(self._plan),
                "rows": len(self._data.ids),
                "done": self.done,
                "model": self.model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "random": torch.get_rng_state(),
            },
            beside,
        )
        beside.replace(self._file)

    def run(self, *, every: int = 100) -> Iterator[tuple[int, float, float]]:
        """Train to the end; yield step, mean loss and seconds since the last time."""
        self.model.train()
        at, total, began = 0, 0.0, time.perf_counter()
        for epoch in range(self._plan.epochs + self._plan.again):
            for rows in batches(self._data, self._plan, epoch):
                at += 1
                if at <= self.done:
                    continue
                total += self._step(rows)
                self.done = at
                if at % every == 0 or at == self.steps:
                    self.save()
                    yield at, total / ((at - 1) % every + 1), time.perf_counter() - began
                    total, began = 0.0, time.perf_counter()

    def _step(self, rows: Sequence[int]) -> float:
        plan = self._plan
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(plan, self.done + 1, self._turn, self.steps)
        mine = rows[self._rank :: self._ranks]
        self._optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros(())
        if mine:
            wanted = torch.tensor([self._data.labels[at] for at in mine])
            wanted = wanted * (1 - 2 * plan.smoothing) + plan.smoothing
            found = self.model(**padded(self._data, mine)).logits[:, 0]
            loss = binary_cross_entropy_with_logits(found, wanted, reduction="sum") / len(rows)
            loss.backward()
        total = self._summed(loss.detach())
        torch.nn.utils.clip_grad_norm_(self._trained, 1.0)
        self._optimizer.step()
        return total

    def _summed(self, loss: torch.Tensor) -> float:
        """Let every process have the sum of all gradients; return the sum of the losses."""
        if self._ranks == 1:
            return float(loss)
        grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in self._trained]
        flat = torch.cat([loss.reshape(1), *(grad.reshape(-1) for grad in grads)])
        distributed.all_reduce(flat)
        at = 1
        for one in self._trained:
            one.grad = flat[at : at + one.numel()].view_as(one)
            at += one.numel()
        return float(flat[0])
