"""The run as Markdown, for a step summary or a comment on a pull request.

GitHub takes 65,536 characters in a comment and 1 MiB in the summary of a step, and drops the whole
of what is longer. A report stays below both: what finds no room is counted instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import IO, NamedTuple

from closecall.report.overview import Overview, overview
from closecall.report.slice_words import COLUMNS, figures, left_out, uses_labels
from closecall.report.slices import slices_of
from closecall.report.spending import HEADINGS, spending_notes, spending_rows
from closecall.report.words import blind, plural, shorten, visible
from closecall.report.worst import Worst
from closecall.runs.record import Run

TEXT_WIDTH = 160
MOST = 60_000
"""Characters of a report: what a comment may hold, less a page for words of one's own."""
LINE = 1_000
"""Characters of one entry, before escapes."""
_ENDING = 8_000
"""Characters kept free for the verdict and for what is said of what was left out."""
_NAMED = 10
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~!@&$]|://|(?i:www)(?=\.)|(?i:\bgh)(?=-\d)|:(?=[\w+-]+:)")
_STARTS_BLOCK = re.compile(r"^(\d*)([-+]|[.)](?=\s|$))")


class _Block(NamedTuple):
    """A part of the report: its entries may be cut short, what is around them may not."""

    name: str
    noun: str
    before: list[str]
    entries: list[str]
    after: list[str]


def write(run: Run, out: IO[str]) -> None:
    """Write the report; case texts are escaped, so nothing in them can format or link."""
    seen = overview(run)
    lines = [f"### {plain(_limited(seen.title))}", ""]
    room = MOST - _ENDING - _size(lines)
    left_out: dict[str, tuple[int, str]] = {}
    for block in (*_blocks(seen), *_spent(run), *_lowest(seen), *_slices(run)):
        fits = _fitting(block, room)
        if fits:
            part = [*block.before, *block.entries[:fits], *block.after]
            room -= _size(part)
            lines += part
        if fits < len(block.entries):
            left_out[block.name] = (len(block.entries) - fits, block.noun)
    lines += _left_out(left_out)
    lines += [
        f"**{plain(seen.verdict)}**",
        "",
        f"*{blind(plan.id for plan in run.header.metrics)}*",
        "",
    ]
    out.write("\n".join(lines))


def _blocks(seen: Overview) -> Iterator[_Block]:
    """Yield the parts in the order in which they are read, and in which room is given."""
    if seen.reading:
        yield _Block("How the file was read", "line", [], _items(seen.reading), [""])
    head = [
        "| metric | passed / measured / asked | mean | median | cutoff | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    yield _Block("Metrics", "metric", head, [_row(*row) for row in seen.rows], [""])
    for heading, entries in (
        ("Gates", seen.gates),
        *seen.runs.items(),
        ("Cascade", seen.cascade),
        ("Against your labels", seen.labelled),
        ("Not measured", seen.absent),
        ("Held back by guards, the first", seen.held),
        ("Unsure, beside the nearest labelled answers", seen.unsure),
        ("Notes", seen.notes),
    ):
        if entries:
            yield _Block(heading, "line", [f"**{heading}**", ""], _items(entries), [""])


def _spent(run: Run) -> Iterator[_Block]:
    """Yield what was spent as a table and notes; nothing where nothing was asked."""
    rows = spending_rows(run.spending)
    if not rows:
        return
    head = ["#### Spent", "", _row(*HEADINGS), "|---|---|" + "---:|" * (len(HEADINGS) - 2)]
    yield _Block("Spent", "row", head, [_row(*row) for row in rows], [""])
    yield _Block("Notes on what was spent", "line", [], _items(spending_notes(run.spending)), [""])


def _slices(run: Run) -> Iterator[_Block]:
    """Yield a table that opens for each field by which the cases fall into a few slices."""
    found = slices_of(run.header, run)
    shown = COLUMNS if uses_labels(found) else COLUMNS[:-2]
    for one in found.fields:
        name = f"Slices by {shorten(one.field, TEXT_WIDTH)}"
        absent = f" ({plural(one.absent, 'case')} without)" if one.absent else ""
        head = [
            f"<details><summary>{_html(name + absent)}</summary>",
            "",
            _row("value", "cases", "metric", *shown),
            "| --- | ---: | --- |" + " ---: |" * len(shown),
        ]
        rows = [
            _row(
                shorten(part.value, 60),
                f"{part.cases:,}",
                figure.metric,
                *figures(figure)[: len(shown)],
            )
            for part in one.slices
            for figure in part.metrics
        ]
        yield _Block(name, "row", head, rows, ["", "</details>", ""])
    if found.fields:
        yield _Block("Notes on slices", "line", [], _items(list(left_out(found))), [""])


def _lowest(seen: Overview) -> Iterator[_Block]:
    """Yield the lowest cases of each metric as a table that opens."""
    for metric, worst in seen.worst.items():
        name = f"Lowest {shorten(metric, TEXT_WIDTH)}"
        columns = ["case", "value", "state", worst[0].first_name, worst[0].second_name]
        rows = [_case(entry) for entry in worst]
        if any(entry.said for entry in worst):
            columns.append("why")
            rows = [[*row, _why(entry)] for row, entry in zip(rows, worst, strict=True)]
        head = [
            f"<details><summary>{_html(name)}</summary>",
            "",
            f"| {' | '.join(columns)} |",
            f"| --- | ---: |{' --- |' * (len(columns) - 2)}",
        ]
        lines = [_row(*row) for row in rows]
        yield _Block(name, "case", head, lines, ["", "</details>", ""])


def _case(entry: Worst) -> list[str]:
    first, second = (shorten(text, TEXT_WIDTH) for text in (entry.first, entry.second))
    return [shorten(entry.case_id, 60), entry.value, entry.state, first, second]


def _why(entry: Worst) -> str:
    """Return what the metric says of a case, in one cell."""
    return "; ".join(f"{name}: {shorten(text, TEXT_WIDTH)}" for name, text in entry.said)


def _row(*cells: str) -> str:
    return f"| {' | '.join(plain(_limited(cell)) for cell in cells)} |"


def _items(lines: Sequence[str]) -> list[str]:
    """Return the lines as items of a list; none of them can start a list or a rule of its own."""
    shown = (plain(_limited(line.strip())) for line in lines)
    return [f"- {_STARTS_BLOCK.sub(_AS_TEXT, line)}" for line in shown]


_AS_TEXT = r"\1\\\2"


def _limited(text: str) -> str:
    """Return the text, or its start and how much more there is."""
    left = len(text) - LINE
    return text if left <= 0 else f"{text[:LINE]}… ({left:,} characters more)"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _fitting(block: _Block, room: int) -> int:
    """Return how many entries of the block there is room for, with what stands around them."""
    room -= _size(block.before) + _size(block.after)
    for fits, entry in enumerate(block.entries):
        room -= len(entry) + 1
        if room < 0:
            return fits
    return len(block.entries)


def _left_out(found: dict[str, tuple[int, str]]) -> list[str]:
    """Say what found no room, so that nobody takes the report for the whole."""
    if not found:
        return []
    told = [
        f"{plain(shorten(name, 40))} ({plural(count, noun)})"
        for name, (count, noun) in list(found.items())[:_NAMED]
    ]
    rest = list(found.values())[_NAMED:]
    if rest:
        told.append(f"{plural(len(rest), 'other part')} ({sum(n for n, _ in rest):,} entries)")
    words = "a comment on GitHub may have 65,536 characters, so there was no room for"
    line = f"- {words}: {', '.join(told)}; the other formats have all of it"
    return ["**Left out**", "", line, ""]


def _html(text: str) -> str:
    """Return the text as HTML, in which Markdown's own escapes would be shown."""
    line = escape(visible(text).replace("\n", " "))
    return re.sub(r"@|#(?!\w+;)|://", lambda match: _ENTITY[match.group()], line)


def plain(text: str) -> str:
    """Return the text with everything Markdown or HTML gives meaning to escaped."""
    line = visible(text).replace("\n", " ").replace("\t", " ")
    return _SPECIAL.sub(_escaped, line)


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found.lower() in {"www", "gh", ":"}:
        return found + _BREAK
    return _ENTITY.get(found, "\\" + found)


_BREAK = "&#8203;"
"""A space of no width. Addresses, mentions, issue numbers and names of emoji are looked for in the
finished page, where escapes are gone already; only this keeps their parts from meeting."""

# A backslash does not stop a tag or an entity everywhere Markdown is shown.
_ENTITY = {
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
    "$": "&#36;",
    "@": f"&#64;{_BREAK}",
    "#": f"&#35;{_BREAK}",
    "://": f"&#58;{_BREAK}//",
}
