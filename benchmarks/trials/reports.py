"""What every report keeps whatever the texts of a run are: no markup, no escape, no formula."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Any

from closecall.report.formats import FORMATS, write
from closecall.runs.record import Run

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class ReportError(AssertionError):
    """A report holds what it must not."""


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: dict[str, int] = {}
        self.attributes: set[tuple[str, str]] = set()
        self.ways: set[str | None] = set()
        self.comments = 0
        self.policy = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {(tag, name) for name, _ in attrs}
        found = dict(attrs)
        for name in ("href", "src", "action", "xlink:href"):
            self.ways |= {found[name]} if found.get(name) else set()
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found.get("content") or ""

    def handle_comment(self, data: str) -> None:
        del data
        self.comments += 1


def page_of(run: Run) -> _Page:
    """Return the HTML report, taken apart."""
    return _Page(rendered(run, "html"))


def rendered(run: Run, name: str) -> str:
    """Return a report as text."""
    out = io.StringIO()
    write(run, name, out)
    return out.getvalue()


def check_all(run: Run, plain: _Page, names: Iterable[str] = tuple(FORMATS)) -> None:
    """Render every report and refuse what its texts must not have made of it.

    Parameters
    ----------
    run
        Of hostile texts.
    plain
        The page of a run of plain texts, with every kind of part that a page may have.
    names
        Which reports.

    Raises
    ------
    ReportError
        A report holds markup, an escape, a formula or no sound document.
    """
    for name in names:
        text = rendered(run, name)
        text.encode("utf-8")
        _CHECKS[name](text, plain)


def _page(text: str, plain: _Page) -> None:
    page = _Page(text)
    if page.policy != plain.policy or "default-src 'none'" not in page.policy:
        raise ReportError(f"the policy of the page is {page.policy!r}")
    odd = sorted(set(page.tags) - set(plain.tags)) + sorted(page.attributes - plain.attributes)
    if odd or page.comments:
        raise ReportError(f"the page has {odd} and {page.comments} comments")
    away = [way for way in page.ways if way and not way.startswith("#")]
    if away:
        raise ReportError(f"the page leads to {away}")
    for tag in ("script", "style", "meta", "link", "form", "h1"):
        if page.tags.get(tag) != plain.tags.get(tag):
            raise ReportError(f"the page has {page.tags.get(tag)} of {tag}")
    if re.search(r"[^\t\n\x20-\x7e]", text):
        raise ReportError("the page has more than printable ASCII")


def _lines(text: str, plain: object = None) -> None:
    """Refuse what a terminal would obey or a reader cannot see."""
    del plain
    odd = {
        char for char in set(text)
        if not (char.isprintable() or char in "\n\t" or unicodedata.category(char) == "Zs")
    }  # fmt: skip
    if odd:
        raise ReportError(f"it holds {sorted(map(hex, map(ord, odd)))}")


def _csv(text: str, plain: object = None) -> None:
    _lines(text)
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            number = re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell)
            if cell.startswith(_FORMULA) and not number:
                raise ReportError(f"a cell begins a formula: {cell[:60]!r}")


def _xml(text: str, plain: object = None) -> None:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ReportError("the document declares something")
    root = ET.fromstring(text)  # noqa: S314 - closecall's own output
    allowed = {
        "testsuites", "testsuite", "testcase", "properties", "property", "failure", "error",
        "skipped", "system-out", "system-err",
    }  # fmt: skip
    odd = {one.tag for one in root.iter()} - allowed
    if odd:
        raise ReportError(f"the document has {odd}")
    turned = re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text
    )
    if turned:
        raise ReportError(f"the document holds {turned[0]!a}")


def _json(text: str, plain: object = None) -> None:
    for line in (
        (text,) if text.lstrip()[:2].strip() == "{" and "\n " in text else text.splitlines()
    ):
        json.loads(line, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ReportError(f"{constant} is no JSON")


def _markdown(text: str, plain: object = None) -> None:
    _lines(text)
    # HTML tags that are theirs; any other would be the texts'.
    odd = set(re.findall(r"(?<!\\)<\s*([a-zA-Z!/][\w-]*)", re.sub(r"`+[^`\n]*`+", "", text)))
    if odd & {"script", "img", "svg", "iframe", "a", "style", "object", "form", "input"}:
        raise ReportError(f"it holds the tags {sorted(odd)}")


_CHECKS = {
    "table": _lines, "json": _json, "jsonl": _json, "csv": _csv, "markdown": _markdown,
    "junit": _xml, "html": _page,
}  # fmt: skip
