"""The comparison as one static page: no scripts, nothing loaded from anywhere.

Every text goes through the template's escaping, and what a browser would obey without being
markup (direction overrides, control characters) is spelt out first.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import IO, TYPE_CHECKING, Any

from closecall.report.compared_runs.overview import HEADS, NUMERIC, Page, page
from closecall.report.words import visible
from closecall.runs.comparing.records import RunComparison

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE, STYLE = "page.html.jinja", "page.css"


def write(found: RunComparison, out: IO[str]) -> None:
    """Write the page."""
    out.write(_template().render(_context(page(found))))


def _context(seen: Page) -> dict[str, Any]:
    style = _read(STYLE)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "heads": HEADS,
        "numeric": NUMERIC,
        "page": seen,
        "style": style,
        "policy": (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        ),
    }


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalized,
    )
    return made.from_string(_read(TEMPLATE))


def _finalized(value: Any) -> Any:
    """Spell out what a browser would obey; markup of the template's own stays as it is."""
    return visible(value) if type(value) is str else value


def _read(name: str) -> str:
    return files("closecall.report.compared_runs").joinpath(name).read_text(encoding="utf-8")
