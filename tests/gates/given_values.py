"""Runs whose values are written in the responses, so that every figure is known beforehand."""

from closecall import Case, evaluate
from closecall.metrics.base import MetricSpec
from closecall.records import Label, Measured, State, Unmeasured
from closecall.testing import HashEmbedder

BROKEN = "x"
NOTHING = "-"


class Given:
    """The number in the response, from 1 to 5; ``x`` breaks, ``-`` has nothing to judge."""

    def __init__(self, cutoff=3.0, name="given", low=1.0, high=5.0):
        self.cutoff = cutoff
        self.spec = MetricSpec(
            id=name, name=name.partition(":")[0], version="1", needs=("response",),
            default_cutoff=cutoff, low=low, high=high, description="The number in the response.",
        )  # fmt: skip

    def texts(self, case):
        if case.response == BROKEN:
            return Unmeasured("the judge broke", State.ERROR)
        if case.response == NOTHING:
            return Unmeasured("nothing to judge", State.NOT_APPLICABLE)
        return ()

    def measure(self, case, vectors):
        value = float(case.response)
        return Measured(similarity=value, value=value, score=None)


def cases_of(values, labels=None, tags=None, groups=None, metadata=None):
    def at(given, index):
        return None if given is None else given[index % len(given)]

    return [
        Case(
            id=f"c{i}", input=f"question {i}", response=str(value),
            label=None if at(labels, i) is None else Label(at(labels, i)),
            tags=(at(tags, i),) if tags else (), group=at(groups, i),
            metadata=at(metadata, i) or {},
        )
        for i, value in enumerate(values)
    ]  # fmt: skip


def run_of(values, *metrics, aef=None, content=True, **facts):
    """A run over these values; ``facts`` are labels, tags, groups, metadata, taken in turn."""
    return evaluate(
        cases_of(values, **facts), list(metrics) or [Given()], HashEmbedder(), cache=False,
        aef=aef, content=content,
    )  # fmt: skip
