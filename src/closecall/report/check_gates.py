"""Which families of bad answers the gates stop, which gate it was, and what gets through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from closecall.gates.bad_answers import TOGETHER, BadFamily, GateCheck, Outcome, Through
from closecall.report.gates import STATE_WORDS, gate_brief, gates_json
from closecall.report.words import plural, rate, shorten
from closecall.report.wrapped import columns, wrapped

OUTCOME_WORDS = {
    Outcome.STOPPED: "stopped",
    Outcome.OPEN: "not stopped, but not passed either",
    Outcome.LET_THROUGH: "LET THROUGH",
}
LIMITS = (
    "These answers are known to be bad and stand alone in their run; among good answers the same "
    "few bad ones may pass a gate on a mean or a rate."
)
_TEXT = 100


def write(found: GateCheck, out: IO[str], width: int | None = None) -> None:
    """Write the report as plain text, as wide as the terminal."""
    wide = columns(out) if width is None else width
    for line in wrapped(check_lines(found), wide):
        out.write(f"{line}\n")


def check_lines(found: GateCheck) -> Iterator[str]:
    """Yield the report line by line."""
    whole = found.together
    yield (
        f"{plural(whole.cases, 'bad answer')} against {plural(len(found.gates), 'gate')}, "
        f"{', '.join(found.metrics)}{f' with {found.model}' if found.model else ''}"
    )
    yield ""
    for family in (*found.families, whole):
        yield from _family(family, only=len(found.families) == 1)
    yield ""
    yield from _verdict(found)
    yield LIMITS


def _family(family: BadFamily, *, only: bool) -> Iterator[str]:
    if only and family.family == TOGETHER:
        return
    counted = f"{rate(family.accepted, family.cases)} accepted"
    if family.unmeasured:
        counted += f", {family.unmeasured:,} not measured"
    yield f"{family.family}: {OUTCOME_WORDS[family.outcome]}; {counted}"
    for one in family.results:
        if not one.asked:
            yield f"  asks nothing of these: {one.gate} ({one.reason})"
        elif family.outcome is not Outcome.STOPPED or one in family.stopped_by:
            said = "stopped by" if one in family.stopped_by else STATE_WORDS[one.state]
            yield f"  {said}: {one.gate}: {gate_brief(one)}"
    if family.outcome is not Outcome.STOPPED and family.family != TOGETHER:
        for example in family.examples:
            yield f"  for example {_example(example)}"


def _example(one: Through) -> str:
    values = ", ".join(f"{metric} {value:.4g}" for metric, value in one.values.items())
    edit = f"{shorten(one.before, 40)} -> {shorten(one.after, 40)}: " if one.before else ""
    if one.before and shorten(one.after, _TEXT) == shorten(one.response, _TEXT):
        edit = ""
    return f"{shorten(one.id, 40)} ({values}): {edit}{shorten(one.response, _TEXT)}"


def _verdict(found: GateCheck) -> Iterator[str]:
    through = [f.family for f in found.families if f.outcome is Outcome.LET_THROUGH]
    left = [f.family for f in found.families if f.outcome is Outcome.OPEN]
    if through:
        yield (
            f"The gates would let {plural(len(through), 'family').replace('familys', 'families')} "
            f"of bad answers through: {', '.join(through)}."
        )
    if left:
        yield f"No gate fails, and not all pass: {', '.join(left)}."
    whole = found.together
    if whole.outcome is Outcome.LET_THROUGH and not through:
        yield "Taken together, the gates would let the bad answers through."
    if whole.unmeasured:
        yield (
            f"{plural(whole.unmeasured, 'bad answer')} could not be measured, which is no test of "
            "the gates."
        )
    if not through and not left and whole.outcome is Outcome.STOPPED:
        yield "Every family of bad answers is stopped by at least one gate."


def check_json(found: GateCheck) -> dict[str, Any]:
    """Return what was found as JSON values."""
    return {
        "model": found.model or None,
        "metrics": list(found.metrics),
        "gates": [gate.rule for gate in found.gates],
        "seed": found.seed,
        "families": [_family_json(family) for family in found.families],
        "together": _family_json(found.together),
        "exitCode": found.exit_code,
    }


def _family_json(family: BadFamily) -> dict[str, Any]:
    return {
        "family": family.family,
        "outcome": family.outcome.value,
        "cases": family.cases,
        "accepted": family.accepted,
        "unmeasured": family.unmeasured,
        "stoppedBy": [one.rule for one in family.stopped_by],
        "gates": gates_json(family.results),
        "examples": [
            {
                "id": one.id,
                "response": one.response,
                "before": one.before or None,
                "after": one.after or None,
                "state": one.state.value,
                "values": one.values,
            }
            for one in family.examples
        ],
    }
