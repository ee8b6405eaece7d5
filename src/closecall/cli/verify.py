"""``closecall verify``: is a run folder what its run wrote, and who says so?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.pipes import may_close
from closecall.cli.places import FOLDER, Place, reading, shown
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.signing.records import Verification

EXAMPLES = """\b
Examples:
  closecall verify .closecall/runs/run-20260314T090000Z-1f2e3d4c
  closecall verify runs/monday --key sign.key.pub --key colleagues.allowed_signers

\b
Exit codes: 0 all of it holds and, with --key, one of the keys signed it, 2 usage, 3 a key cannot
be used, 4 something does not hold, 14 it is not signed, 15 none of the keys signed it.
"""


@click.command("verify", epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option(
    "--key",
    "keys",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Trusted public keys: PEM, OpenSSH's .pub, or lines as in allowed_signers; repeatable. "
    "The run must then be signed by one of them (pip install 'closecall[sign]').",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Place, keys: tuple[Path, ...], as_json: bool) -> int:
    """Check the run folder DIR, or the one at a URL, by computing all of it again.

    Every line, the ids, the verdicts from their values and cutoffs, the summary, what the gates
    decided, the seal over every file, and with --key who signed it.
    """
    from closecall.signing.public_keys import trusted_keys

    trusted = trusted_keys(keys) if keys else ()
    with reading(folder) as here:
        from closecall.signing.verify import verify_folder

        found = verify_folder(here, trusted, shown(here))
        counts = _counts(here) if found.sound else (None, None)
    with may_close(sys.stdout):
        _say(found, counts, as_json=as_json)
    return found.exit_code


def _say(found: Verification, counts: tuple[int | None, int | None], *, as_json: bool) -> None:
    cases, results = counts
    if as_json:
        say_json(
            {
                "folder": found.place,
                "sound": found.sound,
                "state": found.state,
                "cases": cases,
                "results": results,
                "problems": list(found.problems),
                "signature": _signature(found),
            }
        )
        return
    for problem in found.problems:
        say(problem)
    if found.sound:
        from closecall.report.words import plural

        told = f"{plural(cases or 0, 'case')}, {plural(results or 0, 'result')}, {found.state}"
        say(f"{told}{_words(found)}")


def _signature(found: Verification) -> dict[str, Any]:
    return {
        "state": found.signature.value,
        "keyIds": list(found.signed_by),
        "signers": found.signers,
        "keys": found.keys,
    }


def _words(found: Verification) -> str:
    """Return what is said of the signature after what is said of the run."""
    from closecall.signing.records import SignatureState

    by = ", ".join(found.signed_by)
    match found.signature:
        case SignatureState.UNCHECKED:
            return f"; signed with {by}, which was not checked (--key FILE does)"
        case SignatureState.TRUSTED:
            trusted = ", ".join(f"{name} ({key})" for key, name in found.signers.items())
            others = len(found.signed_by) - len(found.signers)
            return f"; signed by {trusted}" + (f" and {others} other keys" if others else "")
        case SignatureState.UNKNOWN:
            return f"; NOT TRUSTED: signed with {by}, which none of the keys given is"
        case SignatureState.UNSIGNED if found.keys:
            return "; NOT SIGNED"
        case _:
            return ""


def _counts(folder: Path) -> tuple[int, int]:
    from closecall.runs.reader import open_run

    cases, results, last = 0, 0, None
    for results, line in enumerate(open_run(folder).results(), 1):  # noqa: B007 - the last is the count
        cases += line["caseId"] != last  # the lines of a case stand side by side
        last = line["caseId"]
    return cases, results
