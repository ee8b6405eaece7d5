"""The comparison as Markdown, for a step summary or a comment on a pull request."""

from __future__ import annotations

from html import escape
from typing import IO

from closecall.report.compared_runs.overview import HEADS, NUMERIC, TEXT, Listed, page
from closecall.report.markdown import plain
from closecall.report.words import shorten, visible
from closecall.runs.comparing.records import RunComparison


def write(found: RunComparison, out: IO[str]) -> None:
    """Write the report; texts of cases are escaped, so nothing in them can format or link."""
    seen = page(found)
    lines = [f"### {plain(seen.title)}", "", f"**{plain(seen.verdict)}**", ""]
    lines += [f"- {plain(line)}" for line in (*seen.sides, *seen.cases)]
    lines += [
        "",
        f"| {' | '.join((*HEADS, ''))} |",
        f"| {' | '.join('---:' if at in NUMERIC else '---' for at in range(len(HEADS) + 1))} |",
    ]
    lines += [
        f"| {' | '.join(plain(cell) for cell in (*row, section.outcome))} |"
        for row, section in zip(seen.rows, seen.sections, strict=True)
    ]
    lines.append("")
    for section in seen.sections:
        lines += [f"**{plain(section.metric)}: {section.outcome}**", ""]
        lines += [f"- {plain(line)}" for line in filter(None, (section.why, *section.lines))]
        lines.append("")
        for listed in section.lists:
            lines += _listed(section.metric, listed)
    if seen.notes:
        lines += ["**Notes**", "", *(f"- {plain(line)}" for line in seen.notes), ""]
    lines += [f"*{plain(seen.rule)}*", "", f"*{plain(seen.blind)}*", ""]
    out.write("\n".join(lines))


def _listed(metric: str, listed: Listed) -> list[str]:
    rows = (
        f"| {plain(shorten(one.case_id, 60))} | {plain(one.a)} | {plain(one.b)} "
        f"| {plain(shorten(one.response_a, TEXT))} | {plain(shorten(one.response_b, TEXT))} |"
        for one in listed.entries
    )
    return [
        f"<details><summary>{listed.heading}: {escape(visible(metric))}</summary>",
        "",
        "| case | A | B | response of A | response of B |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        "</details>",
        "",
    ]
