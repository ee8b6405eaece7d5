"""A chart as PNG through matplotlib, for papers: the same marks as the SVG's."""

from __future__ import annotations

import io
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from closecall.errors import MissingExtraError
from closecall.report.charts.chart import Boxes, Chart, Dots, Line, Mark
from closecall.report.charts.style import PAPER
from closecall.report.words import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 200
_INCHES = 6.0
_PX = 100
_NOTE = 100

_COLOURS = {
    "accept": PAPER["accept"],
    "reject": PAPER["reject"],
    "one": PAPER["one"],
    "other": PAPER["accept"],
    "limit": PAPER["text"],
    "guide": PAPER["muted"],
}
_DASHES = {"reject": (0, (5, 3)), "other": (0, (1, 1.5)), "guide": (0, (1, 2))}


def png(chart: Chart) -> bytes:
    """Return the picture at 200 dots an inch, 6 inches wide.

    No backend is chosen and no window is opened. The same chart gives the same bytes with the
    same version of matplotlib and the same fonts.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A PNG picture", "plot", ["matplotlib"]) from error
    # A text is written as it stands: a dollar sign begins no formula.
    with rc_context({"text.parse_math": False, "text.usetex": False, "font.size": 9}):
        figure = Figure(figsize=(_INCHES, chart.height / _PX + 0.6), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        _draw(chart, figure.add_subplot())
        if chart.notes:
            figure.supxlabel(
                visible("\n".join(line for note in chart.notes for line in wrap(note, _NOTE))),
                fontsize=7.5,
                color=PAPER["muted"],
                x=0.02,
                ha="left",
            )
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def _draw(chart: Chart, axes: Axes) -> None:
    axes.set_title(visible(chart.title), loc="left", fontsize=10, fontweight="bold")
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_ylim(chart.y.low, chart.y.high)
    axes.set_xticks([t.at for t in chart.x.ticks], [visible(t.text) for t in chart.x.ticks])
    axes.set_yticks([t.at for t in chart.y.ticks], [visible(t.text) for t in chart.y.ticks])
    axes.set_xlabel(visible(chart.x.label))
    axes.set_ylabel(visible(chart.y.label))
    axes.set_axisbelow(True)
    axes.grid(color=PAPER["line"], linewidth=0.6, axis="x" if chart.kind == "movers" else "both")
    axes.tick_params(length=0, labelcolor=PAPER["muted"])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(PAPER["muted"])
    if chart.y.low < 0 < chart.y.high and chart.kind != "det":
        axes.axhline(0, color=PAPER["muted"], linewidth=0.8)
    for mark in chart.marks:
        _mark(mark, axes)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.06 if _cut(chart) else 1.0),
            ncols=2,
            fontsize=8,
            frameon=False,
            borderaxespad=0.2,
        )
        axes.set_title(visible(chart.title), loc="left", fontsize=10, fontweight="bold", pad=40)


def _cut(chart: Chart) -> bool:
    return any(not isinstance(m, Boxes | Line | Dots) and m.axis == "x" for m in chart.marks)


def _mark(mark: Mark, axes: Axes) -> None:
    colour = _COLOURS[mark.look]
    # matplotlib leaves a name with a leading underscore out of the legend.
    named: dict[str, Any] = {}
    if not isinstance(mark, Boxes | Line | Dots):
        _rule(mark, axes, colour)
        return
    if mark.name:
        named["label"] = f" {visible(mark.name)}" if mark.name[0] == "_" else visible(mark.name)
    if isinstance(mark, Boxes):
        level = [min(box.y0, box.y1) for box in mark.boxes]
        axes.bar(
            [min(box.x0, box.x1) for box in mark.boxes],
            [abs(box.y1 - box.y0) for box in mark.boxes],
            [abs(box.x1 - box.x0) for box in mark.boxes],
            level,
            align="edge",
            color=colour,
            edgecolor="white",
            linewidth=0.3,
            **named,
        )
    elif isinstance(mark, Line):
        xs, ys = zip(*mark.points, strict=True)
        axes.plot(
            xs, ys, color=colour, linewidth=1.4, linestyle=_DASHES.get(mark.look, "-"), **named
        )
    else:
        for dot in mark.dots:
            if dot.x_range is not None:
                axes.plot(dot.x_range, (dot.y, dot.y), color=colour, linewidth=1)
            if dot.y_range is not None:
                axes.plot((dot.x, dot.x), dot.y_range, color=colour, linewidth=1)
            if dot.written:
                axes.annotate(
                    visible(dot.written),
                    (dot.x, dot.y),
                    xytext=(5, 5),
                    textcoords="offset points",
                    fontsize=7.5,
                )
        axes.plot(
            [dot.x for dot in mark.dots],
            [dot.y for dot in mark.dots],
            linestyle="",
            marker="o",
            markersize=4.5,
            color=colour,
            markeredgecolor="white",
            **named,
        )


def _rule(mark: Any, axes: Axes, colour: str) -> None:
    dashes = _DASHES.get(mark.look, "-")
    if mark.axis == "x":
        axes.axvline(mark.at, color=colour, linewidth=1.1, linestyle=dashes)
        if mark.written:
            axes.annotate(
                visible(mark.written),
                (mark.at, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    else:
        axes.axhline(mark.at, color=colour, linewidth=1.1, linestyle=dashes)
        if mark.written:
            axes.annotate(
                visible(mark.written),
                (1.0, mark.at),
                xycoords=("axes fraction", "data"),
                xytext=(-3, 3),
                textcoords="offset points",
                ha="right",
                fontsize=8,
            )
