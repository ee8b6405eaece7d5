"""What a comparison of two says, and of which rows: the record that reports are made of."""

from __future__ import annotations

import msgspec

from closecall.calibration.comparing.comparison import Comparison
from closecall.calibration.goals import Goal


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two.

    ``instrument`` is the digest of its embedder, ``calibration`` that of its calibration, and
    ``words`` says what that promises; both empty where there is none. ``known`` counts compared
    rows of questions that it was calibrated on: there it has an advantage. ``unmeasured`` counts
    labelled rows that it has no score for, by reason.
    """

    name: str
    metric: str
    model: str
    instrument: str
    words: str = ""
    calibration: str = ""
    known: int = 0
    unmeasured: dict[str, int] = {}


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that were not compared.

    ``unreadable`` rows are bad ones (``problems`` has the first), ``unlabelled`` have no label,
    ``picked`` were picked by score and not wanted. Of the others ``unmeasured`` have no score of
    A, or of B, or of either; ``merged`` say again what another row had said, ``conflicts`` are
    rows of items labelled both ways.
    """

    unreadable: int
    problems: tuple[str, ...]
    unlabelled: int
    picked: int
    unmeasured: int
    merged: int
    conflicts: int


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison with what it was made on.

    The ``rows`` of the file are the ``comparison.n`` compared ones and those of ``left_out``;
    ``digest`` is that of its cases. ``grouped_by`` says what makes a group. ``picked`` of the
    compared labels were picked by score. ``same_score`` says that only the cutoffs differ: there
    is no ranking to compare then. ``goal`` is the promise both models were calibrated for; None
    where they came with their cutoffs.
    """

    a: Candidate
    b: Candidate
    data: str
    digest: str
    rows: int
    left_out: LeftOut
    grouped_by: str
    picked: int
    same_score: bool
    goal: Goal | None
    comparison: Comparison
