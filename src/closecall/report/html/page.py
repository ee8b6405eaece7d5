"""The HTML report: one file that needs no network, no server and, for what matters, no scripts.

Memory holds the columns of all cases and the texts of a few hundred; blocks of cases wait in a
temporary file until the page around them is known.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from closecall.errors import RunFolderError, UsageError
from closecall.records import JSON
from closecall.report.charts.style import themed
from closecall.report.html.columns import LABELS, STATES, Columns
from closecall.report.html.data import Chunks
from closecall.report.html.escaping import ascii_html, csp_hash, packed, script_json
from closecall.report.html.first_cases import FirstCases
from closecall.report.html.worst_first import WorstFirst
from closecall.report.words import visible
from closecall.report.worst import decimals
from closecall.runs.claim import quoted
from closecall.runs.record import Run
from closecall.runs.results import CaseResult

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES = ("overview", "cases", "cutoff", "history", "compare")
"""The sections of the page in order. Each is a module here with ``context(page)`` and a template
of its name; a context of None leaves the section out."""

STATIC_CASES = 200
"""Cases that stand in the page without scripts, the worst first."""

_COPIED = 1 << 16


@dataclass(frozen=True)
class Page:
    """What the sections are made from.

    ``runs`` are all runs of the report, the oldest first; ``run`` is the last of them, whose
    cases the page holds. ``named`` is that run with the counts of all its cases and only those
    that an overview names; ``worst`` are its first cases, worst first, each with its place.
    ``compared`` are the two runs to compare, before and after; None of a single run.
    """

    runs: tuple[Run, ...]
    run: Run
    named: Run
    columns: Columns
    worst: tuple[tuple[int, CaseResult], ...]
    compared: tuple[Run, Run] | None = None


def write(run: Run, out: IO[str]) -> None:
    """Write the report of one run.

    Raises
    ------
    RunFolderError
        The run is not finished, or its folder cannot be read to the end.
    """
    write_runs([run], out)


def write_runs(
    runs: Sequence[Run], out: IO[str], *, compare: tuple[Run, Run] | None = None
) -> None:
    """Write the report of several runs: their history, two compared, the cases of the last.

    They are put in order of their start; the last two are compared where ``compare`` names no
    others of them, before and after.

    Raises
    ------
    UsageError
        There is no run, or one is named twice.
    RunFolderError
        A run is not finished, or its folder cannot be read to the end.
    """
    ordered = sorted(runs, key=lambda run: (run.header.started_at, run.header.run_id))
    _require_sound(ordered)
    run = ordered[-1]
    two = compare or ((ordered[-2], run) if len(ordered) > 1 else None)
    columns, worst, chunks = Columns(run.header), WorstFirst(STATIC_CASES), Chunks()
    first = FirstCases(run)
    with tempfile.TemporaryFile("w+", encoding="ascii") as blocks:
        for order, row in enumerate(run):
            columns.add(row)
            worst.add(order, row)
            first.add(row)
            for block in chunks.add(row):
                blocks.write(f"{block}\n")
        for block in chunks.finish():
            blocks.write(f"{block}\n")
        blocks.seek(0)
        page = Page(tuple(ordered), run, first.run(), columns, tuple(worst.rows()), two)
        for piece in _pieces(page, chunks.starts, blocks):
            out.write(piece)


def _require_sound(runs: Sequence[Run]) -> None:
    if not runs:
        raise UsageError("a report needs at least one run")
    for before, run in pairwise(runs):
        if before.header.run_id == run.header.run_id:
            raise UsageError(f"{run.folder or run.header.run_id}: this run is named twice")
    for run in runs:
        if run.header.ended_at is None and run.folder is not None:
            raise RunFolderError(
                f"{run.folder}: this run is not finished; go on with: closecall eval --resume "
                f"{quoted(run.folder)}, or see how far it came: closecall runs show "
                f"{quoted(run.folder)}"
            )


def _pieces(page: Page, starts: list[int], blocks: IO[str]) -> Iterator[str]:
    """Yield the page's text piece by piece, ASCII throughout."""
    sections, pages, extra = _sections(page)
    names = [name for name, _ in sections]
    style = (
        _asset("report.css")
        + themed()
        + "".join(_asset(f"{name}.css") for name in names if _has_asset(f"{name}.css"))
    )
    scripts = [
        "core",
        "labels",
        "shares",
        "sweep",
        "diff",
        "heat",
        "detail",
        *(name for name in names if _has_asset(f"{name}.js")),
    ]
    script = "\n".join(_asset(f"{name}.js") for name in scripts) + "\nCC.start();\n"
    context = {
        "title": visible(page.run.header.name),
        "style": _own(style),
        "style_hash": csp_hash(style),
        "script": _own(script),
        "script_hash": csp_hash(script),
        "sections": sections,
        "index": _own(script_json(_index(page, starts, pages))),
        "columns": packed(page.columns.to_json()),
        "extra": {name: packed(value) for name, value in extra.items()},
        "blocks": (line.rstrip("\n") for line in blocks),
    }
    for piece in environment().get_template("report.html").generate(context):
        yield ascii_html(piece)


def _sections(page: Page) -> tuple[list[tuple[str, Any]], dict[str, JSON], dict[str, JSON]]:
    """Return the sections with their contexts, their small data and their packed data."""
    sections: list[tuple[str, Any]] = []
    pages: dict[str, JSON] = {}
    extra: dict[str, JSON] = {}
    for name in PAGES:
        module = f"closecall.report.html.{name}"
        if find_spec(module) is None:
            continue
        context: Mapping[str, Any] | None = import_module(module).context(page)
        if context is None:
            continue
        sections.append((name, context))
        if "data" in context:
            pages[name] = context["data"]
        for block, value in context.get("blocks", {}).items():
            extra[f"{name}-{block}"] = value
    return sections, pages, extra


def _index(page: Page, starts: list[int], pages: dict[str, JSON]) -> dict[str, JSON]:
    run = page.run
    return {
        "run": run.header.run_id,
        "name": run.header.name,
        "dataset": run.header.dataset.path,
        "started": run.header.started_at,
        "content": run.header.content,
        "count": len(page.columns),
        "starts": starts,
        "states": [state.value for state in STATES],
        "labels": [None if label is None else label.value for label in LABELS],
        "metrics": [
            {
                "id": plan.id,
                "cutoff": plan.cutoff,
                "reject": None if plan.calibration is None else plan.calibration.reject,
                "source": plan.cutoff_source,
                "note": visible(plan.cutoff_note),
                "low": plan.low,
                "high": plan.high,
                "digits": decimals(plan.high),
                "guards": plan.guards,
                "judges": list(plan.judges),
            }
            for plan in run.header.metrics
        ],
        "pages": pages,
    }


def environment() -> Environment:
    """Return what renders the templates: everything that comes in is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("closecall.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["visible"] = visible
    return made


def _own(text: str) -> Any:
    """Mark what this package wrote, or has made safe already, as markup."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - never called with anything from outside


def _asset(name: str) -> str:
    return files("closecall.report.html").joinpath("assets", name).read_text("ascii")


def _has_asset(name: str) -> bool:
    return files("closecall.report.html").joinpath("assets", name).is_file()
