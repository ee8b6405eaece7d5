"""The contract of a metric that a chat model answers, and how metrics get theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from closecall.chat.base import ChatIdentity, ChatModel
from closecall.errors import UsageError
from closecall.metrics.base import Metric

Judges: TypeAlias = ChatModel | Sequence[ChatModel]
"""One chat model, or several that judge side by side."""


@runtime_checkable
class JudgedMetric(Metric, Protocol):
    """A metric made by its name alone, which measures once it is bound to a chat model."""

    @property
    def judges(self) -> tuple[ChatIdentity, ...]:
        """The chat models it is bound to; empty before that."""
        ...

    def bound(self, chat: Judges) -> JudgedMetric:
        """Return this metric with a chat model, or a panel of several; itself unchanged."""
        ...


def panel_of(metric: str, chat: Judges) -> tuple[ChatModel, ...]:
    """Return the models as a tuple, each at most once.

    Raises
    ------
    UsageError
        There is none, one is no chat model, or two are the same.
    """
    models = (chat,) if isinstance(chat, ChatModel) else tuple(chat)
    if not models:
        raise UsageError(f"{metric}: name at least one chat model")
    for model in models:
        if not isinstance(model, ChatModel):
            raise UsageError(f"{metric}: expected a chat model, got {type(model).__name__}")
    digests = [model.identity.digest for model in models]
    twice = next((m for at, m in enumerate(models) if digests[at] in digests[:at]), None)
    if twice is not None:
        raise UsageError(
            f"{metric}: {twice.identity.name} is on the panel twice; to ask one model several "
            f"times, write {metric}:samples=3"
        )
    return models


def with_chat(metrics: Iterable[Metric], chat: Judges) -> list[Metric]:
    """Return the metrics in order, those that still lack a chat model bound to this one."""
    return [
        metric.bound(chat) if isinstance(metric, JudgedMetric) and not metric.judges else metric
        for metric in metrics
    ]


def lacking_chat(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """Return the ids of those that need a chat model and have none."""
    return tuple(
        metric.spec.id
        for metric in metrics
        if isinstance(metric, JudgedMetric) and not metric.judges
    )
