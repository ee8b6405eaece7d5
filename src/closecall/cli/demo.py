"""``closecall demo``: the real pipeline on a packaged set, and what its numbers mean."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from closecall.records import Case
    from closecall.runs.record import Run

WIDTH = 79


@click.command("demo", epilog="Example: closecall demo")
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write the demo's cases to FILE, to try things on.",
)
def command(save: str | None) -> None:
    """Score a packaged set of a support desk's answers that people have judged, offline."""
    from closecall.report.words import rate
    from closecall.runs.evaluate import evaluate

    source = files("closecall.data").joinpath("demo.jsonl")
    started = time.perf_counter()
    with as_file(source) as path:
        if save is not None:
            _save(path, Path(save))
        run = evaluate(path, "embed_answer_similarity", "minilm", cache=False, guards="off")
    seconds = time.perf_counter() - started
    counts = run.metrics[0].labelled
    if counts is None:
        raise RuntimeError("the packaged demo has lost its labels")
    kinds = list(_kinds(run))
    say = click.echo
    _paragraph(
        f"closecall demo: {run.cases.total} answers of a support desk, in {seconds:.1f} s with "
        f"{run.header.instrument.model} on this machine, no network. A person accepted "
        f"{counts.accepts} of them and rejected {counts.rejects}."
    )
    _paragraph(
        "The set was written to be hard: half of the wrong answers are the reference with one "
        "fact changed. Its error rates are no estimate for yours."
    )
    _paragraph(
        "Metric embed_answer_similarity: the cosine of answer and reference, times 100. "
        "Cutoff 70 (default cutoff, not calibrated): accept from 70 on."
    )
    say(
        f"  false accepts  {rate(counts.false_accepts, counts.rejects):>18} of the wrong "
        "answers were let through"
    )
    say(
        f"  false rejects  {rate(counts.false_rejects, counts.accepts):>18} of the right "
        "answers were turned away\n"
    )
    say("By kind of answer (accepted / all, mean score):\n")
    for kind in kinds:
        verdict = "right" if kind.right else "wrong"
        say(f"  {kind.name:<16} {verdict}  {kind.accepted:>3} / {kind.total:<3}  {kind.mean:5.1f}")
    held = _held(run)
    say("")
    _paragraph(
        f"Guards for numbers, negation, names, quantifiers and antonyms look at what the cutoff "
        f"accepts. In closecall eval they leave {rate(held.wrong, counts.false_accepts)} of those "
        f"false accepts unsure, and {rate(held.right, counts.true_accepts)} of the right answers."
    )
    _example("A wrong answer it let through", _extreme(run, accepted=True))
    _example("A right answer it turned away", _extreme(run, accepted=False))
    say("")
    _paragraph(
        "What to take from this: a cosine measures topic and wording. A changed number, a "
        '"not" or a swapped name hardly moves it, and a free rewording moves it a lot. A '
        "cutoff of 70 is a convention, not a finding; how often it errs on your answers, only "
        "your labels can say."
    )
    say(
        "Next:  closecall eval YOUR_FILE.jsonl      (closecall eval --help)\n"
        "       closecall demo --save demo.jsonl    (the cases you have just seen)"
    )


def _paragraph(text: str) -> None:
    import textwrap

    click.echo(textwrap.fill(text, WIDTH) + "\n")


def _save(packaged: Path, place: Path) -> None:
    from closecall.errors import UsageError

    if place.suffix.lower() not in (".jsonl", ".ndjson"):
        raise UsageError(f"{place}: the cases are JSON lines; give a name that ends in .jsonl")
    try:
        with place.open("xb") as out:  # never over a file somebody has
            try:
                out.write(packaged.read_bytes())
                out.flush()
            except OSError:  # a part of it would stand in the way of the next try
                place.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise UsageError(f"{place}: is there already; give another name") from error
    except OSError as error:
        raise UsageError(f"cannot write {place}: {error.strerror or error}") from error


class Kind(NamedTuple):
    """Answers of one kind."""

    name: str
    right: bool
    accepted: int
    total: int
    mean: float


def _kinds(run: Run) -> Iterator[Kind]:
    from closecall.records import Label, Measured, State

    groups: dict[tuple[bool, str], list[tuple[bool, float]]] = {}
    for row in run:
        measured = row.results[0].measurement
        if isinstance(measured, Measured) and row.case.tags:
            key = (row.case.label is not Label.ACCEPT, row.case.tags[0])
            groups.setdefault(key, []).append(
                (row.results[0].state is State.PASSED, measured.value)
            )
    for (wrong, name), found in sorted(groups.items()):
        yield Kind(
            name,
            not wrong,
            sum(passed for passed, _ in found),
            len(found),
            sum(value for _, value in found) / len(found),
        )


class Held(NamedTuple):
    """How many accepted answers the guards would leave unsure."""

    wrong: int
    right: int


def _held(run: Run) -> Held:
    from closecall.metrics.guards.policy import DEFAULT_POLICY
    from closecall.records import Label, State

    found = dict.fromkeys(Label, 0)
    for row in run:
        accepted = row.results[0].state is State.PASSED
        if accepted and row.case.label is not None and DEFAULT_POLICY.check(row.case):
            found[row.case.label] += 1
    return Held(found[Label.REJECT], found[Label.ACCEPT])


def _extreme(run: Run, *, accepted: bool) -> tuple[Case, float] | None:
    """Return the highest false accept, or the lowest false reject."""
    from closecall.records import Label, Measured, State

    wrong = Label.REJECT if accepted else Label.ACCEPT
    state = State.PASSED if accepted else State.FAILED
    errors = [
        (row.results[0].measurement.value, row.case)
        for row in run
        if row.case.label is wrong
        and row.results[0].state is state
        and isinstance(row.results[0].measurement, Measured)
    ]
    if not errors:
        return None
    value, case = (max if accepted else min)(errors, key=lambda error: error[0])
    return case, value


def _example(heading: str, found: tuple[Case, float] | None) -> None:
    import textwrap

    if found is None:
        return
    case, value = found
    click.echo(f"\n{heading} ({value:.1f}, {', '.join(case.tags)}):")
    for name, text in (
        ("question", case.input or ""),
        ("reference", case.references[0]),
        ("answer", case.response or ""),
    ):
        click.echo(
            textwrap.fill(text, WIDTH, initial_indent=f"  {name:<10} ", subsequent_indent=" " * 13)
        )
