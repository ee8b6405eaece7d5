"""What a gate is: a rule on a whole run, as a record; how it is spelt, and what its words mean."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

from closecall.metrics.cutoffs import UNIT

Op: TypeAlias = Literal["<=", ">=", "<", ">", "=="]

Kind: TypeAlias = Literal[
    "mean", "quantile", "extreme", "rate", "upper", "count", "every", "measured"
]

AGGREGATES: dict[str, tuple[Kind, str]] = {
    "mean": ("mean", "the mean of the values"),
    "median": ("quantile", "the value in the middle"),
    "min": ("extreme", "the lowest value"),
    "max": ("extreme", "the highest value"),
    "share": ("rate", "the share of cases for which the comparison holds"),
    "count": ("count", "how many cases the comparison holds for"),
    "pass_rate": ("rate", "the share of cases that passed"),
    "fail_rate": ("rate", "the share of cases that failed"),
    "false_accept_rate": ("rate", "the share of wrong answers, by label, that passed"),
    "false_reject_rate": ("rate", "the share of right answers, by label, that failed"),
    "false_accept_upper": ("upper", "the upper end of the interval of the false-accept rate"),
    "false_reject_upper": ("upper", "the upper end of the interval of the false-reject rate"),
    "all": ("every", "every case passed, or the comparison holds for it"),
    "none": ("every", "no case passed, or the comparison holds for none"),
    "measured": ("measured", "how many cases were measured"),
}
"""What a rule may ask of a metric. ``p05`` or ``p95`` (two digits) is a percentile."""

PERCENTILE = re.compile(r"p\d\d")

COMPARING = frozenset({"share", "count"})
"""Those that need a comparison in the parentheses."""

VERDICTS = frozenset({"pass_rate", "fail_rate", "false_accept_rate", "false_reject_rate",
                      "false_accept_upper", "false_reject_upper"})  # fmt: skip
"""Those that count verdicts, so that a cutoff has to be there; ``all`` and ``none`` may too."""

CASCADE = "cascade"
"""Stands for a metric: what a cascade as a whole made of each case."""

FIELDS = ("tag", "label", "group")
"""Fields of a case that a filter may ask for; ``slice.NAME`` reaches into its metadata."""

SLICE = "slice."

_BARE = re.compile(r"[^\W\d][\w.+/-]*(?::[\w.+/-]+=[\w.+/-]+)*")


def kind_of(aggregate: str) -> Kind:
    """Return what kind of number an aggregate is."""
    return "quantile" if PERCENTILE.fullmatch(aggregate) else AGGREGATES[aggregate][0]


class Test(msgspec.Struct, frozen=True):
    """A comparison of each case's value with a number."""

    __test__ = False  # no test of pytest's

    op: Op
    limit: float

    def __str__(self) -> str:
        return f"{self.op} {spelt(self.limit)}"

    def holds(self, value: float) -> bool:
        """Whether it holds for a value."""
        return compares(value, self.op, self.limit)


class Filter(msgspec.Struct, frozen=True):
    """Which cases a rule is about: those whose field is (or is not) this text."""

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.field} {'=' if self.equal else '!='} {quoted(self.value)}"


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """One rule on a run.

    Parameters
    ----------
    aggregate
        One of ``AGGREGATES``, or ``p05`` and the like.
    metric
        Id of a metric, its name where that is unique, or ``cascade``.
    op, limit
        What the aggregate is compared with; of ``all`` and ``none`` nothing (op None), and
        limit None with ``==`` means *as many as were asked*.
    test, where
        A comparison for each case, and filters that must all hold.
    surely
        Pass and fail only where the whole interval lies on one side of the limit.
    name, place
        What a person called it, and where it was written (``file:line``).
    """

    aggregate: str
    metric: str
    op: Op | None = None
    limit: float | None = None
    test: Test | None = None
    where: tuple[Filter, ...] = ()
    surely: bool = False
    name: str = ""
    place: str = ""

    @property
    def kind(self) -> Kind:
        """What kind of number it asks for."""
        return kind_of(self.aggregate)

    @property
    def needs_verdicts(self) -> bool:
        """Whether it counts what passed or failed, so that the metric must have a cutoff."""
        return self.aggregate in VERDICTS or (self.kind == "every" and self.test is None)

    @property
    def rule(self) -> str:
        """The rule as it is typed; ``parse_gate`` reads it back."""
        inside = " ".join(
            [metric_spelt(self.metric)]
            + ([str(self.test)] if self.test else [])
            + ([f"where {' and '.join(map(str, self.where))}"] if self.where else [])
        )
        told = f"{'surely ' if self.surely else ''}{self.aggregate}({inside})"
        if self.op is None:
            return told
        return f"{told} {self.op} {'asked' if self.limit is None else spelt(self.limit)}"

    def __str__(self) -> str:
        return f"{self.name}: {self.rule}" if self.name else self.rule


def compares(value: Fraction | float, op: Op, limit: Fraction | float) -> bool:
    """Return whether ``value op limit``; a fraction is compared exactly."""
    match op:
        case "<=":
            return value <= limit
        case ">=":
            return value >= limit
        case "<":
            return value < limit
        case ">":
            return value > limit
        case "==":
            return value == limit


def always(kind: Kind, op: Op, limit: float) -> bool | None:
    """Return what a rule on a share or a count says of every run alike, None where it depends.

    >>> always("rate", ">=", 0), always("count", "<", 0), always("rate", ">=", 0.9)
    (True, False, None)
    """
    high = UNIT if kind in {"rate", "upper"} else math.inf
    answers = {compares(0, op, limit), compares(high, op, limit)}
    if op == "==" or len(answers) > 1:
        return None if 0 <= limit <= high else False
    return answers.pop()


def spelt(number: float) -> str:
    """Return a number as it is typed, all its digits kept: ``3``, ``0.9``."""
    return f"{int(number)}" if number == int(number) and abs(number) < 10**15 else repr(number)


def metric_spelt(metric: str) -> str:
    """Return a metric as it is typed: bare, or in quotation marks where it needs them."""
    return metric if _BARE.fullmatch(metric) and metric != "where" else quoted(metric)


def quoted(text: str) -> str:
    """Return a text in the quotation marks it does not hold itself."""
    mark = "'" if '"' in text else '"'
    return f"{mark}{text}{mark}"
