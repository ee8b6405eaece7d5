"""The fixture ``closecall``: the assertions, scores, and whole evaluations of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from closecall.asserting import asserts
from closecall.asserting.asserts import text_of, texts_of
from closecall.asserting.bench import choose
from closecall.asserting.deciding import as_error, asserting, named
from closecall.asserting.question import ANSWER, CONTEXT, question
from closecall.asserting.session import Record, Session
from closecall.embedders.base import Embedder
from closecall.errors import UsageError
from closecall.metrics.registry import load_metrics
from closecall.records import Case
from closecall.runs.asked import PathLike
from closecall.runs.evaluate import evaluate
from closecall.runs.record import Run
from closecall.runs.results import MetricResult


class CloseCall:
    """What a test asks closecall: all of it with this session's embedder and recordings.

    ``assert_*`` are those of ``closecall.asserting``.
    """

    assert_similar = staticmethod(asserts.assert_similar)
    assert_not_similar = staticmethod(asserts.assert_not_similar)
    assert_grounded = staticmethod(asserts.assert_grounded)
    assert_not_grounded = staticmethod(asserts.assert_not_grounded)
    assert_matches_fact = staticmethod(asserts.assert_matches_fact)
    assert_not_matches_fact = staticmethod(asserts.assert_not_matches_fact)

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.embedder!r})"

    @property
    def embedder(self) -> Embedder:
        """The embedder, loaded at the first use."""
        with asserting(self._session):
            return self._session.embedder_for(
                load_metrics("embed_answer_similarity"), None, self._session.given
            )[1].embedder

    def score(
        self,
        actual: str,
        expected: str | Sequence[str] | None = None,
        *,
        context: str | Sequence[str] | None = None,
        question: str | None = None,
        metric: Any = None,
        cutoff: float | None = None,
        calibration: Any = None,
        guards: Any = None,
        judge: Any = None,
    ) -> MetricResult:
        """Return what a metric finds in an answer, whatever it is; nothing is asserted or kept.

        Parameters
        ----------
        actual
            The answer.
        expected, context
            What it is compared with; a metric of both may have both.
        question, metric, cutoff, calibration, guards, judge
            As for ``assert_similar`` and ``assert_grounded``.

        Returns
        -------
        MetricResult
            ``measurement`` has the number, or the reason why there is none.
        """
        if expected is None and context is None:
            raise as_error(
                UsageError("score needs something to compare with: expected or context")
            )
        case = Case(
            id="score",
            input=None if question is None else text_of(question, "question"),
            response=text_of(actual, "actual"),
            references=() if expected is None else texts_of(expected, "expected"),
            context=() if context is None else texts_of(context, "context"),
        )
        sides = CONTEXT if expected is None else ANSWER if context is None else ANSWER | CONTEXT
        with asserting(self._session):
            asked = _question(
                metrics=metric,
                cutoff=cutoff,
                calibration=calibration,
                guards=guards,
                judge=judge,
                sides=sides,
                otherwise="embed_response_context" if expected is None else "",
            )
            bench = self._session.bench(asked)
            if len(bench.plans) > 1:
                raise UsageError("score takes one metric; evaluate takes several")
            (row,) = self._session.measure(bench, [case])
        return row.results[0]

    def evaluate(
        self,
        cases: PathLike | Iterable[Case | Mapping[str, Any]],
        metrics: Any = None,
        **options: Any,
    ) -> Run:
        """Return ``closecall.evaluate(cases, metrics, ...)`` with what this session has.

        Its cases stand in the session's run folder too, unless they were answered several times or
        decided in a cascade.
        """
        session = self._session
        with asserting(self._session):
            asked = _question(
                metrics=metrics,
                cutoffs=options.get("cutoffs"),
                calibration=options.get("calibration"),
            )
            chosen = choose(asked, session.given)
            if "calibration" not in options and chosen.made:
                options["calibration"] = [one.path or one.made for one in chosen.made]
            if not {"embedder", "window", "threads"} & options.keys():
                own = load_metrics(chosen.metrics, chosen.cutoffs)
                if any(metric.spec.embeds for metric in own):
                    _, used = session.embedder_for(own, None, chosen.made)
                    options["embedder"] = used.embedder
            options.setdefault("cassette", session.cassette)
            options.setdefault("cache", session.cache)
            options.setdefault("on_notice", session.on_notice)
            options.setdefault("guards", session.asked_guards)
            run = evaluate(cases, chosen.metrics, **options)
        if not run.header.cascade and run.header.runs == 1:
            self._keep(run)
        return run

    def _keep(self, run: Run) -> None:
        header = run.header
        plans = tuple(named(plan) for plan in header.metrics)
        for row in run:
            self._session.record(
                Record(
                    _renamed(row, plans), plans, header.embedder, header.instrument, header.judges
                )
            )


def _renamed(row: Any, plans: Sequence[Any]) -> Any:
    import msgspec

    results = tuple(
        msgspec.structs.replace(result, metric=plan.id)
        for result, plan in zip(row.results, plans, strict=True)
    )
    return msgspec.structs.replace(row, results=results)


_question = question
