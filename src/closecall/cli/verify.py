"""``closecall verify``: is a run folder what its run wrote?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from closecall.cli.pipes import may_close
from closecall.cli.places import FOLDER, Place, reading, shown
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.runs.reader import RunReader

EXAMPLES = """\b
Example:
  closecall verify .closecall/runs/run-20260314T090000Z-1f2e3d4c
"""

EXIT_UNSOUND = 4


@click.command("verify", epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Place, as_json: bool) -> int:
    """Check the run folder DIR, or the one at a URL: every line, the ids, summary and seal.

    Exits with 0 when all of it holds and 4 when something does not.
    """
    with reading(folder) as here:
        return _verify(here, as_json=as_json)


def _verify(folder: Path, *, as_json: bool) -> int:
    from closecall.errors import RunFolderError
    from closecall.runs.reader import open_run

    run: RunReader | None = None
    cases = results = None
    try:
        run = open_run(folder)
        problems = run.verify()
        if not problems:
            cases, results = _counts(run)
    except RunFolderError as error:
        problems = [str(error)]
    state = None if run is None else _state(run)
    problems = [problem.replace(str(folder), shown(folder)) for problem in problems]
    with may_close(sys.stdout):
        _say(shown(folder), problems, state, (cases, results), as_json=as_json)
    return EXIT_UNSOUND if problems else 0


def _say(
    folder: str,
    problems: list[str],
    state: str | None,
    counts: tuple[int | None, int | None],
    *,
    as_json: bool,
) -> None:
    cases, results = counts
    if as_json:
        say_json(
            {
                "folder": folder,
                "sound": not problems,
                "state": state,
                "cases": cases,
                "results": results,
                "problems": problems,
            }
        )
    elif problems:
        for problem in problems:
            say(problem)
    else:
        from closecall.report.words import plural

        say(f"{plural(cases or 0, 'case')}, {plural(results or 0, 'result')}, {state}")


def _counts(run: RunReader) -> tuple[int, int]:
    cases, results, last = 0, 0, None
    for results, line in enumerate(run.results(), 1):  # noqa: B007 - the last number is the count
        cases += line["caseId"] != last  # the lines of a case stand side by side
        last = line["caseId"]
    return cases, results


def _state(run: RunReader) -> str:
    if run.running:
        return "not closed"
    return "sealed" if run.sealed else "not sealed"
