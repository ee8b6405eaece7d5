"""Guards: numbers, negation, names, quantifiers and opposites, compared by rules.

A similarity hardly moves when one number, one *not* or one name of an answer is changed. Each
guard looks for one such difference and says where it found it. ``metric`` makes them a metric.
"""

from __future__ import annotations

from closecall.metrics.guards.base import Guard, GuardFinding, against_any
from closecall.metrics.guards.metric import GUARDS, Guards

__all__ = ["GUARDS", "Guard", "GuardFinding", "Guards", "against_any"]
