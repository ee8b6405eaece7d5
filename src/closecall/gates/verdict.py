"""From what a tally counted to passed, failed, cannot tell or not measured.

Cases that were asked for and not measured could have come out either way. A gate passes only if it
would pass however they had come out, and fails only if it would fail however they had; in between
it is *not measured*. So an error can never turn a gate green, nor red.
"""

from __future__ import annotations

import math
from fractions import Fraction

from closecall.calibration.binomial import complement
from closecall.calibration.groups import clusters_of
from closecall.calibration.records import typed
from closecall.gates.intervals import FEWEST_GROUPS
from closecall.gates.needed import about, more_of_mean, more_of_rate
from closecall.gates.tally import GateTally
from closecall.gates.values import DECIMALS, LEVEL, Found, Number, arrays, found_of
from closecall.runs.gate_results import GateResult, GateState
from closecall.runs.gate_rule import Op, compares, spelt


def verdict(tally: GateTally) -> GateResult:
    """Return what became of a gate."""
    if tally.unkept is not None:
        return _result(tally, GateState.NOT_MEASURED, reason=tally.unkept)
    if not tally.asked:
        return _result(tally, GateState.NOT_MEASURED, reason=_nobody(tally))
    if not tally.measured and tally.kind != "measured":
        return _result(tally, GateState.NOT_MEASURED, reason=_absences(tally))
    plain = found_of(tally, None)
    ends = (plain, plain)
    if tally.absent and tally.kind != "measured":
        ends = (found_of(tally, 0), found_of(tally, 1))
    op, limit = _compared(tally)
    own = _state(tally, plain, op, limit)
    settled = {own} == {_state(tally, end, op, limit) for end in ends}
    if op == "==" and ends[0] != ends[1]:
        settled = not ends[0].value <= limit <= ends[1].value
    state = own if settled or own is GateState.INCONCLUSIVE else GateState.NOT_MEASURED
    more = _more(tally, plain, limit, state)
    reason = _reason(tally, plain, state, limit, more)
    known = sorted(float(end.value) for end in ends) if ends != (plain, plain) else []
    if not all(map(math.isfinite, known)):
        known = []
    return _result(
        tally,
        state,
        found=plain,
        limit=limit,
        margin=_margin(plain.value, op, limit),
        span=(known[0], known[-1]) if known else (None, None),
        more=more,
        reason=reason,
    )


def _compared(tally: GateTally) -> tuple[Op, float]:
    gate = tally.gate
    if gate.kind == "every":
        return (">=", tally.asked) if gate.aggregate == "all" else ("<=", 0)
    if gate.op is None:
        raise TypeError("only all and none are compared with nothing")
    return gate.op, tally.asked if gate.limit is None else gate.limit


def _state(tally: GateTally, found: Found, op: Op, limit: float) -> GateState:
    if not tally.gate.surely:
        exact = typed(limit) if isinstance(found.value, Fraction) else limit
        held = compares(found.value, op, exact)
        return GateState.PASSED if held else GateState.FAILED
    if found.interval is None:
        return GateState.INCONCLUSIVE
    low, high = found.interval.low, found.interval.high
    worst, best = (low, high) if op in {">=", ">"} else (high, low)
    if compares(worst, op, limit):
        return GateState.PASSED
    return GateState.INCONCLUSIVE if compares(best, op, limit) else GateState.FAILED


def _margin(value: Number, op: Op, limit: float) -> float:
    over = float(value - typed(limit)) if isinstance(value, Fraction) else value - limit
    if op == "==":
        over = -abs(over)
    elif op in {"<=", "<"}:
        over = -over
    return round(over, DECIMALS) + 0.0  # no -0.0


def _more(tally: GateTally, found: Found, limit: float, state: GateState) -> int | None:
    interval = found.interval
    wanted = state is GateState.INCONCLUSIVE or (
        tally.kind == "upper" and state is GateState.FAILED
    )
    if not wanted or interval is None:
        return None
    if tally.kind in {"rate", "upper"}:
        sizes, sums, _ = arrays(tally, None)
        n, count = int(sizes.sum()), int(sums.sum())
        if tally.kind == "upper" and count >= limit * n:
            return None  # more of the same would not help
        effect = clusters_of(sizes, sums.astype(int)).design_effect
        return more_of_rate(count, n, effect, limit, complement(LEVEL) / 2)
    value = float(found.value)
    end = interval.low if value > limit else interval.high
    return more_of_mean(tally.measured, abs(value - end), abs(value - limit))


def _reason(
    tally: GateTally, found: Found, state: GateState, limit: float, more: int | None
) -> str:
    if state is GateState.NOT_MEASURED:
        cases = "case that was" if tally.absent == 1 else "cases that were"
        return f"depends on {tally.absent:,} {cases} not measured: {_why(tally)}"
    if state is GateState.INCONCLUSIVE:
        head = f"cannot tell with n = {tally.measured:,}"
        if found.interval is None:
            few = tally.kind == "mean" and sum(map(bool, tally.sizes)) < FEWEST_GROUPS
            why = (
                f"on a scale without ends an interval takes {FEWEST_GROUPS} groups"
                if few
                else "there is no interval"
            )
            return f"{head}: {why}"
        tail = "" if more is None else f"; about {about(more)} more like these would do"
        return f"{head}: the interval lies on both sides of {spelt(limit)}{tail}"
    if tally.kind == "upper" and state is GateState.FAILED and more is not None:
        return f"about {about(more)} more cases with errors as rare as these would do"
    return ""


def _nobody(tally: GateTally) -> str:
    which = " and ".join(map(str, tally.gate.where))
    where = f" where {which}" if which else ""
    if tally.label is not None:
        return f"no case{where} is labelled {tally.label.value}"
    return f"there is no case{where} that the metric applies to"


def _absences(tally: GateTally) -> str:
    return f"none of {tally.asked:,} cases was measured: {_why(tally)}"


def _why(tally: GateTally) -> str:
    told = "; ".join(tally.reasons)
    return told if sum(tally.reasons.values()) == tally.absent else f"{told}; and other reasons"


def _result(
    tally: GateTally,
    state: GateState,
    *,
    found: Found | None = None,
    limit: float | None = None,
    margin: float | None = None,
    span: tuple[float | None, float | None] = (None, None),
    more: int | None = None,
    reason: str,
) -> GateResult:
    gate = tally.gate
    notes = []
    if tally.groups.ungrouped and found is not None and found.interval is not None:
        notes.append(
            "the run keeps no questions, so its cases count as independent and the interval may "
            "be too narrow"
        )
    return GateResult(
        gate=gate,
        rule=gate.rule,
        metric=tally.plan.id,
        state=state,
        value=None if found is None else float(found.value),
        limit=gate.limit if limit is None else float(limit),
        margin=margin,
        measured=tally.measured,
        asked=tally.asked,
        count=None if found is None else found.hits,
        interval=None if found is None else found.interval,
        lowest=span[0],
        highest=span[1],
        more=more,
        reason=reason,
        notes=tuple(notes),
        absent=dict(tally.reasons),
    )
