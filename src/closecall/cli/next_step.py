"""What to type next, with the names and options that were typed: lines to copy into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall.cli.batch_file import FORMS

if TYPE_CHECKING:
    from closecall.calibration.labels.label_stock import Stock
    from closecall.calibration.labels.labelling import Batch
    from closecall.calibration.labels.planning import LabelPlan

UNLOCKED = 0.6
"""Share of the labels that calibrate surely leaves free when it sets a third of them aside."""


def calibrate_command(
    file: Path | str,
    options: dict[str, Any],
    *,
    leave_out_active: bool = False,
    no_lock: bool = False,
) -> str:
    """Return the command that calibrates on ``file`` what was planned."""
    words = ["closecall", "calibrate", str(file), *_goal(options)]
    if options["max_far"] is not None and options["max_frr"] is not None:
        words.append("--two-cutoffs")
    words += _reading(options)
    if options["metric"] != "embed_answer_similarity":  # the default of the option
        words += ["--metric", options["metric"]]
    if options["embedder"] is not None:
        words += ["--embedder", options["embedder"]]
    if leave_out_active:
        words.append("--leave-out-active")
    if no_lock:
        words.append("--no-lock")
    return shlex.join([*words, "-o", "cutoff.json"])


def plan_command(file: Path | str, options: dict[str, Any], output: Path | None = None) -> str:
    """Return the command that plans the same again and writes a batch."""
    words = ["closecall", "plan", str(file), *_goal(options)]
    if options["reject_rate"] is not None:
        words += ["--reject-rate", f"{options['reject_rate']:.10g}"]
    return shlex.join([*words, *_reading(options), "-o", str(output or batch_name(file))])


def batch_name(file: Path | str) -> str:
    """Return a name for a batch of the cases of ``file``, in its form where that can be written.

    >>> batch_name("answers.csv"), batch_name("answers.yaml")
    ('next.csv', 'next.jsonl')
    """
    suffix = Path(file).suffix.lower()
    return f"next{suffix if suffix in FORMS else '.jsonl'}"


def next_lines(
    file: Path,
    options: dict[str, Any],
    found: LabelPlan,
    stock: Stock,
    batch: Batch | None,
    written: tuple[str, tuple[str, ...]] | None,
) -> list[str]:
    """Return what to do next, with the commands to type.

    ``batch`` is None where no more labels are needed; ``written`` what ``write_batch`` returned,
    None where the batch was not written.
    """
    improve = options["kind"] == "improve"
    leave_out = bool(stock.facts.active) or improve
    backed = bool(found.decidable) and all(promise.backed for promise in found.promises)
    no_lock = backed and _locks_too_many(found, stock)

    def calibrate(of: Path | str) -> str:
        done = calibrate_command(of, options, leave_out_active=leave_out, no_lock=no_lock)
        return f"    {done}"

    if batch is None:
        return ["There are labels enough. Next:", calibrate(file)]
    picks, short = batch.picks, batch.asked - len(batch.picks)
    more = (
        f"Add about {short:,} answers without a label to this file, picked at random from those "
        "your assistant gives; then:"
    )
    replan = f"    {plan_command(file, options, options['output'])}"
    now = ["Or calibrate now, on the labels there are:", calibrate(file)] if backed else []
    if not picks:
        return [f"Nothing in {file.name} is left to label.", more, replan, *now]
    if written is None:
        again = options["output"] or batch_name(file)
        return [f"Next: keep this batch, ready to be labelled, with -o {again}", *now]
    label, new = written
    # Alone, a random batch holds all labels there are; of one by score no promise can be made.
    alone = not (improve or stock.facts.labels)
    spoilt = "bias the estimate" if improve else "void the promise"
    fill = (
        f"  1. Write accept or reject into the column {label} of every row of "
        f"{options['output']}; to leave out the hard ones would {spoilt}."
    )
    said = ["Next:", fill]
    target: Path | str = file
    if alone:
        target = options["output"]
    else:
        said.append(f"  2. Add those rows to {file.name}.{_columns_note(new, file)}")
    said += [f"  {2 if alone else 3}. Then:", calibrate(target)]
    if improve:
        said.append(
            "     The promise rests on the labels picked at random; --leave-out-active leaves "
            "these out."
        )
    if short and not improve and found.drawn_surely:
        said += [f"If the labels are still too few: {more[0].lower()}{more[1:]}", replan]
    return [*said, *now]


def _columns_note(new: tuple[str, ...], file: Path) -> str:
    if not new:
        return ""
    return (
        f" Its header lacks {', '.join(new)}: add {'that' if len(new) == 1 else 'those'} there "
        f"first, empty in the rows that {file.name} has."
    )


def _locks_too_many(found: LabelPlan, stock: Stock) -> bool:
    """Whether the third of the labels that calibrate sets aside is one that a promise needs."""
    from closecall.calibration.evidence.locked import FEWEST_REJECTS, FEWEST_ROWS

    have = stock.have
    if have.accepts + have.rejects < FEWEST_ROWS or have.rejects < FEWEST_REJECTS:
        return False
    return any(
        UNLOCKED * (promise.have or 0) < promise.needs[0].labels for promise in found.promises
    )


def _goal(options: dict[str, Any]) -> list[str]:
    from closecall.calibration.goals import DEFAULT_MAX_FAR

    far, frr = options["max_far"], options["max_frr"]
    if far is None and frr is None:
        far = DEFAULT_MAX_FAR
    words = []
    for option, value in (("--max-far", far), ("--max-frr", frr)):
        if value is not None:
            words += [option, f"{value:.10g}"]
    if options["confidence"] != 0.95:  # noqa: PLR2004 - the default of the option
        words += ["--confidence", repr(options["confidence"])]
    if options["looks"] != 1:
        words += ["--looks", str(options["looks"])]
    return words


def _reading(options: dict[str, Any]) -> list[str]:
    words = [word for pair in options["mapping"] for word in ("--map", pair)]
    if options["group"] is not None:
        words += ["--group", options["group"]]
    if options["on_bad_row"] != "fail":
        words += ["--on-bad-row", options["on_bad_row"]]
    return words
