"""Decisions as a caller has them, checked and turned into arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.calibration.inputs import Bools
from closecall.calibration.records import Decision
from closecall.errors import DataError, ShapeError

Decisions: TypeAlias = Iterable[bool | str | Decision] | NDArray[Any]

_SHOWN = 3
_DECISIONS: dict[Any, Decision] = {
    True: Decision.ACCEPT,
    False: Decision.REJECT,
    **{decision.value: decision for decision in Decision},
}


class Outcomes(NamedTuple):
    """Decisions as arrays, (n,) bool each; where neither holds, the decision is unsure."""

    accepted: Bools
    rejected: Bools

    @property
    def unsure(self) -> Bools:
        """Which answers are left to a person: (n,) bool."""
        return ~(self.accepted | self.rejected)

    def differ(self, other: Outcomes) -> int:
        """Return how many answers the two decide differently, unsure being a decision too."""
        different = (self.accepted != other.accepted) | (self.rejected != other.rejected)
        return int(np.count_nonzero(different))


def outcomes(decisions: Decisions, name: str) -> Outcomes:
    """Check decisions and return them as arrays.

    Parameters
    ----------
    decisions
        (n,): True, ``Decision.ACCEPT`` or "accept"; False, ``Decision.REJECT`` or "reject";
        ``Decision.UNSURE`` or "unsure".
    name
        Whose they are, for the error message.

    Raises
    ------
    DataError
        A decision is none of those above.
    ShapeError
        An array is not (n,).
    """
    if isinstance(decisions, np.ndarray) and decisions.ndim != 1:
        raise ShapeError(f"decisions of {name} must be (n,), got {decisions.shape}")
    rows = decisions.tolist() if isinstance(decisions, np.ndarray) else list(decisions)
    # 1 equals True: only the type tells a decision from a number.
    known = [isinstance(row, bool | np.bool_ | str) and row in _DECISIONS for row in rows]
    if not all(known):
        wrong = [at for at, good in enumerate(known) if not good]
        said = "; ".join(f"decision {at} of {name} is {rows[at]!r}" for at in wrong[:_SHOWN])
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise DataError(
            f"{said}{more}: allowed are True and False, 'accept', 'reject' and 'unsure'; "
            "an answer that was not measured has no decision and is left out of both"
        )
    found = [_DECISIONS[row] for row in rows]
    return Outcomes(
        np.array([row is Decision.ACCEPT for row in found], dtype=np.bool_),
        np.array([row is Decision.REJECT for row in found], dtype=np.bool_),
    )
