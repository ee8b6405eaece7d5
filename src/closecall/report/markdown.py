"""The run as Markdown, for a step summary or a comment on a pull request."""

from __future__ import annotations

import re
from html import escape
from typing import IO

from closecall.report.overview import overview
from closecall.report.words import blind, shorten, visible
from closecall.runs.record import Run

TEXT_WIDTH = 160
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~!@&]|://|(?i:www)(?=\.)")


def write(run: Run, out: IO[str]) -> None:
    """Write the report; case texts are escaped, so nothing in them can format or link."""
    seen = overview(run)
    lines = [f"### {_text(seen.title)}", ""]
    lines += [f"- {_text(line)}" for line in seen.reading]
    if seen.reading:
        lines.append("")
    lines += [
        "| metric | passed / measured / asked | mean | median | cutoff | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        *(f"| {' | '.join(_text(cell) for cell in row)} |" for row in seen.rows),
        "",
    ]
    for heading, entries in (
        ("Gates", seen.gates),
        ("Cascade", seen.cascade),
        ("Against your labels", seen.labelled),
        ("Not measured", seen.absent),
        ("Held back by guards, the first", seen.held),
        ("Notes", seen.notes),
    ):
        if entries:
            lines += [f"**{heading}**", "", *(f"- {_text(line)}" for line in entries), ""]
    for metric, worst in seen.worst.items():
        first, second = worst[0].first_name, worst[0].second_name
        lines += [
            f"<details><summary>Lowest {escape(visible(metric))}</summary>",
            "",
            f"| case | value | state | {first} | {second} |",
            "| --- | ---: | --- | --- | --- |",
            *(
                f"| {_text(shorten(entry.case_id, 60))} | {entry.value} "
                f"| {entry.state} | {_text(shorten(entry.first, TEXT_WIDTH))} "
                f"| {_text(shorten(entry.second, TEXT_WIDTH))} |"
                for entry in worst
            ),
            "",
            "</details>",
            "",
        ]
    lines += [
        f"**{_text(seen.verdict)}**",
        "",
        f"*{blind(plan.id for plan in run.header.metrics)}*",
        "",
    ]
    out.write("\n".join(lines))


def _text(text: str) -> str:
    """Return the text with everything Markdown or HTML gives meaning to escaped."""
    line = visible(text).replace("\n", " ").replace("\t", " ")
    return _SPECIAL.sub(_escaped, line)


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found.lower() == "www":
        return found + _BREAK
    return _ENTITY.get(found, "\\" + found)


_BREAK = "&#8203;"
"""A space of no width. Addresses, mentions and issue numbers are linked in the finished page,
where escapes are gone already; only this keeps their parts from meeting."""

# A backslash does not stop a tag or an entity everywhere Markdown is shown.
_ENTITY = {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
    "@": f"&#64;{_BREAK}",
    "#": f"&#35;{_BREAK}",
    "://": f"&#58;{_BREAK}//",
}
