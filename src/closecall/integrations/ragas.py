"""closecall as a metric of ragas: a number per sample, beside those that ragas asks a model for.

::

    from ragas import evaluate
    from closecall.integrations.ragas import ClosecallMetric

    evaluate(dataset, metrics=[ClosecallMetric(metric="answer_alignment")])

The score is closecall's value on 0 to 1; it is no verdict, as ragas has none. With ``decide=True``
it is 1 where closecall's cutoff accepts the answer and 0 where it rejects it.

What cannot be measured, or decided, raises ``NotMeasuredError`` from ``single_turn_score``.
``ragas.evaluate`` logs the reason and writes NaN, which is how ragas spells an absence, or raises
with ``raise_exceptions=True``. Its mean leaves NaN out, and says no count: compare the rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics.base import MetricOutputType, MetricType, SingleTurnMetric

from closecall.asserting.outcomes import NotMeasuredError
from closecall.integrations.verdict import Verdict, asked, spec_of, verdict_on
from closecall.records import Case

if TYPE_CHECKING:
    from ragas.run_config import RunConfig

    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.calibrations import One

COLUMNS = {
    "input": "user_input",
    "response": "response",
    "references": "reference",
    "context": "retrieved_contexts",
}
"""The field of a case, and the column of ragas that it is read from."""


class ClosecallMetric(SingleTurnMetric):
    """Any metric of closecall, as ragas asks for it.

    Parameters
    ----------
    metric
        A name or a metric. None: that of the calibration, else ``embed_answer_similarity``.
    cutoff
        Accept from this value on, on the metric's own scale; for ``decide``.
    calibration
        A calibration file; it decides, and must belong to this embedder and metric.
    embedder
        An embedder or its name.
    guards
        What a guard that differs does, as ``evaluate`` takes it.
    judge
        The chat model, for metrics that ask one.
    decide
        Score 1 and 0 by the cutoff, instead of the value.
    name
        The column of ragas' result; by default the metric's name.
    """

    def __init__(
        self,
        *,
        metric: str | Metric | None = None,
        cutoff: float | None = None,
        calibration: One | None = None,
        embedder: Embedder | str | None = None,
        guards: str | Mapping[str, str] | GuardPolicy | None = None,
        judge: Any = None,
        decide: bool = False,
        name: str | None = None,
    ) -> None:
        self._asked = asked(
            metric=metric,
            cutoff=cutoff,
            calibration=calibration,
            embedder=embedder,
            guards=guards,
            judge=judge,
        )
        self._decide = decide
        spec = spec_of(self._asked)
        # What is optional is passed on as well: guards look at the question.
        columns = {
            column if field in spec.needs else f"{column}:optional"
            for field, column in COLUMNS.items()
        }
        super().__init__(
            _required_columns={MetricType.SINGLE_TURN: columns}, name=name or spec.name
        )
        self.output_type = MetricOutputType.BINARY if decide else MetricOutputType.CONTINUOUS

    def init(self, run_config: RunConfig) -> None:
        """Do nothing: the embedder loads with the first sample."""

    def verdict(self, sample: SingleTurnSample) -> Verdict:
        """Return all that is known of a sample: value, cutoff, decision and reason.

        Raises
        ------
        NotMeasuredError
            There is no number; the message says why.
        """
        return verdict_on(_case(sample), self._asked)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        del callbacks
        verdict = await asyncio.to_thread(self.verdict, sample)
        if not self._decide:
            return verdict.score
        if verdict.accepted is None:
            raise NotMeasuredError(f"undecided: {verdict.reason}", verdict.result)
        return float(verdict.accepted)


def _case(sample: SingleTurnSample) -> Case:
    return Case(
        id="sample",
        input=sample.user_input,
        response=sample.response,
        references=() if sample.reference is None else (sample.reference,),
        context=tuple(sample.retrieved_contexts or ()),
    )
