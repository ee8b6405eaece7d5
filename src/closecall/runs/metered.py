"""Puts the meter of a run in front of everything that may leave the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from closecall.cassettes.embedder import ReplayEmbedder
from closecall.embedders.base import MeteredEmbedder
from closecall.embedders.metering import OPEN, GatedEmbedder
from closecall.metrics.base import Metric
from closecall.runs.meter import Meter
from closecall.runs.spending import SpendingRole

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.chat.base import ChatModel
    from closecall.embedders.base import Embedder
    from closecall.subjects.base import Subject


def metered_chat(
    make: Callable[[], ChatModel],
    named: str | None,
    cassette: Cassette | None,
    meter: Meter | None,
    role: SpendingRole,
) -> ChatModel:
    """Return the model ``make`` makes, behind a cassette and a meter where there are any.

    A cassette hands the meter on to what it asks, so that nothing replayed counts as spent.

    Raises
    ------
    ConfigurationError
        The model cannot be made, or has no price and the budget is money.
    """
    if meter is None:
        return make() if cassette is None else cassette.chat(make, named)
    from closecall.cassettes.chat import ReplayChat
    from closecall.chat.metering import MeteredChat

    found = make() if cassette is None else cassette.chat(make, named)
    own = found.identity
    if not isinstance(found, ReplayChat):
        meter.require_price(role, own.provider, own.model)
    return MeteredChat(found, meter.gate(role, own.provider, own.model))


def metered_metric(metric: Metric, meter: Meter) -> Metric:
    """Return a metric that came with chat models of its own, those counted as judges."""
    from closecall.metrics.judge.base import JudgedMetric

    if not isinstance(metric, JudgedMetric) or not metric.judges:
        return metric
    from closecall.metrics.judge.metric import JudgeMetric

    if not isinstance(metric, JudgeMetric):
        return metric
    return metric.rebound(lambda model: metered_chat(lambda: model, None, None, meter, "judge"))


def metered_subject(subject: Subject, meter: Meter) -> Subject:
    """Return a subject whose tokens are counted; that of a plan is counted already."""
    from closecall.subjects.chat import ChatSubject
    from closecall.subjects.metering import MeteredSubject

    if isinstance(subject, ChatSubject):
        return subject.with_chat(
            lambda model: metered_chat(lambda: model, None, None, meter, "subject")
        )
    own = subject.identity
    return MeteredSubject(subject, meter.gate("subject", own.kind, own.name))


def metered_embedder(make: Callable[[], Embedder], meter: Meter | None) -> Callable[[], Embedder]:
    """Return what makes an embedder whose requests pass the meter, from the first one on.

    Of one that knows no gates but says what it used, that is counted.
    """
    if meter is None:
        return make

    def made() -> Embedder:
        embedder = make()
        meter_embedder(embedder, meter)
        return embedder

    return made


def meter_embedder(embedder: object, meter: Meter) -> None:
    """Put the meter before an embedder, without a request.

    Raises
    ------
    MissingPriceError
        It has no price and the budget is money.
    """
    if isinstance(embedder, GatedEmbedder):
        billed = embedder.billed
        if billed is None:
            return
        if not isinstance(embedder, ReplayEmbedder):
            meter.require_price("embedder", *billed)
        embedder.gated_by(meter.embedder(*billed))
        meter.at_end(lambda: embedder.gated_by(OPEN))
    elif getattr(type(embedder), "usage", None) is not None and isinstance(
        embedder, MeteredEmbedder
    ):
        own = embedder.instrument
        meter.require_price("embedder", own.kind, own.model)
        meter.embedder(own.kind, own.model, gated=False)
