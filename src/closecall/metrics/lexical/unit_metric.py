"""What metrics on a scale of 0 to 1 that need no vectors have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.lexical.options import metric_id
from closecall.records import JSON, Measured


class UnitMetric:
    """A number from 0 to 1, higher is closer, with a default cutoff.

    ``EXACT`` is ``MetricSpec.exact``.
    """

    NAME: ClassVar[str]
    VERSION: ClassVar[str] = "1"
    NEEDS: ClassVar[tuple[str, ...]] = ("references", "response")
    DEFAULTS: ClassVar[dict[str, JSON]] = {}
    DEFAULT_CUTOFF: ClassVar[float] = 0.5
    EXACT: ClassVar[bool] = False
    DESCRIPTION: ClassVar[str]

    cutoff: float | None
    spec: MetricSpec

    def _settle(
        self,
        cutoff: float | None,
        options: Mapping[str, JSON],
        spelled: Mapping[str, JSON] | None = None,
    ) -> None:
        """Set ``cutoff`` and ``spec``; ``spelled`` are options as the id names them."""
        self.cutoff = checked_cutoff(
            self.NAME, self.DEFAULT_CUTOFF if cutoff is None else cutoff, 0.0, UNIT
        )
        self.spec = MetricSpec(
            id=metric_id(self.NAME, {**options, **(spelled or {})}, self.DEFAULTS),
            name=self.NAME,
            version=self.VERSION,
            needs=self.NEEDS,
            default_cutoff=self.DEFAULT_CUTOFF,
            low=0.0,
            high=UNIT,
            description=self.DESCRIPTION,
            options=dict(options),
            quantity=self.NAME.replace("_", " "),
            exact=self.EXACT,
            embeds=False,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"


def measured(value: float, details: dict[str, JSON]) -> Measured:
    """Return a value from 0 to 1, to ``DECIMALS`` decimals, as a measurement."""
    value = round(value, DECIMALS)
    return Measured(
        similarity=value,
        value=value,
        score=round(PERCENT * value, SCORE_DECIMALS),
        details=details,
    )
