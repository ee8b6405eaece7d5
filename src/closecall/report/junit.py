"""The run as JUnit XML: one suite a metric, one test a case.

A failed cutoff is a ``failure``; an absence is ``skipped``, or ``error`` when something broke,
each with its reason. Nothing absent counts as a pass. A file with nothing worse than ``skipped``
looks green all the same, so a run that ends with exit code 11 has a suite of errors that says why.

Elements, their order and their attributes are those that the schemas of Ant and of Jenkins share,
so ``testsuites`` has no count of what was skipped; each suite has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import IO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from closecall.metrics.support.said import said
from closecall.records import Measured, State
from closecall.report.agreement import agreement_words
from closecall.report.gates import GateTest, gate_tests
from closecall.report.overview import cutoff_words
from closecall.report.words import narrow
from closecall.runs.header import RunHeader
from closecall.runs.record import Run
from closecall.runs.results import (
    CUTOFF_WORDS,
    UNCALIBRATED_CUTOFF,
    CaseResult,
    MetricResult,
)
from closecall.runs.summary import EXIT_UNMEASURED, MetricSummary

# XML 1.0 cannot hold these even escaped, or advises against them: a terminal obeys some. The rest
# turn the order of a line around, or end one, wherever the document is shown.
_ILLEGAL = re.compile(
    "[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_SKIPPED = frozenset({State.NOT_MEASURED, State.NOT_APPLICABLE, State.SKIPPED, State.INCONCLUSIVE})
_TOLD = frozenset({State.FAILED, State.INCONCLUSIVE})
"""Measured, and no pass: what is left to a person is neither passed nor failed."""
MOST = 1_000_000
"""Characters of one text or attribute; libxml2 refuses a document with one of ten million."""


def write(run: Run, out: IO[str]) -> None:
    """Write the document, one pass over the run a metric."""
    say = out.write if not narrow(out) else lambda text: out.write(_ascii(text))
    say('<?xml version="1.0" encoding="UTF-8"?>\n')
    # Every case has one test in every suite, those that a metric does not apply to as well.
    each = run.cases.total
    bad = run.cases.bad_rows
    doubtful = sum(plan.cutoff_source == UNCALIBRATED_CUTOFF for plan in run.header.metrics)
    gates = gate_tests(run.gates)
    told = Counter(gate.outcome for gate in gates)
    undecided = _undecided(run)
    tests = each * len(run.metrics) + bad + doubtful + len(undecided)
    # With gates it is they that fail a run: a case that fails alone is told as skipped.
    lenient = bool(run.gates)
    failures = 0 if lenient else sum(m.failed for m in run.metrics)
    errors = sum(m.absent_count(State.ERROR) for m in run.metrics)
    errors += bad + doubtful + len(undecided)
    tests, failures = tests + len(gates), failures + told["failure"]
    errors += told["error"]
    say(
        f'<testsuites name={_attr(run.header.name)} tests="{tests}" failures="{failures}" '
        f'errors="{errors}"{_time(run.duration_ms)}>\n'
    )
    for index, summary in enumerate(run.metrics):
        broken = summary.absent_count(State.ERROR)
        unread = each - summary.measured + summary.inconclusive - broken
        failed = 0 if lenient else summary.failed
        unread += summary.failed - failed
        say(
            f'  <testsuite name={_attr(summary.metric)} tests="{each}" '
            f'failures="{failed}" errors="{broken}" '
            f'skipped="{unread}"{_time(summary.duration_ms)}>\n    <properties>\n'
        )
        for name, value in (
            ("EmbeddingModel", run.header.instrument.model),
            ("EmbeddingProvider", run.header.instrument.provider),
            ("cutoff", _cutoff(run.header, summary)),
            *_agreement(summary),
        ):
            say(f"      <property name={_attr(name)} value={_attr(value)}/>\n")
        say("    </properties>\n")
        for row in run:
            _case(row, row.results[index], say, lenient=lenient)
        say("  </testsuite>\n")
    _bad_rows(run, say)
    _uncalibrated(run, doubtful, say)
    _say_undecided(undecided, say)
    _gates(gates, told, say)
    say("</testsuites>\n")


def _cutoff(header: RunHeader, summary: MetricSummary) -> str:
    """Return the cutoff, or the two, and what is known of it."""
    note = summary.cutoff_note or CUTOFF_WORDS[summary.cutoff_source]
    return note if summary.cutoff is None else f"{cutoff_words(header, summary)}, {note}"


def _agreement(summary: MetricSummary) -> list[tuple[str, str]]:
    found = summary.agreement
    return [] if found is None else [("agreement", agreement_words(found))]


def _bad_rows(run: Run, say: Callable[[str], object]) -> None:
    """Write the rows that could not be read as errors: a green file would hide them."""
    bad, problems = run.cases.bad_rows, run.header.dataset.problems
    if not bad:
        return
    say(_red("rows that cannot be read", bad))
    for number in range(bad):
        # A row may have several problems and only the first are kept; each row is one test.
        said = problems[number] if number < len(problems) else "not among the problems kept"
        say(f'    <testcase classname="dataset" name="bad row {number + 1}">\n')
        say(f"{_outcome('error', said, 'bad_row')}    </testcase>\n")
    say("  </testsuite>\n")


def _uncalibrated(run: Run, count: int, say: Callable[[str], object]) -> None:
    """Write each cutoff that belongs to something else as an error: a green file would hide it."""
    if not count:
        return
    say(_red("cutoffs", count))
    for plan in run.header.metrics:
        if plan.cutoff_source == UNCALIBRATED_CUTOFF:
            say(f'    <testcase classname="cutoff" name={_attr(plan.id)}>\n')
            say(f"{_outcome('error', plan.cutoff_note, 'uncalibrated')}    </testcase>\n")
    say("  </testsuite>\n")


class _Undecided(NamedTuple):
    """What kept a run from passing without being a failure, and in which words."""

    name: str
    message: str


def _undecided(run: Run) -> list[_Undecided]:
    """Return what ended a run with exit code 11 and would be but ``skipped`` in this file."""
    if run.exit_code != EXIT_UNMEASURED:
        return []
    found = [
        _Undecided(one.metric, _absence(one))
        for one in run.metrics
        # An error is one already.
        if one.asked - one.measured > one.absent_count(State.ERROR)
    ]
    unsure = 0 if run.gates else run.cases.inconclusive
    if unsure:
        found.append(_Undecided("cases", f"{unsure} of {run.cases.total} cases are left unsure"))
    open_gates = sum(gate.outcome == "skipped" for gate in gate_tests(run.gates))
    if open_gates:
        said = f"{open_gates} of {len(run.gates)} gates cannot tell"
        found.append(_Undecided("gates", said))
    return found


def _absence(summary: MetricSummary) -> str:
    told = "; ".join(f"{reason} ({count})" for reason, count in summary.absent.items())
    return f"{summary.asked - summary.measured} of {summary.asked} not measured: {told}"


def _say_undecided(found: Sequence[_Undecided], say: Callable[[str], object]) -> None:
    """Write each as an error."""
    if not found:
        return
    say(_red("not decided", len(found)))
    for one in found:
        say(f'    <testcase classname="not decided" name={_attr(one.name)}>\n')
        say(f"{_outcome('error', one.message, 'not_decided')}    </testcase>\n")
    say("  </testsuite>\n")


def _gates(
    gates: Sequence[GateTest], told: Counter[str | None], say: Callable[[str], object]
) -> None:
    """Write each gate as a test: these decide the run, whatever its cases did."""
    if not gates:
        return
    say(
        f'  <testsuite name="gates" tests="{len(gates)}" failures="{told["failure"]}" '
        f'errors="{told["error"]}" skipped="{told["skipped"]}">\n'
    )
    for gate in gates:
        say(f'    <testcase classname="gate" name={_attr(gate.name)}')
        if gate.outcome is None:
            say("/>\n")
        else:
            say(f">\n{_outcome(gate.outcome, gate.message, 'gate')}    </testcase>\n")
    say("  </testsuite>\n")


def _case(
    row: CaseResult, result: MetricResult, say: Callable[[str], object], *, lenient: bool
) -> None:
    say(
        f"    <testcase classname={_attr(result.metric)} name={_attr(row.case.id)}"
        f"{_time(_share(row, result))}"
    )
    measured = result.measurement
    if isinstance(measured, Measured) and result.state not in _TOLD:
        say("/>\n")
        return
    say(">\n")
    kind, why = result.state.value, result.reason
    if result.state is State.FAILED and lenient:
        say(_outcome("skipped", f"failed, which gates allow: {why}", kind))
    elif result.state is State.FAILED:
        say(_outcome("failure", why, kind, _texts(row, result)))
    else:
        say(_outcome("skipped" if result.state in _SKIPPED else "error", why, kind))
    say("    </testcase>\n")


def _red(name: str, count: int) -> str:
    """Return the start of a suite whose tests are all errors."""
    counts = f'tests="{count}" failures="0" errors="{count}" skipped="0"'
    return f'  <testsuite name="{name}" {counts}>\n'


def _outcome(tag: str, message: str, kind: str, text: str = "") -> str:
    """Return what a test that is not green has within; ``kind`` is its state in one word."""
    head = f"      <{tag} message={_attr(message)} type={_attr(kind)}"
    return f"{head}>{_text(text)}</{tag}>\n" if text else f"{head}/>\n"


def _share(row: CaseResult, result: MetricResult) -> float | None:
    """Return the metric's part of the time the case took, so that the suites add up to it."""
    if result.duration_ms is not None or row.cascade or row.duration_ms is None:
        return result.duration_ms
    return row.duration_ms / len(row.results)


def _time(milliseconds: float | None) -> str:
    """Return the attribute, or nothing where the time is not known."""
    return "" if milliseconds is None else f' time="{milliseconds / 1000:.6f}"'


def _texts(row: CaseResult, result: MetricResult) -> str:
    """Return the texts of a failed case, and what the metric says of them."""
    case, found = row.case, result.measurement
    parts = [
        ("input", case.input),
        *((f"reference[{i}]", text) for i, text in enumerate(case.references)),
        *((f"context[{i}]", text) for i, text in enumerate(case.context)),
        ("response", case.response),
        *(said(found.details) if isinstance(found, Measured) else ()),
    ]
    return "\n".join(f"{name}: {text}" for name, text in parts if text is not None)


def _ascii(text: str) -> str:
    """Return the text in characters every encoding has, so that it is UTF-8 as declared."""
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _clean(text: str) -> str:
    left = len(text) - MOST
    if left > 0:
        text = f"{text[:MOST]}… ({left:,} characters more)"
    return _ILLEGAL.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _attr(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(text: str) -> str:
    return escape(_clean(text), {"\r": "&#13;"})
