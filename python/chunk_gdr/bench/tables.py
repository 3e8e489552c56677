# SPDX-License-Identifier: Apache-2.0
"""The figures of a bench as text."""

from __future__ import annotations

from .figures import PARAMETERS, Figures, Row

FIGURES = "    cycles/ch   steady  target        total  predicted   GM bound  ratio  efficiency"


def table(rows: list[Row]) -> str:
    parts = ["ch: a chunk of a v-head. Cycles are model cycles of the slowest core; steady: of a further chunk."]
    measured = [row for row in rows if row.pessimistic is not None]
    width = max(len(row.name) for row in rows)
    if measured:
        parts += [figures_table(measured, params, width) for params in PARAMETERS]
        parts += [queue_table(measured, width)]
    parts += [verdict_table(rows, width)]
    return "\n\n".join(parts)


def figures_table(rows: list[Row], params: str, width: int) -> str:
    lines = [f"{params + ' parameters':{width}s}{FIGURES}"]
    for row in rows:
        f: Figures = getattr(row, params)
        predicted = f"{row.predicted_cycles / f.total_cycles - 1:+.1%}" if params == "pessimistic" else ""
        target = whole(row.target) if params == "pessimistic" else ""
        each = f"{whole(f.cycles_per_chunk_head):>12s} {whole(f.steady_cycles_per_chunk_head):>8s} {target:>7s}"
        bound = f"{f.gm_bound_cycles:10,.0f} {f.gm_bound_ratio:6.2f} {f.core_efficiency:11.3f}"
        lines.append(f"{row.name:{width}s} {each} {f.total_cycles:12,.0f} {predicted:>10s} {bound}")
    return "\n".join(lines)


def whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def queue_table(rows: list[Row], width: int) -> str:
    """Busy cycles of the slowest core (pessimistic) and KiB of all cores, per chunk-head."""
    queues = list(rows[0].pessimistic.busy_cycles)
    carriers = list(rows[0].queue_bytes)
    head = "".join(f"{queue:>9s}" for queue in queues)
    head += "".join(f"{queue + ' KiB':>10s}" for queue in [*carriers, "GM"])
    lines = [f"{'busy per ch':{width}s}{head}"]
    for row in rows:
        f = row.pessimistic
        own = f.total_cycles / f.cycles_per_chunk_head if f.cycles_per_chunk_head else 1.0
        every = 1024 * max(row.shape["chunk_heads"], 1)
        busy = "".join(f"{f.busy_cycles[queue] / own:9,.0f}" for queue in queues)
        moved = "".join(f"{size / every:10,.1f}" for size in [*row.queue_bytes.values(), row.gm_bytes])
        lines.append(f"{row.name:{width}s}{busy}{moved}")
    return "\n".join(lines)


def verdict_table(rows: list[Row], width: int) -> str:
    lines = [f"{'accuracy':{width}s}   out NRMSE state NRMSE  full barriers  layout  schedule          seconds"]
    for row in rows:
        if row.pessimistic is not None:
            accuracy = f"{row.out_nrmse:12.2e} {row.state_nrmse:11.2e} {row.barriers_all:14d}"
            where = f"{row.state_layout:7s} {row.schedule:16s} {row.seconds:8.1f}"
            lines.append(f"{row.name:{width}s}{accuracy}  {where}")
        if not row.passed:
            lines.append(f"{row.name:{width}s}  MISSED: {'; '.join(row.missed)}")
    failed = sum(not row.passed for row in rows)
    lines.append(f"{len(rows)} shapes, " + (f"{failed} MISSED" if failed else "accuracy and hazards within the bars"))
    return "\n".join(lines)
