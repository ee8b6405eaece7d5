"""A chart as SVG text: the same chart gives the same bytes.

Without a style of its own the picture takes the page's (``style.themed``); a standalone one brings
it along, with its title and a white ground. All texts are escaped, control characters spelt out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap
from typing import NamedTuple

from closecall.report.charts.chart import (
    Axis,
    Boxes,
    Chart,
    Dot,
    Dots,
    Line,
    Mark,
    Rule,
)
from closecall.report.charts.style import standalone as own_style
from closecall.report.words import visible

WIDTH = 600
_RIGHT = 22
_LETTER = 6.7
"""Width of a letter of 12.5 px, on average and rather too wide."""

_ROW = 20
_SWATCH = 26
_NOTE = 92
"""Characters of a note on one line."""

_NEAR = 1.0
"""Points of a line that lie nearer together than so many px are drawn as one."""


class _Frame(NamedTuple):
    """Where the plot lies in the picture, in px, and the axes that it is drawn by."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis

    def across(self, value: float) -> float:
        return self.left + self.width * min(max(self.x.place(value), -0.5), 1.5)

    def down(self, value: float) -> float:
        return self.top + self.height * (1 - min(max(self.y.place(value), -0.5), 1.5))


def svg(chart: Chart, name: str, *, standalone: bool = False) -> str:
    """Return the picture.

    Parameters
    ----------
    chart
        What to draw.
    name
        An id that no other element of the page has; letters, digits and hyphens.
    standalone
        Whether it is a file of its own.
    """
    legend = list(_legend_rows(chart.marks))
    head = 34 if standalone else 8
    left = max(58.0, 24 + _LETTER * max((len(tick.text) for tick in chart.y.ticks), default=0))
    if chart.y.label:
        left += 18
    written = any(
        isinstance(mark, Rule) and mark.axis == "x" and mark.written for mark in chart.marks
    )
    top = head + _ROW * len(legend) + (20 if written else 8)
    notes = [line for note in chart.notes for line in wrap(note, _NOTE)]
    bottom = 54 + 17 * len(notes)
    height = top + bottom + chart.height - 90
    frame = _Frame(left, top, WIDTH - left - _RIGHT, height - top - bottom, chart.x, chart.y)
    return "".join(
        f"{line}\n" for line in _lines(chart, name, frame, legend, height, standalone=standalone)
    )


def _lines(
    chart: Chart,
    name: str,
    frame: _Frame,
    legend: list[list[tuple[float, Mark]]],
    height: float,
    *,
    standalone: bool,
) -> Iterator[str]:
    size = f' width="{WIDTH}" height="{_px(height)}"' if standalone else ""
    plot = " ".join(
        f'data-{key}="{value}"'
        for key, value in (
            ("left", _px(frame.left)),
            ("top", _px(frame.top)),
            ("width", _px(frame.width)),
            ("height", _px(frame.height)),
            ("low", f"{chart.x.low:.12g}"),
            ("high", f"{chart.x.high:.12g}"),
            ("ceiling", f"{chart.y.high:.12g}"),
        )
    )
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    yield (
        f'<svg{space} class="cc-chart cc-{chart.kind}" viewBox="0 0 {WIDTH} {_px(height)}"{size} '
        f'role="img" aria-labelledby="{name}-t {name}-d" {plot}>'
    )
    yield f'<title id="{name}-t">{_said(chart.title)}</title>'
    yield f'<desc id="{name}-d">{_said(" ".join([chart.told, *chart.notes]))}</desc>'
    if standalone:
        yield f"<style>\n{own_style()}</style>"
        yield f'<rect width="{WIDTH}" height="{_px(height)}" fill="#ffffff"/>'
        yield _text(16, 24, chart.title, "cc-title")
    yield (
        f'<clipPath id="{name}-c"><rect x="{_px(frame.left - 1)}" y="{_px(frame.top - 1)}" '
        f'width="{_px(frame.width + 2)}" height="{_px(frame.height + 2)}"/></clipPath>'
    )
    yield from _legend(legend, 34 if standalone else 8)
    yield from _axes(chart, frame)
    yield f'<g clip-path="url(#{name}-c)">'
    for mark in chart.marks:
        yield from _drawn(mark, frame)
    yield "</g>"
    yield from _beside(chart.marks, frame)
    for at, note in enumerate(line for told in chart.notes for line in wrap(told, _NOTE)):
        yield _text(16, frame.top + frame.height + 62 + 17 * at, note, "cc-quiet")
    yield "</svg>"


def _axes(chart: Chart, frame: _Frame) -> Iterator[str]:
    right, floor = frame.left + frame.width, frame.top + frame.height
    for tick in chart.y.ticks:
        y = _px(frame.down(tick.at))
        if chart.kind != "movers":
            yield f'<path class="cc-grid" d="M{_px(frame.left)} {y}H{_px(right)}"/>'
        yield _text(frame.left - 8, float(y) + 4, tick.text, "cc-quiet", "end")
    for tick in chart.x.ticks:
        x = _px(frame.across(tick.at))
        yield f'<path class="cc-grid" d="M{x} {_px(frame.top)}V{_px(floor)}"/>'
        yield _text(float(x), floor + 18, tick.text, "cc-quiet", "middle")
    level = frame.down(0) if chart.y.holds(0) and chart.y.low < 0 else floor
    if chart.kind == "det":
        level = floor
    yield f'<path class="cc-base" d="M{_px(frame.left)} {_px(level)}H{_px(right)}"/>'
    yield _text((frame.left + right) / 2, floor + 40, chart.x.label, "", "middle")
    if chart.y.label:
        middle = _px(frame.top + frame.height / 2)
        yield (
            f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">'
            f"{_said(chart.y.label)}</text>"
        )


def _drawn(mark: Mark, frame: _Frame) -> Iterator[str]:
    if isinstance(mark, Boxes):
        for box in mark.boxes:
            xs = sorted((frame.across(box.x0), frame.across(box.x1)))
            ys = sorted((frame.down(box.y0), frame.down(box.y1)))
            told = f"<title>{_said(box.told)}</title>" if box.told else ""
            yield (
                f'<rect class="cc-box k-{mark.look}" x="{_px(xs[0])}" y="{_px(ys[0])}" '
                f'width="{_px(max(xs[1] - xs[0], 0.5))}" height="{_px(max(ys[1] - ys[0], 0.5))}">'
                f"{told}</rect>"
            )
    elif isinstance(mark, Line):
        yield f'<path class="cc-line k-{mark.look}" d="{_path(mark, frame)}"/>'
    elif isinstance(mark, Dots):
        for dot in mark.dots:
            yield from _dot(mark.look, dot, frame)
    elif mark.axis == "x":
        x = _px(frame.across(mark.at))
        floor = _px(frame.top + frame.height)
        yield f'<path class="cc-line k-{mark.look}" d="M{x} {_px(frame.top)}V{floor}"/>'
    else:
        y = _px(frame.down(mark.at))
        right = _px(frame.left + frame.width)
        yield f'<path class="cc-line k-{mark.look}" d="M{_px(frame.left)} {y}H{right}"/>'


def _dot(look: str, dot: Dot, frame: _Frame) -> Iterator[str]:
    x, y = _px(frame.across(dot.x)), _px(frame.down(dot.y))
    if dot.x_range is not None:
        ends = " ".join(f"{_px(frame.across(end))}" for end in dot.x_range).split()
        yield f'<path class="cc-reach k-{look}" d="M{ends[0]} {y}H{ends[1]}"/>'
    if dot.y_range is not None:
        ends = [_px(frame.down(end)) for end in dot.y_range]
        yield f'<path class="cc-reach k-{look}" d="M{x} {ends[0]}V{ends[1]}"/>'
    told = f"<title>{_said(dot.told)}</title>" if dot.told else ""
    yield f'<circle class="cc-dot k-{look}" cx="{x}" cy="{y}" r="4.5">{told}</circle>'


def _path(line: Line, frame: _Frame) -> str:
    """Return the line's path; points too near to tell apart are drawn as one."""
    found: list[tuple[float, float]] = []
    points = [(frame.across(x), frame.down(y)) for x, y in line.points]
    for at, (x, y) in enumerate(points):
        last = at + 1 == len(points)
        far = not found or max(abs(x - found[-1][0]), abs(y - found[-1][1])) >= _NEAR
        if far:
            # The point before keeps a corner where it was.
            if found and at and line.stairs and points[at - 1] != found[-1]:
                found.append(points[at - 1])
            found.append((x, y))
        elif last:
            found.append((x, y))
    (x, y), *rest = found
    return f"M{_short(x)} {_short(y)}" + "".join(f"L{_short(x)} {_short(y)}" for x, y in rest)


def _beside(marks: Sequence[Mark], frame: _Frame) -> Iterator[str]:
    """Yield what is written beside rules and points, above everything that is drawn."""
    right = frame.left + frame.width
    ends: list[float] = []
    for mark in marks:
        if isinstance(mark, Rule) and mark.written and mark.axis == "x":
            x, half = frame.across(mark.at), _LETTER * len(mark.written) / 2
            x = min(max(x, frame.left + half), right - half)
            clear = not ends or x - half > ends[-1] + 6
            y = frame.top - 6 if clear else frame.top + 12
            ends.append(x + half)
            yield _text(x, y, mark.written, "cc-beside", "middle")
        elif isinstance(mark, Rule) and mark.written:
            yield _text(right - 4, frame.down(mark.at) - 5, mark.written, "cc-beside", "end")
        elif isinstance(mark, Dots):
            for dot in mark.dots:
                if dot.written:
                    yield _written(dot, frame)


def _written(dot: Dot, frame: _Frame) -> str:
    x, y = frame.across(dot.x), frame.down(dot.y)
    room = frame.left + frame.width - x > _LETTER * len(dot.written) + 14
    up = y - 8 if y - frame.top > 24 else y + 18  # noqa: PLR2004 - px
    return _text(
        x + 8 if room else x - 8, up, dot.written, "cc-beside", "start" if room else "end"
    )


def _legend_rows(marks: Sequence[Mark]) -> Iterator[list[tuple[float, Mark]]]:
    """Yield the named series of each row with where they begin."""
    row: list[tuple[float, Mark]] = []
    x = 16.0
    for mark in marks:
        if isinstance(mark, Rule) or not mark.name:
            continue
        width = _SWATCH + 8 + _LETTER * len(visible(mark.name)) + 18
        if row and x + width > WIDTH:
            yield row
            row, x = [], 16.0
        row.append((x, mark))
        x += width
    if row:
        yield row


def _legend(rows: list[list[tuple[float, Mark]]], head: float) -> Iterator[str]:
    for number, row in enumerate(rows):
        y = head + _ROW * number + 12
        for x, mark in row:
            if isinstance(mark, Boxes):
                yield (
                    f'<rect class="cc-box k-{mark.look}" x="{_px(x + 6)}" y="{_px(y - 7)}" '
                    'width="14" height="12"/>'
                )
            elif isinstance(mark, Line):
                yield (
                    f'<path class="cc-line k-{mark.look}" '
                    f'd="M{_px(x)} {_px(y - 1)}H{_px(x + _SWATCH)}"/>'
                )
            elif isinstance(mark, Dots):
                yield (
                    f'<path class="cc-reach k-{mark.look}" '
                    f'd="M{_px(x + 13)} {_px(y - 9)}V{_px(y + 7)}"/>'
                )
                yield (
                    f'<circle class="cc-dot k-{mark.look}" cx="{_px(x + 13)}" '
                    f'cy="{_px(y - 1)}" r="4.5"/>'
                )
            if not isinstance(mark, Rule):
                yield _text(x + _SWATCH + 8, y + 3, mark.name, "")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{named} x="{_px(x)}" y="{_px(y)}"{placed}>{_said(text)}</text>'


def _said(text: str) -> str:
    return escape(visible(text).replace("\n", " "))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _px(value: float) -> str:
    """Return a length in px to two decimals, in the fewest letters."""
    found = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if found == "-0" else found
