"""What a comparison of two runs says: the record that its reports are made of."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from closecall.calibration.comparing.paired import Flips
from closecall.calibration.records import Interval, Rate

Outcome: TypeAlias = Literal["worse", "better", "alike", "cannot tell", "not decided"]
WORSE: Outcome = "worse"
BETTER: Outcome = "better"
ALIKE: Outcome = "alike"
CANNOT_TELL: Outcome = "cannot tell"
NOT_DECIDED: Outcome = "not decided"


class RunSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two runs.

    ``subject`` says what gave the answers, as far as the run knows: it may differ, and is shown.
    ``cases`` counts the run's cases, ``bad_rows`` those left out because they could not be read.
    """

    folder: str
    run_id: str
    name: str
    started_at: str
    subject: str
    model: str
    data: str | None
    cases: int
    bad_rows: int = 0


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must be equal in both runs, and is not.

    ``axis`` is one word: ``embedder``, ``cases``, ``metadata``, ``metrics``, ``cascade``,
    ``runs``, ``version``, ``judge``, ``options``, ``cutoff``, ``calibration`` or ``guards``.
    ``metric`` says of which metric, empty for the run. ``a`` and ``b`` are the values, ``advice``
    what to type. ``allow`` is what lets it be compared all the same, None where nothing does.
    """

    axis: str
    metric: str = ""
    a: str
    b: str
    advice: str
    allow: str | None = None


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases were compared: the same id, question, references and context in both.

    ``only_a`` and ``only_b`` cases are in one run, ``changed`` ones in both with another text.
    ``named`` has the ids of the first of them. ``responses_differ`` counts compared cases with
    another response; None where texts were not kept. ``relabelled`` ones have another label on
    the same response. Cases of one of the ``groups`` are not independent; ``ungrouped`` says that
    a run kept no questions to group by.
    """

    compared: int
    only_a: int
    only_b: int
    changed: int
    named: tuple[str, ...]
    responses_differ: int | None
    relabelled: int
    groups: int
    ungrouped: bool


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One case that came out differently.

    ``a`` and ``b`` are its states; values are None where there is none. Responses are cut after
    1,000 characters, with their length; None where they were not kept. ``reason`` is that of B.
    """

    id: str
    a: str
    b: str
    value_a: float | None
    value_b: float | None
    response_a: str | None
    response_b: str | None
    reason: str


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one run on the labelled ones of the compared cases, by its own labels.

    Unsure cases stand in the rates' n and are no errors. None where there is no such label, or
    no cutoff.
    """

    false_accepts: Rate | None
    false_rejects: Rate | None
    unsure: int


class MetricCompared(msgspec.Struct, frozen=True, kw_only=True):
    """One metric on the compared cases.

    ``asked`` cases are those that it applies to in either run; of them ``measured`` were in both,
    ``only_a`` in A alone (they are new absences: ``absent_reasons``, B's), ``only_b`` in B alone
    (``only_b_failed`` of which B fails) and ``neither`` in none. Everything below is about the
    ``measured`` ones.

    ``difference`` is the mean of B less that of A, with an interval over groups; None where there
    are no values, or no interval. ``moved`` values differ by more than rounding. ``verdicts`` maps
    A's verdict to B's to a count. ``flips`` counts the cases that are not passed, in A alone and
    in B alone, with the two-sided test; ``p_worse`` is the one-sided p-value of so many more by B,
    None where B has not more. ``new_failures`` are failed in B and were not in A;
    ``fixed`` the other way round; ``verdict_flips`` counts all verdicts that differ.

    ``outcome`` and ``why`` are the rule's. ``first_*`` and movers hold the first few.
    """

    metric: str
    low: float | None
    high: float | None
    cutoff_a: float | None
    cutoff_b: float | None
    asked: int
    measured: int
    only_a: int
    only_b: int
    only_b_failed: int
    neither: int
    absent_reasons: dict[str, int]
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: Interval | None
    moved: int
    verdicts: dict[str, dict[str, int]]
    passed_a: int
    passed_b: int
    flips: Flips | None
    p_worse: float | None
    new_failures: int
    fixed: int
    verdict_flips: int
    labelled_a: Labelled | None
    labelled_b: Labelled | None
    fell: tuple[Changed, ...]
    rose: tuple[Changed, ...]
    first_worse: tuple[Changed, ...]
    first_better: tuple[Changed, ...]
    first_absent: tuple[Changed, ...]
    outcome: Outcome = NOT_DECIDED
    why: str = ""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, A (before) and B (after), compared; iterate ``metrics`` for the figures.

    ``allowed`` are the axes that differ and were allowed to. ``alpha`` is the most probable false
    alarm over all metrics together. ``failed`` says which gates failed and ``open`` what keeps
    the answer from being green, both in words. ``exit_code``: 1 where a gate failed, else 11
    where something is open, else 0.
    """

    a: RunSide
    b: RunSide
    cases: Matched
    metrics: tuple[MetricCompared, ...]
    allowed: tuple[Axis, ...]
    alpha: float
    max_new_failures: int | None
    any_flip: bool
    strict: bool
    failed: tuple[str, ...]
    open: tuple[str, ...]
    notes: tuple[str, ...]
    exit_code: int

    @property
    def regressed(self) -> bool:
        """Whether a gate failed."""
        return bool(self.failed)
