# SPDX-License-Identifier: Apache-2.0
"""Draws what the queues of one core do in a window of model cycles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..plotting import new_figure
from .trace import OUTSIDE, CoreTrace, Slice

# Distinct in hue or in lightness from their neighbours, so that consecutive stages differ also in grey.
COLOURS = (
    "#4e79a7", "#f28e2b", "#8cd17d", "#b6992d", "#d37295", "#499894",
    "#e15759", "#a0cbe8", "#9d7660", "#b07aa1", "#f1ce63", "#d4a6c8",
)  # fmt: skip
WAIT_COLOUR = "#ececec"
FREE_WINDOW_CYCLES = 20_000  # without stages that repeat
LETTER_SHARE = 0.0048  # of the window, one letter of a label: stalls too narrow for theirs carry none


def kind_of(core: CoreTrace):
    """What tells the instructions of a kernel apart: their stages, or their names where the kernel marks no stages."""
    marked = core.stages - {OUTSIDE}
    if marked:
        return lambda item: item.stage
    return lambda item: "issue" if item.name.startswith("issue ") else item.name


def rounds(core: CoreTrace) -> list[float]:
    """Where the kernel's main loop comes round. Most calls in a kernel are made once in a round, whether its stages
    follow one another or interleave; so the rounds are as many as the times most calls were made, and one begins at
    each time of the longest such call. There are none where calls made once take most of the time. All that is told on
    the busiest queue, whose work is in order; S, which runs ahead of the others, does not count."""
    busy: dict[tuple, float] = {}
    times: dict[tuple, list[float]] = {}
    call = None
    queues = [name for name in core.lanes if name != "S"]
    queue = max(queues, key=lambda name: sum(i.end - i.start for i in core.lanes[name] if isinstance(i, Slice)))
    for item in core.lanes[queue]:
        if not isinstance(item, Slice) or item.stage == OUTSIDE or item.is_barrier:
            continue
        here = (item.stage, item.code, item.callers)
        busy[here] = busy.get(here, 0.0) + item.end - item.start
        if here != call:
            times.setdefault(here, []).append(item.start)
            call = here
    repeated = Counter(len(starts) for starts in times.values() if len(starts) > 1)
    if 2 * sum(busy[here] for here in times if len(times[here]) > 1) <= sum(busy.values()):
        return []
    count = max(repeated, key=repeated.get)
    return times[max((here for here in times if len(times[here]) == count), key=busy.get)]


def steady_window(core: CoreTrace, count: int = 2) -> tuple[float, float]:
    """About `count` rounds of the main loop from the middle of the run, where nothing else comes between them."""
    starts = rounds(core)
    spans = list(zip(starts, starts[count:], strict=False))
    if not spans:
        begin = max(0.0, (core.cycles - FREE_WINDOW_CYCLES) / 2)
        return begin, min(core.cycles, begin + FREE_WINDOW_CYCLES)
    shortest = min(end - begin for begin, end in spans)
    plain = sorted((end - begin, begin, end) for begin, end in spans if end - begin <= 1.1 * shortest)
    usual = plain[len(plain) // 2][0]  # a ragged last chunk is a little shorter
    steady = [(begin, end) for length, begin, end in plain if abs(length - usual) <= 0.01 * usual]
    return min(steady, key=lambda span: abs(span[0] + span[1] - core.cycles))


def draw(
    core: CoreTrace, path: str | Path, begin: float | None = None, end: float | None = None, title: str = ""
) -> tuple[float, float]:
    """Writes a PNG of the window [begin, end) in model cycles; returns the window. Without one of the two it is that of
    steady_window, or as long as that where the given one lies beyond."""
    steady = steady_window(core)
    length = steady[1] - steady[0]
    if begin is None:
        begin = steady[0] if end is None or end > steady[0] else max(0.0, end - length)
    if end is None:
        end = steady[1] if steady[1] > begin else begin + length
    figure = new_figure(16, 5.4)
    axes = figure.add_subplot()
    colours = kind_colours(core)
    shown = [paint_lane(axes, core, queue, row, begin, end, colours) for row, queue in enumerate(core.lanes)]
    for start in rounds(core):
        if begin <= start < end:
            axes.axvline(start, color="#555555", linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
    dress(axes, core, begin, end, title)
    legend(figure, colours, set().union(*shown))
    figure.savefig(path, format="png")
    return begin, end


def kind_colours(core: CoreTrace) -> dict[str, str]:
    """By first appearance, so that a stage keeps its colour in every window of a kernel."""
    kind = kind_of(core)
    first: dict[str, float] = {}
    for lane in core.lanes.values():
        for item in lane:
            if isinstance(item, Slice) and not item.is_barrier:
                first[kind(item)] = min(first.get(kind(item), item.start), item.start)
    order = sorted(first, key=lambda name: first[name])
    return {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(order)}


def paint_lane(axes, core: CoreTrace, queue: str, row: int, begin: float, end: float, colours: dict) -> set:
    """The lane's stalls, its instructions over them, its share of busy time at the right; returns the kinds seen."""
    kind = kind_of(core)
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for item in core.lanes[queue]:
        if isinstance(item, Slice) and not item.is_barrier and item.end > begin and item.start < end:
            start = max(item.start, begin)
            by_kind.setdefault(kind(item), []).append((start, min(item.end, end) - start))
    stalls = [stall for stall in core.stalls(queue) if stall[1] > begin and stall[0] < end and stall[2] != "S"]
    spans = [(max(start, begin), min(stop, end)) for start, stop, _, _ in stalls]
    axes.broken_barh([(a, b - a) for a, b in spans], (row - 0.14, 0.28), facecolor=WAIT_COLOUR, edgecolor="none")
    for (a, b), (_, _, source, _) in zip(spans, stalls, strict=True):
        name = "barrier" if source == queue else source
        if b - a > LETTER_SHARE * (len(name) + 1) * (end - begin):
            axes.text((a + b) / 2, row, name, ha="center", va="center", fontsize=7, color="#555555", clip_on=True)
    # A hairline of the bar's own colour keeps instructions narrower than a pixel visible.
    for name, bars in by_kind.items():
        axes.broken_barh(bars, (row - 0.36, 0.72), facecolor=colours[name], edgecolor=colours[name], linewidth=0.2)
    busy = sum(length for bars in by_kind.values() for _, length in bars)
    axes.text(1.006, row, f"{busy / (end - begin):.0%}", transform=axes.get_yaxis_transform(), va="center", fontsize=9)
    return set(by_kind)


def dress(axes, core: CoreTrace, begin: float, end: float, title: str) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_xlim(begin, end)
    axes.set_ylim(len(core.lanes) - 0.5, -0.5)
    axes.set_yticks(range(len(core.lanes)), list(core.lanes), fontsize=10)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("model cycles (grey: waits for the queue named; at the right: how much of the window it is busy)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    where = f"{core.name}, cycles {begin:,.0f} to {end:,.0f} of {core.cycles:,.0f}"
    axes.set_title(f"{title}: {where}" if title else where, loc="left", fontsize=11)


def legend(figure, colours: dict, shown: set) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=name) for name, colour in colours.items() if name in shown]
    if handles:
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), fontsize=9, frameon=False)
