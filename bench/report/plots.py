"""The pictures of docs/performance.md, from the file of figures alone; the same file gives the same bytes.

Each has a background of its own. Its colours are those of light pages; a style sheet in it changes them where the
reader's browser prefers dark ones.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from bench.report.page import PICTURES, median, runs_of
from bench.report.record import LATENCY, THROUGHPUT, Record

__all__ = ["pictures"]

_PAPER, _INK, _GRID = "#fdfdfc", "#1f2429", "#d3d8dd"
_DARK = {_PAPER: "#14181c", _INK: "#e4e8ec", _GRID: "#3a424a"}
"""What becomes of these colours where the reader prefers dark pages; all others are seen on both."""

_COLOURS = {"ksqlpy": "#2f7fc1", "Kafka Streams": "#d17a22", "Flink": "#3f9a63"}
_FLOW = 0.4
"""How opaque the bar of the flow is, beside that of the second half."""

_MARKS = {"p50": "o", "p99": "^", "p99.9": "s", "max": "x"}

_SHOWN: dict[str, list[Artist]] = {
    THROUGHPUT: [
        Patch(color=_INK, label="second half"),
        Patch(color=_INK, alpha=_FLOW, label="flow"),
        Line2D([], [], color=_INK, linestyle="", marker=".", label="each round"),
    ],
    LATENCY: [
        Line2D([], [], color=_INK, linestyle="", marker=mark, markersize=5, label=name) for name, mark in _MARKS.items()
    ],
}
"""What stands in the legends."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ksqlpy",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": _INK,
    "axes.facecolor": _PAPER,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


def pictures(record: Record) -> dict[str, str]:
    """The SVG texts by their names, of the parts that have figures."""
    parts: tuple[tuple[str, Callable[[Record, Axes, str], None], str], ...] = (
        (THROUGHPUT, _rates, "results a second (thousands)"),
        (LATENCY, _latencies, "ms from a record sent to its result read, on a logarithmic scale"),
    )
    return {PICTURES[part]: _drawn(record, part, draw, label) for part, draw, label in parts if record.content[part]}


def _drawn(record: Record, part: str, draw: Callable[[Record, Axes, str], None], label: str) -> str:
    """A picture with a panel for each job that has figures."""
    jobs = [job for job in record.settings.jobs if any(run["job"] == job for run in record.content[part])]
    with matplotlib.rc_context(_STYLE):
        rows = [sum(bool(runs_of(record, part, job, who)) for who in record.settings.who) for job in jobs]
        figure = Figure(figsize=(8, 0.9 + sum(0.55 + 0.27 * n for n in rows)), facecolor=_PAPER, layout="constrained")
        grid = figure.subplots(len(jobs), 1, squeeze=False, sharex=part == LATENCY, gridspec_kw={"height_ratios": rows})
        for job, axes in zip(jobs, grid[:, 0], strict=True):
            axes.set_title(job)
            axes.grid(axis="x", linewidth=0.6)
            axes.tick_params(length=0)
            draw(record, axes, job)
            axes.invert_yaxis()
        grid[-1, 0].set_xlabel(label)
        figure.legend(handles=_SHOWN[part], loc="outside upper right", ncols=len(_SHOWN[part]), fontsize=8)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _for_both(text.getvalue())


def _for_both(svg: str) -> str:
    """The picture with a style sheet for readers who prefer dark pages."""
    rules = "".join(
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in _DARK.items()
        for kind in ("fill", "stroke")
    )
    head, tag, rest = svg.partition(" <defs>\n")
    sheet = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    lines = f"{head} {sheet}\n{tag}{rest}".splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _colour(who: str) -> str:
    return _COLOURS[who.rpartition(" ")[0]]


def _rates(record: Record, axes: Axes, job: str) -> None:
    """Bars of the second half with a point for each round, thinner ones of the flow below them."""
    shown = [who for who in record.settings.who if runs_of(record, THROUGHPUT, job, who)]
    for y, who in enumerate(shown):
        runs, colour = runs_of(record, THROUGHPUT, job, who), _colour(who)
        half, flow = (median(runs, name) or 0.0 for name in ("second_half", "flow"))
        axes.barh(y - 0.14, half / 1000, 0.46, color=colour)
        axes.barh(y + 0.25, flow / 1000, 0.22, color=colour, alpha=_FLOW)
        points = [run["second_half"] / 1000 for run in runs if run["second_half"] is not None]
        axes.plot(points, [y - 0.14] * len(points), ".", color=_INK, markersize=4)
    axes.set_yticks(range(len(shown)), shown)
    axes.set_xlim(left=0)


def _latencies(record: Record, axes: Axes, job: str) -> None:
    """A mark for each quantile, on one line."""
    shown = [who for who in record.settings.who if runs_of(record, LATENCY, job, who)]
    for y, who in enumerate(shown):
        [run, *_], colour = runs_of(record, LATENCY, job, who), _colour(who)
        known = [(name, run[name]) for name in _MARKS if run[name] is not None]
        if known:
            axes.plot([known[0][1], known[-1][1]], [y, y], "-", color=colour, linewidth=1, alpha=0.6)
        for name, value in known:
            axes.plot([value], [y], _MARKS[name], color=colour, markersize=5)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yticks(range(len(shown)), shown)
    axes.set_ylim(-0.6, len(shown) - 0.4)
