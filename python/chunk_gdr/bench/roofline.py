# SPDX-License-Identifier: Apache-2.0
"""Draws where the shapes of a bench lie under the roofs of a core."""

from __future__ import annotations

from pathlib import Path

from ..plotting import new_figure
from ..profile.pipeline import COLOURS
from .figures import CORES, GM_BYTES_PER_CYCLE, Row

CUBE_FLOP_PER_CYCLE = 2 * 16**3  # of one core
SHARES = (("V", "#4e79a7"), ("M", "#f28e2b"), ("MTE1", "#8cd17d"), ("MTE2", "#e15759"), ("MTE3", "#b07aa1"))


def draw(rows: list[Row], path: str | Path) -> None:
    """Writes a PNG: Cube work per GM byte against work per cycle, and how busy the queues of the slowest core are."""
    rows = [row for row in rows if row.pessimistic is not None]
    figure = new_figure(13, 5.2)
    roofs, shares = figure.subplots(1, 2, width_ratios=(3, 2))
    points = [(row, row.cube_flop / row.gm_bytes) for row in rows]
    knee = CUBE_FLOP_PER_CYCLE / GM_BYTES_PER_CYCLE
    lowest, highest = min(x for _, x in points) / 3, 3 * max(knee, *(x for _, x in points))
    roof = [GM_BYTES_PER_CYCLE * lowest, CUBE_FLOP_PER_CYCLE, CUBE_FLOP_PER_CYCLE]
    roofs.plot([lowest, knee, highest], roof, color="#555555")
    for index, (row, x) in enumerate(points):
        colour = COLOURS[index % len(COLOURS)]
        work = row.cube_flop / CORES
        reached, busiest = work / row.pessimistic.total_cycles, work / max(row.pessimistic.busy_cycles.values())
        roofs.plot([x, x], [reached, busiest], color=colour, linewidth=0.8, linestyle=":")
        roofs.plot([x], [busiest], "o", color=colour, markerfacecolor="none")
        roofs.plot([x], [reached], "o", color=colour, label=row.name)
    roofs.text(knee, 1.06 * CUBE_FLOP_PER_CYCLE, "Cube", fontsize=9)
    roofs.text(knee / 1.1, CUBE_FLOP_PER_CYCLE / 1.1, f"GM, {GM_BYTES_PER_CYCLE} bytes a cycle", fontsize=9, ha="right")
    roofs.set(xscale="log", yscale="log")
    roofs.set(xlabel="Cube flop per byte of GM traffic", ylabel="Cube flop per model cycle and core")
    roofs.set_title("filled: reached; hollow: were the busiest queue never idle", fontsize=9)
    for axis in (roofs.xaxis, roofs.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_minor_formatter(lambda value, _: "")
    roofs.grid(which="both", color="#eeeeee")
    roofs.legend(fontsize=8)
    height = 0.8 / len(SHARES)
    for lane, (queue, colour) in enumerate(SHARES):
        spots = [index + (lane - len(SHARES) / 2 + 0.5) * height for index in range(len(rows))]
        busy = [row.pessimistic.busy_cycles[queue] / row.pessimistic.total_cycles for row in rows]
        shares.barh(spots, busy, height, color=colour, label=queue)
    shares.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=8)
    shares.invert_yaxis()
    shares.set(xlim=(0, 1), xlabel="busy share of the slowest core's cycles")
    shares.legend(fontsize=8)
    figure.savefig(path, format="png")
