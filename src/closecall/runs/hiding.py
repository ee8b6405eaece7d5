"""A decided case without words of its texts, for run folders that are not to hold any.

Details of a metric and reasons quote what they are about. What is left are numbers, and sentences
with their quotations taken out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from closecall.records import JSON, Case, Unmeasured
from closecall.runs.foreign import HIDDEN, without_foreign
from closecall.runs.header import DatasetFacts
from closecall.runs.results import CaseResult, MetricResult

_QUOTED = re.compile(
    '"[^"\n]*"|(?<!\\w)\'[^\n]*?\'(?!\\w)|\u201c[^\u201d\n]*\u201d|\u2018[^\u2019\n]*\u2019'
)
_GOT = re.compile("\\bgot [\"'].*", re.DOTALL)

_OWN_WORDS = frozenset({"interpretation", "rating", "state", "judge"})
"""Details that are words of closecall or of the run's own settings."""

_OF_WORDS = frozenset({"wordMatches"})
"""Details that are numbers, and say of a text where its words begin and how long they are."""


def without_words(row: CaseResult) -> CaseResult:
    """Return the case with its results as a folder without content holds them."""
    cases = [row.case, *(trial.case for trial in row.trials)]
    if row.trials:
        # What is over all runs has the words of closecall, numbers and states in its details.
        return msgspec.structs.replace(
            row,
            results=tuple(_unquoted(result, cases) for result in row.results),
            trials=tuple(without_words(trial) for trial in row.trials),
        )
    results = tuple(_hidden(result, cases) for result in row.results)
    return msgspec.structs.replace(row, results=results)


def without_values(facts: DatasetFacts) -> DatasetFacts:
    """Return what is wrong with rows of a data set, without the values that were found in them."""
    told = tuple(_reason(_GOT.sub(f"got {HIDDEN}", problem)) for problem in facts.problems)
    return msgspec.structs.replace(facts, problems=told)


def _hidden(result: MetricResult, cases: Sequence[Case]) -> MetricResult:
    result = _unquoted(result, cases)
    found = result.measurement
    if isinstance(found, Unmeasured):
        return result
    found = msgspec.structs.replace(found, details=_numbers(found.details))
    return msgspec.structs.replace(result, measurement=found)


def _unquoted(result: MetricResult, cases: Sequence[Case]) -> MetricResult:
    found = result.measurement
    if isinstance(found, Unmeasured):
        told = without_foreign(_reason(found.reason), result.metric, cases)
        found = Unmeasured(told, found.state)
    told = without_foreign(_reason(result.reason), result.metric, cases)
    return msgspec.structs.replace(result, measurement=found, reason=told)


def _reason(text: str) -> str:
    return _QUOTED.sub(HIDDEN, text)


def _numbers(details: Mapping[str, JSON]) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for name, value in details.items():
        kept = _kept(name, value)
        if kept is not None:
            found[name] = kept
    return found


def _kept(name: str, value: JSON) -> JSON:
    if name in _OF_WORDS:
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if name in _OWN_WORDS else None
    if isinstance(value, Mapping):
        return _numbers(value) or None
    if isinstance(value, list | tuple):
        kept = [_kept("", one) for one in value]
        return [one for one in kept if one is not None] or None
    return None
