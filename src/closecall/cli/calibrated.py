"""What ``closecall calibrate`` found: written where asked, printed, or refused in words."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.calibration.artefact import Calibration, DataFacts
    from closecall.calibration.goals import Goal
    from closecall.calibration.records import Infeasible
    from closecall.runs.refresh import Refreshed


def conclude(
    found: Calibration | Infeasible,
    name: str,
    goal: Goal,
    options: dict[str, Any],
    refreshed: Refreshed | None = None,
) -> int:
    """Write what was found where asked, print it, and return the exit code."""
    import msgspec

    from closecall.calibration.records import Infeasible
    from closecall.calibration.store import save_calibration
    from closecall.report.calibration import lines
    from closecall.report.refreshed import flips, to_json
    from closecall.report.wrapped import columns, wrapped

    if isinstance(found, Infeasible):
        return _refused(found, name, goal, options, refreshed)
    if options["output"] is not None:
        save_calibration(found, options["output"])
    if options["form"] == "json":
        document = msgspec.to_builtins(found)
        shown = {k: v for k, v in document.items() if k not in {"sample", "canaries"}}
        say_json(shown if refreshed is None else {**shown, "refreshed": to_json(refreshed)})
    else:
        first, *rest = lines(found)
        if refreshed is not None:
            rest += flips(refreshed)
        # The first line stays one line, for whoever looks for it.
        for line in (first, *wrapped(rest, columns(sys.stdout))):
            say(line)
    if options["output"] is None:
        say("closecall: not saved; keep it with -o FILE.json", err=True)
    elif not options["quiet"]:
        search = found.metric.id == "embed_query_context"
        what = "search CORPUS QUESTION" if search else "eval ANSWERS"
        say(
            f"closecall: written to {options['output']}; use it with: closecall {what} "
            f"--calibration {options['output']}",
            err=True,
        )
    return 0


def _refused(
    found: Infeasible,
    name: str,
    goal: Goal,
    options: dict[str, Any],
    refreshed: Refreshed | None,
) -> int:
    """Print why there is no cutoff, and return the exit code."""
    import msgspec

    from closecall.errors import NoCutoffError
    from closecall.report.no_cutoff import refusal
    from closecall.report.wrapped import columns, wrapped

    if options["form"] == "json":
        say_json({"cutoff": None, **msgspec.to_builtins(found)})
    else:
        data = None if refreshed is None else refreshed.before.data
        said = refusal(found, name if data is None else data.name, goal, _to_read(options, data))
        for line in wrapped(said, columns(sys.stdout)):
            say(line)
    if refreshed is not None and not options["quiet"]:
        say(f"closecall: {name} is as it was; nothing was written", err=True)
    return NoCutoffError.exit_code


def _to_read(options: dict[str, Any], data: DataFacts | None) -> list[str]:
    """Return the options with which another command reads the labelled file in the same way."""
    from closecall.calibration.labels.rows import WAYS

    group = options.get("group")
    if data is not None and not set(data.grouped_by.split(", else ")) <= set(WAYS):
        group = data.grouped_by
    typed = ["--group", group] if group else []
    for pair in options.get("mapping") or ():
        typed += ["--map", pair]
    if options.get("on_bad_row") == "skip":
        typed += ["--on-bad-row", "skip"]
    return typed
