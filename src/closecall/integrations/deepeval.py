"""closecall as a metric of deepeval: the decision is closecall's, with its calibrated cutoff.

::

    from deepeval import assert_test
    from closecall.integrations.deepeval import ClosecallMetric

    assert_test(test_case, [ClosecallMetric(calibration="cutoff.json")])

``score`` and ``threshold`` are closecall's value and cutoff on 0 to 1. A field that the metric
needs and the test case lacks is ``MissingTestCaseParamsError``, which deepeval can skip; anything
else that cannot be measured raises ``NotMeasuredError``, which deepeval shows as the metric's
error (``ignore_errors``) or raises. There is no score then. An unsure answer has a score and does
not pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from closecall.errors import ClosecallError
from closecall.integrations.verdict import asked, cutoff_of, spec_of, verdict_on
from closecall.records import Case

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.calibrations import One

PARAMS = {
    "input": ("input",),
    "response": ("actual_output",),
    "references": ("expected_output",),
    "context": ("retrieval_context", "context"),
}
"""The field of a case, and what of deepeval's test case it is read from: the first there is."""


class ClosecallMetric(BaseMetric):  # type: ignore[misc, unused-ignore]
    """Any metric of closecall, as deepeval asks for it.

    Parameters
    ----------
    metric
        A name or a metric. None: that of the calibration, else ``embed_answer_similarity``.
    cutoff
        Accept from this value on, on the metric's own scale (``embed_answer_similarity``: 0 to
        100). None: that of the calibration, else the metric's default.
    calibration
        A calibration file; it must belong to this embedder and metric.
    embedder
        An embedder or its name.
    guards
        What a guard that differs does, as ``evaluate`` takes it.
    judge
        The chat model, for metrics that ask one.

    Notes
    -----
    deepeval copies a metric for each test case from attributes named like these parameters; the
    copies share the embedder. ``threshold`` is for deepeval to show: closecall decides.
    """

    async_mode = True
    include_reason = True
    verbose_mode = False

    def __init__(
        self,
        *,
        metric: str | Metric | None = None,
        cutoff: float | None = None,
        calibration: One | None = None,
        embedder: Embedder | str | None = None,
        guards: str | Mapping[str, str] | GuardPolicy | None = None,
        judge: Any = None,
    ) -> None:
        self.metric = metric
        self.cutoff = cutoff
        self.calibration = calibration
        self.embedder = embedder
        self.guards = guards
        self.judge = judge
        self._asked = asked(
            metric=metric,
            cutoff=cutoff,
            calibration=calibration,
            embedder=embedder,
            guards=guards,
            judge=judge,
        )
        self._spec = spec_of(self._asked)
        self.threshold = cutoff_of(self._asked)

    @property
    def __name__(self) -> str:
        return f"closecall {self._spec.id}"

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        """Measure one test case and return its score, 0 to 1.

        Raises
        ------
        MissingTestCaseParamsError
            The test case lacks what the metric needs.
        NotMeasuredError
            There is no number; the message says why.
        """
        del args, kwargs
        self.score = self.success = self.reason = self.error = None
        self.score_breakdown = None
        self._require(test_case)
        try:
            verdict = verdict_on(_case(test_case), self._asked)
        except ClosecallError as error:
            self.error = str(error)
            self.success = False
            raise
        self.evaluation_model = verdict.facts["embedder"]
        self.score = verdict.score
        self.reason, self.score_breakdown = verdict.reason, verdict.facts
        self.success = None if verdict.cutoff is None else verdict.accepted is True
        return verdict.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
        """Measure one test case in a thread; see ``measure``."""
        return await asyncio.to_thread(self.measure, test_case, *args, **kwargs)

    def is_successful(self) -> bool | None:
        """Return closecall's decision; None without a cutoff."""
        return self.success

    def _require(self, test_case: LLMTestCase) -> None:
        missing = [
            " or ".join(f"'{name}'" for name in PARAMS[field])
            for field in self._spec.needs
            if all(getattr(test_case, name) is None for name in PARAMS[field])
        ]
        if missing:
            self.error = f"{' and '.join(missing)} cannot be None for {self.__name__}"
            self.success = False
            raise MissingTestCaseParamsError(self.error)


def _case(test_case: LLMTestCase) -> Case:
    expected = test_case.expected_output
    passages = test_case.retrieval_context
    if passages is None:
        passages = test_case.context
    return Case(
        id=test_case.name or "test_case",
        input=test_case.input,
        response=test_case.actual_output,
        references=() if expected is None else (expected,),
        context=tuple(one if isinstance(one, str) else one.context for one in passages or ()),
        metadata=test_case.metadata or {},
    )
