"""How charts look: one sheet for the page, whose colours follow its theme, one for a file.

Marks have classes, never colours. Lines of two series differ in their dashes too, and bars of two
classes in their direction, so that a print without colours can be read.
"""

from __future__ import annotations

from string import Template

_RULES = Template("""\
.cc-chart { font-family: $font; fill: $text; }
.cc-chart text { font-size: 12.5px; fill: $text; stroke: none; }
.cc-chart .cc-title { font-size: 15px; font-weight: 600; }
.cc-chart .cc-quiet { fill: $muted; font-size: 12px; }
.cc-chart .cc-beside { font-size: 12px; paint-order: stroke; stroke: $ground;
  stroke-width: 4px; stroke-linejoin: round; }
.cc-chart .cc-grid { stroke: $line; stroke-width: 1; fill: none; }
.cc-chart .cc-base { stroke: $muted; stroke-width: 1; fill: none; }
.cc-chart .cc-line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.cc-chart .cc-box { stroke: $ground; stroke-width: 0.5; }
.cc-chart .cc-reach { stroke-width: 1.5; fill: none; }
.cc-chart .cc-dot { stroke: $ground; stroke-width: 1; }
.cc-chart .cc-line.k-accept, .cc-chart .cc-reach.k-accept { stroke: $accept; }
.cc-chart .cc-line.k-reject, .cc-chart .cc-reach.k-reject
 { stroke: $reject; stroke-dasharray: 7 4; }
.cc-chart .cc-line.k-one, .cc-chart .cc-reach.k-one { stroke: $one; }
.cc-chart .cc-line.k-other, .cc-chart .cc-reach.k-other
 { stroke: $accept; stroke-dasharray: 2 3; }
.cc-chart .cc-line.k-limit, .cc-chart .cc-reach.k-limit { stroke: $text; stroke-width: 1.5; }
.cc-chart .cc-line.k-guide, .cc-chart .cc-reach.k-guide
 { stroke: $muted; stroke-width: 1.25; stroke-dasharray: 1 3; }
.cc-chart .cc-box.k-accept, .cc-chart .cc-dot.k-accept { fill: $accept; }
.cc-chart .cc-box.k-reject, .cc-chart .cc-dot.k-reject { fill: $reject; }
.cc-chart .cc-box.k-one, .cc-chart .cc-dot.k-one { fill: $one; }
.cc-chart .cc-box.k-other, .cc-chart .cc-dot.k-other { fill: $muted; }
.cc-chart .cc-box.k-limit, .cc-chart .cc-dot.k-limit { fill: $text; }
""")

PAPER = {
    "text": "#1c1e21",
    "muted": "#5c626b",
    "line": "#dfdfda",
    "ground": "#ffffff",
    "accept": "#1a6b3c",
    "reject": "#b3261e",
    "one": "#2f5bb7",
    "font": 'system-ui, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif',
}
"""Colours of a picture that stands alone: the light ones, fit for print."""

_THEME = {
    "text": "var(--text)",
    "muted": "var(--muted)",
    "line": "var(--line)",
    "ground": "var(--surface)",
    "accept": "var(--good)",
    "reject": "var(--bad)",
    "one": "var(--accent)",
    "font": "var(--font)",
}


def themed() -> str:
    """Return the rules for a page that defines the colours as variables."""
    return _RULES.substitute(_THEME) + ".cc-chart { display: block; width: 100%; height: auto; }\n"


def standalone() -> str:
    """Return the rules with colours of their own, on white."""
    return _RULES.substitute(PAPER)
