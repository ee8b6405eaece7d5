"""``closecall check-gates``: would the gates stop answers that are known to be bad?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.live_options import Tape, judge_options, opened, tape_of, told
from closecall.cli.options import (
    cache_options,
    case_options,
    cutoffs,
    embedder_options,
    guards_option,
    pairs,
    print_option,
    require_one_cache,
    typed_window,
)
from closecall.cli.pipes import may_close
from closecall.cli.places import CASES, Place
from closecall.cli.progress import Progress
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.gates.bad_answers import GateCheck
    from closecall.runs.gate_rule import Gate

EXAMPLES = """\b
Examples:
  closecall check-gates cases.jsonl --gate "pass_rate(embed_answer_similarity) >= 0.9"
  closecall check-gates cases.jsonl --calibration cutoff.json
  closecall check-gates --bad bad.jsonl -m expected_fact --gate "all(expected_fact)"
  closecall check-gates cases.jsonl -m llm_groundedness --judge-model openai:gpt-4o-mini \
      --most 20 --record tape --gate "mean(llm_groundedness) >= 3.5"

\b
Without --gate the gates are those of closecall.toml or pyproject.toml (tool.closecall.gates), the
nearest one from this folder upward.

\b
Exit codes: 0 every family of bad answers is stopped by a gate, 1 the gates would let one through,
2 usage, 3 configuration, 4 input data or calibration file, 5 a replay lacks a recording, 6 the
calibration belongs to another embedder or metric, 11 none is let through but for one no gate
fails, or something was not measured.
"""


@click.command("check-gates", epilog=EXAMPLES)
@click.argument("file", required=False, type=CASES)
@click.option(
    "--bad",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Cases whose responses are known to be bad; their field family, if any, says what is "
    "wrong with them.",
)
@click.option(
    "--gate",
    "rules",
    multiple=True,
    metavar="RULE",
    help="A gate, such as 'mean(token_f1) >= 0.6'; repeatable.  [default: those of the project]",
)
@click.option(
    "-m",
    "--metrics",
    "names",
    multiple=True,
    metavar="NAMES",
    help="Comma-separated, also repeated.  [default: embed_answer_similarity]",
)
@click.option(
    "--cutoff",
    "cutoff",
    multiple=True,
    metavar="NAME=VALUE",
    help="Accept from this value on, for one metric; repeatable.",
)
@click.option(
    "--calibration",
    "calibration",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Decide with this calibration; repeatable, one a metric. -m, --embedder and --window "
    "then default to its own. A folder: all in it, by name.",
)
@click.option("--cascade", is_flag=True, help="The calibrations decide one after another.")
@guards_option
@judge_options
@embedder_options
@click.option(
    "--families",
    multiple=True,
    metavar="NAMES",
    help="Wrong answers to make of FILE, comma-separated: number, unit, date, negation, entity, "
    "quantifier, other_answer.  [default: all]",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Made-up answers of each family.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Which cases and which edits.",
)
@case_options("references, input, response, ...", skip="leave out")
@print_option()
@cache_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(file: Place | None, bad: Path | None, **options: Any) -> int:
    """Feed bad answers through the metrics and fail if the gates would let them pass.

    The bad answers are those of --bad, and wrong ones made of the references of FILE as closecall
    stress makes them. Each family of them is taken for a whole run.
    """
    if file is None and bad is None:
        raise click.UsageError("give a FILE of cases with references, or --bad FILE")
    require_one_cache(options)
    scenario = f"gates-{(file or bad or Path('cases')).stem}"
    tape = tape_of(options, scenario, {})
    found = _check(file, bad, _gates(options["rules"]), options, tape)
    if options["form"] == "json":
        from closecall.report.check_gates import check_json

        say_json(check_json(found))
    else:
        from closecall.report.check_gates import write

        with may_close(sys.stdout):
            write(found, sys.stdout)
    return found.exit_code


def _gates(rules: tuple[str, ...]) -> list[Gate]:
    """Return the gates that were typed, else those of the project."""
    from closecall.gates.config import find_gates
    from closecall.gates.parsing import parse_gate

    return [parse_gate(rule, place="--gate") for rule in rules] or find_gates()


def _check(
    file: Place | None,
    bad: Path | None,
    gates: list[Gate],
    options: dict[str, Any],
    tape: Tape | None,
) -> GateCheck:
    from closecall.gates.bad_answers import check_gates
    from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC

    families = [
        name.strip() for names in options["families"] for name in names.split(",") if name.strip()
    ]
    quiet = options["quiet"]
    with Progress(quiet=quiet) as progress, opened(tape) as cassette:
        found = check_gates(
            gates,
            None if file is None else str(file),
            list(options["names"]) or None,
            options["embedder"],
            bad=None if bad is None else str(bad),
            families=families if options["families"] else None,
            most=options["most"],
            seed=options["seed"],
            cutoffs=cutoffs(options["cutoff"], options["names"] or (DEFAULT_METRIC,)),
            calibration=list(options["calibration"]) or None,
            guards=options["guards"],
            cascade=options["cascade"],
            judge=list(options["judges"]) or None,
            cassette=cassette,
            window=typed_window(click.get_current_context()),
            threads=options["threads"],
            mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
            on_bad_row=options["on_bad_row"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
        )
        if cassette is not None and tape is not None:
            whole = tape.mode == "record" and not found.together.unmeasured
            dropped = cassette.forget_unasked() if whole else 0
            if not quiet:
                said = told(cassette, replay=tape.mode == "replay", dropped=dropped)
                say(f"closecall: {said}", err=True)
        return found
