"""A third of the labels, locked away: measured once, when everything else has been decided.

Cross-validation is honest about what happens inside the procedure. It knows nothing of what was
tried around it: metrics, models and settings compared on the same labels until one looked good.
Rows that took no part in any of that do. Each further look at them spends some of that, which is
why the looks are counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
import numpy as np

from closecall.calibration.evidence.held_out import check_whole, error_rates, tally, verdicts
from closecall.calibration.goals import Rule
from closecall.calibration.inputs import Bools, Labelled
from closecall.calibration.records import Counts, Rate

FEWEST_ROWS = 600
"""Fewest labelled rows of which a third can be spared."""

FEWEST_REJECTS = 180
"""Fewest rejects: a third of them backs a limit of 5%, which takes 59."""

PARTS = 3


class LockedTest(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule decides of rows that had no part in choosing it.

    ``n`` rows, in ``groups`` groups (None: each its own), whose content has the hash ``digest``.
    ``counts`` are those decided; ``unsure_accepts`` and ``unsure_rejects`` are left to a person.
    The rates are shares of all rejects, or accepts, the unsure included; None of a class without
    a row. ``uses`` is how many times these rows have been measured on, this one included: above
    1, a rule may have been chosen for doing well on them.
    """

    n: int
    groups: int | None
    digest: str
    counts: Counts
    unsure_accepts: int
    unsure_rejects: int
    false_accept_rate: Rate | None
    false_reject_rate: Rate | None
    uses: int

    @property
    def unsure(self) -> int:
        """How many rows are left to a person."""
        return self.unsure_accepts + self.unsure_rejects


def lock(names: Sequence[str], accept: Bools, *, seed: int) -> Bools | None:
    """Return which rows to lock away, (n,) bool, or None where none can be spared.

    A group is locked by its name and the seed alone, with probability a third: it stays locked,
    or free, when more labels are added. O(n) time.

    Parameters
    ----------
    names
        (n,): the name of each row's group.
    accept
        (n,): the labels. None is returned below ``FEWEST_ROWS`` rows or ``FEWEST_REJECTS``
        rejects, and where all rejects would fall on one side.
    seed
        At least 0.

    Raises
    ------
    UsageError
        ``seed`` is out of range.
    """
    check_whole("seed", seed, 0)
    rejects = ~accept
    if len(names) < FEWEST_ROWS or np.count_nonzero(rejects) < FEWEST_REJECTS:
        return None
    locked = {name: _locked(name, seed) for name in set(names)}
    rows = np.fromiter((locked[name] for name in names), dtype=np.bool_, count=len(names))
    both = (rows & rejects).any() and (~rows & rejects).any()
    return rows if both else None


def _locked(name: str, seed: int) -> bool:
    content = f"locked {seed} {name}".encode("utf-8", errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") % PARTS == 0


def measure_locked(rule: Rule, data: Labelled, *, digest: str, uses: int) -> LockedTest:
    """Return what ``rule`` decides of locked rows, with intervals.

    The intervals are Clopper-Pearson, exact where the rows are independent and ``uses`` is 1;
    with groups a design effect widens them, and they are approximate. O(n log n) time.

    Parameters
    ----------
    rule
        Chosen without these rows.
    data
        The locked rows, and no others; at least one.
    digest
        Hash of their content, by which a later look is told to be one at the same rows.
    uses
        How many times they have been measured on, this one included; at least 1.

    Raises
    ------
    UsageError
        ``uses`` is out of range.
    """
    check_whole("uses", uses, 1)
    said = verdicts(rule, data.scores)
    found = tally(data.accept, said)
    false_accept_rate, false_reject_rate = error_rates(data, said)
    return LockedTest(
        n=len(data.scores),
        groups=None if data.groups is None else len(np.unique(data.groups)),
        digest=digest,
        counts=found.counts,
        unsure_accepts=found.unsure_accepts,
        unsure_rejects=found.unsure_rejects,
        false_accept_rate=false_accept_rate,
        false_reject_rate=false_reject_rate,
        uses=uses,
    )
