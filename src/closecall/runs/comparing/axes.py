"""What must be equal in two runs for their results to be comparable, axis by axis.

Never compared: results of two embedders, two versions or options of a metric, two judges. A
calibrated cutoff belongs to all of these. Another cutoff, calibration or set of guards leaves the
values comparable and not the verdicts, so it must be allowed, and then nothing is gated on them.
What answered the cases may differ: that is what a comparison is for.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from closecall.embedders.absent import is_absent
from closecall.errors import NotComparableError
from closecall.instrument import Instrument
from closecall.runs.comparing.records import Axis
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.results import guards_words

CASES = "cases"
CUTOFF = "cutoff"
METADATA = "metadata"
ALLOWABLE = (CASES, CUTOFF, METADATA)

READ_METADATA = frozenset({"expected_fact", "forbidden_text", "refusal"})
"""Metrics that hold a response against fields of a case besides its texts."""

_SHOWN = 60


def header_axes(a: RunHeader, b: RunHeader, metrics: Sequence[str]) -> Iterator[Axis]:
    """Yield what differs between two headers, of the metrics that are to be compared.

    ``metrics`` empty: all of them, which must then be the same.
    """
    if a.instrument_digest != b.instrument_digest:
        yield _embedder(a, b)
    if a.cascade != b.cascade:
        yield Axis(
            axis="cascade",
            a=_yes(a.cascade),
            b=_yes(b.cascade),
            advice="run B again " + ("with" if a.cascade else "without") + " --cascade",
        )
    if (a.runs, _share(a)) != (b.runs, _share(b)):
        yield _runs(a, b)
    ours, theirs = ([plan.id for plan in header.metrics] for header in (a, b))
    ordered = ours if a.cascade or b.cascade else sorted(ours)
    if not metrics and ordered != (theirs if a.cascade or b.cascade else sorted(theirs)):
        lone = is_absent(a.instrument) != is_absent(b.instrument)  # picking is then not enough
        yield _metrics(ours, theirs, whole=lone or a.cascade or b.cascade)
    for plan in a.metrics:
        other = next((one for one in b.metrics if one.id == plan.id), None)
        if other is not None and (not metrics or plan.id in metrics):
            same = a.instrument_digest == b.instrument_digest
            yield from _metric(plan, other, same_instrument=same)


def refuse(axes: Sequence[Axis], allowed: Sequence[str]) -> tuple[Axis, ...]:
    """Return the axes that differ and may; raise for the others.

    Raises
    ------
    NotComparableError
        Names every axis that differs and was not allowed to, with both values and what to type.
    """
    bad = [axis for axis in axes if axis.allow is None or axis.allow not in allowed]
    if not bad:
        return tuple(axes)
    lines = ["the two runs cannot be compared:"]
    for axis in bad:
        of = f" of {axis.metric}" if axis.metric else ""
        lines.append(f"  {axis.axis}{of}: A {axis.a}; B {axis.b}")
        lines.append(f"    {axis.advice}")
    raise NotComparableError("\n".join(lines), list(dict.fromkeys(axis.axis for axis in bad)))


def metadata_axis(
    a: RunHeader, b: RunHeader, metrics: Sequence[str], *, same_texts: bool
) -> Axis | None:
    """Return the axis of fields besides the texts, where a metric reads them.

    For two runs whose questions do not have one digest, or that were made before it was kept.

    Parameters
    ----------
    same_texts
        Whether both have the same cases, with the same texts.
    """
    read = [
        plan.id
        for plan in a.metrics
        if plan.id.partition(":")[0] in READ_METADATA and (not metrics or plan.id in metrics)
    ]
    if not read:
        return None
    ours, theirs = a.dataset.questions, b.dataset.questions
    if ours and theirs and same_texts:
        return Axis(
            axis=METADATA,
            a=f"questions {ours[:12]}",
            b=f"questions {theirs[:12]}",
            advice=(
                f"the cases have the same texts, and differ in a field that {', '.join(read)} "
                "reads, such as expected_facts; run B again on the cases of A, or compare them "
                f"all the same with --allow {METADATA}"
            ),
            allow=METADATA,
        )
    return Axis(
        axis=METADATA,
        a="not kept",
        b="not kept",
        advice=(
            f"{', '.join(read)} reads fields of a case, such as expected_facts, that a run folder "
            "does not keep, so it cannot be shown that they were the same; if they were, add "
            f"--allow {METADATA}"
        ),
        allow=METADATA,
    )


def _embedder(a: RunHeader, b: RunHeader) -> Axis:
    if is_absent(a.instrument) or is_absent(b.instrument):
        # No --embedder makes a run embed whose metrics do not: other metrics do.
        return Axis(
            axis="embedder",
            a=a.instrument.model,
            b=b.instrument.model,
            advice=f"one of them embeds nothing, as its metrics need no vectors; {_again(b, a)}",
        )
    ours, theirs = _facts(a.instrument, b.instrument)
    return Axis(
        axis="embedder",
        a=ours,
        b=theirs,
        advice=(
            f"scores of two embedders say nothing of each other; {_again(b, a, b.metrics)}, or "
            f"compare the embedders: closecall compare-models {_file(b)} --embedder "
            f"{shlex.quote(a.embedder)} --embedder {shlex.quote(b.embedder)}"
        ),
    )


def _facts(a: Instrument, b: Instrument) -> tuple[str, str]:
    """Return the facts of two instruments that differ, the name of the model first."""
    one, other = msgspec.to_builtins(a), msgspec.to_builtins(b)
    apart = [name for name in one if one[name] != other[name]]
    return (
        ", ".join([one["model"], *(f"{n} {_cut(one[n])}" for n in apart if n != "model")]),
        ", ".join([other["model"], *(f"{n} {_cut(other[n])}" for n in apart if n != "model")]),
    )


def _runs(a: RunHeader, b: RunHeader) -> Axis:
    ours, theirs = (
        "once"
        if header.runs == 1
        else f"{header.runs} times, passes in {header.success_threshold:g}"
        for header in (a, b)
    )
    share = "" if a.runs == 1 else f" --success-threshold {a.success_threshold:g}"
    return Axis(
        axis="runs",
        a=f"answers each case {ours}",
        b=f"answers each case {theirs}",
        advice=f"run B again with --runs {a.runs}{share}",
    )


def _share(run: RunHeader) -> float | None:
    return None if run.runs == 1 else run.success_threshold


def _again(b: RunHeader, a: RunHeader, metrics: Sequence[MetricPlan] = ()) -> str:
    """Return how to make B with the embedder of A, and its metrics unless others are named."""
    names = " ".join(f"-m {shlex.quote(plan.id)}" for plan in metrics or a.metrics)
    by = "" if is_absent(a.instrument) else f" --embedder {shlex.quote(a.embedder)}"
    return f"run B again: closecall eval {_file(b)} {names}{by}"


def _file(run: RunHeader) -> str:
    return "FILE" if run.dataset.path is None else shlex.quote(run.dataset.path)


def _metrics(ours: list[str], theirs: list[str], *, whole: bool) -> Axis:
    both = [name for name in ours if name in theirs]
    pick = " ".join(f"-m {shlex.quote(name)}" for name in both)
    return Axis(
        axis="metrics",
        a=", ".join(ours),
        b=", ".join(theirs),
        advice=(
            f"compare what both have, with {pick}"
            if both and not whole
            else f"run B again with -m {shlex.quote(','.join(ours))}"
        ),
    )


def _metric(a: MetricPlan, b: MetricPlan, *, same_instrument: bool) -> Iterator[Axis]:
    name = a.id
    if a.judges != b.judges:
        yield Axis(
            axis="judge",
            metric=name,
            a=", ".join(a.judges) or "none",
            b=", ".join(b.judges) or "none",
            advice="two judges mark differently; run B again with "
            + " ".join(f"--judge-model {shlex.quote(judge)}" for judge in a.judges),
        )
    elif a.version != b.version:
        judged = " and prompts" if a.judges else ""
        yield Axis(
            axis="version",
            metric=name,
            a=a.version,
            b=b.version,
            advice=(
                f"another version{judged} of a metric is another metric; run the cases of A again "
                "with the closecall and the settings that B was made with"
            ),
        )
    verdicts = list(_verdict_axes(a, b))
    yield from verdicts
    if (
        not verdicts
        and same_instrument
        and a.version == b.version
        and a.evaluator_version != b.evaluator_version
    ):
        yield Axis(
            axis="options",
            metric=name,
            a=a.evaluator_version,
            b=b.evaluator_version,
            advice="run B again with the options that A was made with",
        )


def _verdict_axes(a: MetricPlan, b: MetricPlan) -> Iterator[Axis]:
    """Yield what makes two verdicts of one value."""
    name = a.id
    only_values = f"or add --allow {CUTOFF}: values are compared, and no verdict is gated"
    ours, theirs = a.calibration, b.calibration
    mine, other = ("none" if used is None else used.digest[:12] for used in (ours, theirs))
    if mine != other or (ours and ours.uncalibrated) != (theirs and theirs.uncalibrated):
        again = "without --calibration" if ours is None else f"with --calibration {ours.path}"
        yield Axis(
            axis="calibration",
            metric=name,
            a=_calibration(a),
            b=_calibration(b),
            advice=f"run B again {again}, {only_values}",
            allow=CUTOFF,
        )
    elif a.cutoff != b.cutoff:
        typed = "" if a.cutoff is None else f" with --cutoff {shlex.quote(name)}={a.cutoff:g}"
        yield Axis(
            axis=CUTOFF,
            metric=name,
            a=_number(a.cutoff),
            b=_number(b.cutoff),
            advice=f"run B again{typed or ' without a cutoff'}, {only_values}",
            allow=CUTOFF,
        )
    if a.guards != b.guards:
        pairs = ",".join(f"{guard}={does}" for guard, does in a.guards.items()) or "off"
        yield Axis(
            axis="guards",
            metric=name,
            a=guards_words(a.guards) or "none",
            b=guards_words(b.guards) or "none",
            advice=f"run B again with --guards {pairs}, {only_values}",
            allow=CUTOFF,
        )


def _calibration(plan: MetricPlan) -> str:
    used = plan.calibration
    if used is None:
        return f"none, {_number(plan.cutoff)}"
    mark = ", of another embedder or metric" if used.uncalibrated else ""
    return f"{used.digest[:12]} of {used.created.partition('T')[0]}, {used.accept:.10g}{mark}"


def _number(cutoff: float | None) -> str:
    return "no cutoff" if cutoff is None else f"{cutoff:.10g}"


def _yes(value: bool) -> str:  # noqa: FBT001 - what is said
    return "a cascade" if value else "no cascade"


def _cut(value: object) -> str:
    text = f"{value}" if value not in ("", {}) else "none"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
