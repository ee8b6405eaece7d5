"""An audit in the terminal and as JSON: what was counted, and the first findings of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import IO, Any

import msgspec

from closecall.audit.limits import Held, exit_code
from closecall.audit.records import Audit, CaseRef, Check, FileFacts, Severity
from closecall.report.words import narrow, plural, shorten, visible, visible_json
from closecall.report.wrapped import columns as width_of
from closecall.report.wrapped import wrapped

SHOWN = 5
"""Findings of a check that are shown, unless another number is asked for."""

NAMED = 4
"""Cases of a finding that are named."""

_TEXT = 70
_COLOURS = {0: "bold", 1: "bold red", 11: "bold yellow"}

NEAR = (
    "Near is a cosine of embeddings: it is nearly blind to a changed number, a negation or a "
    "swapped name. Numbers in digits and negations were compared beside it; look before you drop."
)


def write(
    found: Audit,
    held: Sequence[Held],
    out: IO[str],
    *,
    show: int = SHOWN,
    width: int | None = None,
) -> None:
    """Write the report, at most ``show`` findings of each check; a file gets plain text."""
    from rich.console import Console

    wide = width_of(out) if width is None else width
    console = Console(
        file=out,
        force_terminal=None if out.isatty() else False,
        width=wide,
        highlight=False,
        markup=False,
        emoji=False,
    )

    def say(lines: Sequence[str], style: str | None = None) -> None:
        for line in wrapped(lines, wide):
            console.print(line, style=style, soft_wrap=True)

    say([_title(found)], "bold")
    for facts in found.files:
        say(_of_file(facts), "dim")
    console.print()
    console.print(_table(found))
    for check in found.checks:
        lines = list(_lines(found, check, show))
        if lines:
            where = f" ({check.file})" if len(found.files) > 1 else ""
            console.print()
            say([f"{check.title}{where}"], "bold")
            say(lines)
    console.print()
    if held:
        say(["Limits"], "bold")
        say([f"  {_verdict(one)}" for one in held])
        console.print()
    if found.model is not None:
        say([NEAR], "dim")
    code = exit_code(held)
    say([f"{plural(len(found.findings), 'finding')}; exit code {code}"], _COLOURS[code])


def write_json(found: Audit, held: Sequence[Held], out: IO[str]) -> None:
    """Write everything there is as one JSON object, its findings one a line."""
    encode = json.JSONEncoder(ensure_ascii=narrow(out), allow_nan=False).encode

    def dump(value: Any) -> str:
        return visible_json(encode(msgspec.to_builtins(value)))

    out.write("{\n")
    for name in ("files", "embedder", "model", "instrument", "similarity", "checks"):
        out.write(f'  "{name}": {dump(getattr(found, name))},\n')
    out.write(f'  "limits": {dump(held)},\n  "exit_code": {exit_code(held)},\n  "findings": [')
    for index, finding in enumerate(found.findings):
        out.write(("," if index else "") + "\n    " + dump(finding))
    out.write("\n  ]\n}\n")


def _title(found: Audit) -> str:
    named = " and ".join(f"{one.name}: {plural(one.cases, 'case')}" for one in found.files)
    if found.model is None:
        return f"{named}, texts only"
    return f"{named}, {found.model}, near from a cosine of {found.similarity:g} on"


def _of_file(facts: FileFacts) -> list[str]:
    distinct = ", ".join(
        f"{name} {of.distinct:,} of {of.texts:,} distinct" for name, of in facts.fields.items()
    )
    labels = (
        f"{facts.name}: {plural(facts.accepts, 'accept')}, {plural(facts.rejects, 'reject')}, "
        f"{facts.unlabelled:,} unlabelled; {plural(facts.groups, 'group')} by {facts.grouped_by}, "
        f"the largest of {plural(facts.largest_group, 'case')}"
    )
    lines = [labels, f"  {distinct}", *(f"  {line}" for line in facts.reading)]
    if facts.bad_rows:
        lines.append(f"  {plural(facts.bad_rows, 'row')} could not be read and left out")
    return lines


def _table(found: Audit):  # type: ignore[no-untyped-def]  # noqa: ANN202 - rich is imported lazily
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("check", no_wrap=True)
    files = [one.name for one in found.files]
    columns = files if len(files) == 1 else [*files, BOTH]
    for name in columns:
        table.add_column("found / of" if len(files) == 1 else visible(name), justify="right")
    table.add_column("what is counted", overflow="fold")
    for name, checks in _by_name(found).items():
        cells = {check.file if check.file in files else BOTH: _counts(check) for check in checks}
        said = dict.fromkeys(
            check.counted if check.count is not None else f"not measured: {check.missing}"
            for check in checks
        )
        table.add_row(
            name, *(cells.get(column, "") for column in columns), visible("; ".join(said))
        )
    return table


BOTH = "both files"


def _by_name(found: Audit) -> dict[str, list[Check]]:
    named: dict[str, list[Check]] = {}
    for check in found.checks:
        named.setdefault(check.name, []).append(check)
    return named


def _counts(check: Check) -> str:
    if check.count is None:
        return "-"
    return f"{check.count:,}" if check.of is None else f"{check.count:,} / {check.of:,}"


def _lines(found: Audit, check: Check, show: int) -> Iterator[str]:
    """Yield what is said of a check below the table; nothing where all is well."""
    own = sorted(found.of(check), key=lambda finding: _GRAVEST.index(finding.severity))
    yield from (f"  {note}" for note in check.notes)
    if not own and check.name not in _ALWAYS:
        return
    split = ", ".join(f"{name} {count:,}" for name, count in check.by.items() if count)
    if split:
        yield f"  {split}"
    advised: set[str] = set()
    for finding in own[:show]:
        yield f"  {finding.severity.value}: {_cases(finding.cases)}{finding.words}"
        yield from (f'      "{shorten(text, _TEXT)}"' for text in finding.texts)
        advised.add(finding.advice)
    left = len(own) - min(show, len(own))
    if left:
        yield f"  and {left:,} more (--format json lists them all, --show N more of them)"
    yield from (f"  Next: {advice}." for advice in sorted(advised))


_GRAVEST = (Severity.ERROR, Severity.WARNING, Severity.INFO)

_ALWAYS = frozenset({"languages", "labels"})
"""Checks whose counts are worth knowing where nothing was found."""


def _cases(cases: Sequence[CaseRef]) -> str:
    if not cases:
        return ""
    named = ", ".join(_named(case) for case in cases[:NAMED])
    left = len(cases) - NAMED
    return f"{named}{f' and {left:,} more' if left > 0 else ''}: "


def _named(case: CaseRef) -> str:
    if not case.place:
        return shorten(case.id, 40)
    place = case.place.replace("\\", "/").rpartition("/")[2]
    return f"{shorten(place, 40)} ({shorten(case.id, 40)})"


def _verdict(one: Held) -> str:
    state = {True: "passed", False: "FAILED", None: "cannot be told"}[one.passed]
    return f"{one.check} <= {one.most:,}: {state}, {one.reason}"


__all__ = ["SHOWN", "write", "write_json"]
