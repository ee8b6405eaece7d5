"""Which case comes next: drawn as ``closecall plan`` draws, or as they stand, or at random."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from closecall.errors import UsageError
from closecall.labelling.deck import Deck, Item

OrderKind: TypeAlias = Literal["plan", "file", "random"]

ROUNDS = 20
"""Times that one case of each group is drawn; what is left after that comes in one draw."""


class Order(msgspec.Struct, frozen=True):
    """How cases come up, and the seed of the draw; a file's own order has none."""

    kind: OrderKind
    seed: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind == "file" else f"{self.kind}:{self.seed}"

    @property
    def random(self) -> bool:
        """Whether the first so many cases of it are a random sample."""
        return self.kind != "file"


def order_named(text: str) -> Order:
    """Return the order that is spelt ``plan``, ``plan:SEED``, ``file``, ``random:SEED``.

    Raises
    ------
    UsageError
        It is spelt in another way.
    """
    kind, colon, seed = text.partition(":")
    if kind == "file" and not colon:
        return Order("file")
    if kind in {"plan", "random"} and (not colon or (seed.isascii() and seed.isdigit())):
        if len(seed) > len(str(2**32)):
            raise UsageError(f"--order {text:.40}: the seed is larger than 2^32")
        return Order("plan" if kind == "plan" else "random", int(seed or 0))
    raise UsageError(
        f"--order {text:.40}: plan or plan:SEED (a random sample, groups apart first), file (as "
        "they stand) or random:SEED"
    )


def asked(deck: Deck, order: Order, *, again: bool = False) -> tuple[str, ...]:
    """Return the keys of the items to label, in order.

    Those are the items without a label in the file. A random draw also asks for those whose
    labels were picked by score, unless the whole file is such a batch: without them the others
    are no random sample. ``again`` asks for all.
    """
    items = list(deck.items.values())
    batch = all(item.active for item in items)
    wanted = [
        item
        for item in items
        if again
        or not (item.labels or item.settled)
        or (order.random and not batch and not item.counted)
    ]
    if order.kind == "file":
        return tuple(item.key for item in wanted)
    by_id = {item.case.id: item.key for item in wanted}
    labels = Counter(item.group for item in items if item.counted) if not again else Counter()
    return tuple(by_id[name] for name in _drawn(wanted, order, labels, alone=deck.alone))


def _drawn(items: list[Item], order: Order, labels: Counter[str], *, alone: bool) -> list[str]:
    from closecall.calibration.labels.labelling import certify_batch

    found: list[str] = []
    left = {item.case.id: item.group for item in items}
    rounds = 0 if alone or order.kind == "random" else ROUNDS
    for at in range(rounds):
        if not left:
            break
        batch = certify_batch(
            list(left), list(left.values()), size=len(left), seed=order.seed + at, labels=labels
        )
        for pick in batch.picks:
            del left[pick.id]
            found.append(pick.id)
    if left:
        batch = certify_batch(list(left), size=len(left), seed=order.seed + rounds)
        found.extend(pick.id for pick in batch.picks)
    return found


def sample(keys: Iterable[str], share: float, seed: int) -> tuple[str, ...]:
    """Return a share of the keys, rounded up, in an order that only the seed decides.

    A key keeps its rank as others come, so that a sample grows with the labels it is of.
    """
    ranked = sorted(keys, key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())
    return tuple(ranked[: math.ceil(round(share * len(ranked), 9))])
