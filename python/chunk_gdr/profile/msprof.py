# SPDX-License-Identifier: Apache-2.0
"""Reads what msprof writes about a kernel on a card: the CSV files of one operator (`msprof op`: PipeUtilization and
ResourceConflictRatio, columns aic_*) or of a whole run (op_summary, one row per call of any operator).

The columns are those documented for Ascend 310P, whose AI core has all queues; profiles of chips with separate cube and
vector cores are refused.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

from .usage import QUEUES, CoreUse, Profile, ProfileError, QueueUse

# Names of a queue in column titles; the cube's differ between the files.
UNITS = {"S": ("scalar",), "V": ("vec",), "M": ("cube", "mac"), "MTE1": ("mte1",), "MTE2": ("mte2",), "MTE3": ("mte3",)}
PIPE, CONFLICT, BASIC, SUMMARY = "PipeUtilization", "ResourceConflictRatio", "OpBasicInfo", "op_summary"
KERNEL = "chunkgateddeltarule"
UNKNOWN = ("", "n/a", "na", "-")

Row = dict[str, str]


def read_msprof(path: str | Path, op: str | None = None) -> Profile:
    """The profile of one operator from a directory that msprof wrote, or from one of its CSV files.

    op: text that the operator's name contains, in any case and without regard to underscores; needed where a file lists
    several operators and none is chunk_gated_delta_rule. Several calls of it are averaged. Raises ProfileError.
    """
    path = Path(path)
    if not path.is_dir():
        rows = read_rows(path)
        profile = from_summary(path, rows, op) if "op name" in rows[0] else from_op(path, rows, [], [])
        files = [path]
    elif (pipe := the_one(path, PIPE)) is not None:
        others = [the_one(pipe.parent, stem) for stem in (CONFLICT, BASIC)]
        profile = from_op(pipe, read_rows(pipe), *(read_rows(file) if file else [] for file in others))
        files = [pipe, *(file for file in others if file)]
    elif (summary := the_one(path, SUMMARY)) is not None:
        profile = from_summary(summary, read_rows(summary), op)
        files = [summary]
    else:
        raise ProfileError(f"{path}: holds neither {PIPE}*.csv nor {SUMMARY}*.csv of msprof")
    profile.files = [str(file) for file in files]
    return profile


def the_one(folder: Path, stem: str) -> Path | None:
    """The one file <stem>*.csv in or below the folder."""
    found = sorted(folder.rglob(f"{stem}*.csv"))
    if len(found) > 1:
        names = ", ".join(str(file.relative_to(folder)) for file in found[:3])
        listed = f"{len(found)} files {stem}*.csv ({names}, ...)"
        raise ProfileError(f"{folder}: holds {listed}: give one of them, or its folder")
    return found[0] if found else None


def read_rows(path: Path) -> list[Row]:
    """The rows below the title line, by title in lower case."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = list(csv.reader(file, strict=True))
    except FileNotFoundError:
        raise ProfileError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProfileError(f"{path}: not a readable CSV file ({error})") from None
    lines = [line for line in lines if any(cell.strip() for cell in line)]
    if len(lines) < 2:
        raise ProfileError(f"{path}: no rows below a title line")
    titles = [title.strip().lower() for title in lines[0]]
    for index, line in enumerate(lines[1:], 2):
        if len(line) < len(titles) or any(line[len(titles) :]):  # a comma at the line's end makes an empty cell
            raise ProfileError(f"{path}: row {index} has {len(line)} cells, the title line {len(titles)}")
    return [dict(zip(titles, (cell.strip() for cell in line), strict=False)) for line in lines[1:]]


def number(path: Path, row: Row, title: str) -> float | None:
    """None where the column is missing or the cell says that nothing was measured."""
    text = row.get(title)
    if text is None or text.lower() in UNKNOWN:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ProfileError(f"{path}: column '{title}' holds '{text}', expected a number")
    return value


def needed(path: Path, row: Row, title: str) -> float:
    value = number(path, row, title)
    if not value:
        raise ProfileError(f"{path}: column '{title}' is missing or empty, expected the core's time or cycles")
    return value


def unit_value(path: Path, row: Row, prefix: str, queue: str, suffix: str) -> float | None:
    values = (number(path, row, f"{prefix}{unit}{suffix}") for unit in UNITS[queue])
    return next((value for value in values if value is not None), None)


def queue_uses(path: Path, row: Row, prefix: str, cycles: float, microseconds: float) -> dict[str, QueueUse]:
    uses = {}
    for queue in QUEUES:
        ratio = unit_value(path, row, prefix, queue, "_ratio")
        time = unit_value(path, row, prefix, queue, "_time(us)")
        # The time has more digits than the ratio.
        busy = time / microseconds * cycles if time is not None else ratio * cycles if ratio is not None else None
        uses[queue] = QueueUse(busy)
    if all(use.busy is None for use in uses.values()):
        if any(title.startswith("aiv_") for title in row):
            raise ProfileError(f"{path}: columns aiv_* of a chip with separate vector cores, expected 310P's aic_*")
        raise ProfileError(f"{path}: no column like {prefix}vec_ratio or {prefix}mte2_time(us), so no queue's time")
    return uses


def from_op(path: Path, rows: list[Row], conflicts: list[Row], basic: list[Row]) -> Profile:
    """Files of `msprof op`: a row per core if there is a block_id, else one for the mean core."""
    per_core = "block_id" in rows[0]
    cores = []
    for index, row in enumerate(rows):
        microseconds = needed(path, row, "aic_time(us)")
        cycles = needed(path, row, "aic_total_cycles")
        queues = queue_uses(path, row, "aic_", cycles, microseconds)
        conflict = conflicts[index] if index < len(conflicts) else row
        for queue, use in queues.items():
            ratio = unit_value(path, conflict, "aic_", queue, "_wait_ratio")
            use.wait = None if ratio is None else ratio * cycles
        name = f"core {row['block_id']}" if per_core else "mean core"
        cores.append(CoreUse(name, cycles, microseconds, queues))
    notes = []
    for title in ("aic_vec_bankgroup_cflt_ratio", "aic_vec_bank_cflt_ratio"):
        values = [number(path, row, title) for row in conflicts or rows]
        if None not in values:
            notes.append(f"{title} {sum(values) / len(values):.1%}")
    kernel = basic[0].get("op name", "") if basic else ""
    if basic and (duration := number(path, basic[0], "task duration(us)")) is not None:
        notes.append(f"task duration {duration:,.1f} us, launch included")
    return Profile("card, msprof op", kernel or path.parent.name, cores, notes=notes)


def from_summary(path: Path, rows: list[Row], op: str | None) -> Profile:
    """op_summary: total_cycles is the sum over the cores, times and ratios are those of the mean core."""
    calls = calls_of(path, rows, op)
    cores = []
    for row in calls:
        microseconds = number(path, row, "aicore_time(us)") or needed(path, row, "aic_time(us)")
        prefix = "aic_" if any(title.startswith("aic_") for title in row) else ""
        blocks = needed(path, row, "block dim")
        cycles = needed(path, row, f"{prefix}total_cycles") / blocks
        cores.append(CoreUse("mean core", cycles, microseconds, queue_uses(path, row, prefix, cycles, microseconds)))
    profile = Profile("card, msprof op_summary", calls[0]["op name"], cores)
    times = [core.microseconds for core in cores]
    if len(calls) > 1:
        profile.notes.append(f"mean of {len(calls)} calls, {min(times):,.1f} to {max(times):,.1f} us")
        profile.cores = [profile.mean()]
        profile.cores[0].name = "mean core"
    durations = [number(path, row, "task duration(us)") for row in calls]
    if None not in durations:
        profile.notes.append(f"task duration {sum(durations) / len(durations):,.1f} us, launch included")
    profile.notes.append(f"block dim {calls[0]['block dim']}; waits are not in this file")
    return profile


def calls_of(path: Path, rows: list[Row], op: str | None) -> list[Row]:
    wanted = flat(op) if op is not None else KERNEL
    calls = [row for row in rows if wanted in flat(row["op name"]) or wanted in flat(row.get("op type", ""))]
    names = sorted({row["op name"] for row in rows})
    if not calls and op is None and len(names) == 1:
        calls = rows
    if not calls:
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        hint = f"no operator's name contains '{op}'" if op is not None else "several operators: name one with --op"
        raise ProfileError(f"{path}: {hint} ({listed})")
    return calls


def flat(name: str) -> str:
    return name.lower().replace("_", "")
