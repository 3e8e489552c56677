# SPDX-License-Identifier: Apache-2.0
"""Reads trace.json, in the layout of the vendor's simulator: one process per core, one lane per queue."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

CLOCK_MHZ = 1060.0  # of the chip; the trace is in microseconds
OUTSIDE = "outside"
LANES = {"SCALAR": "S", "VECTOR": "V", "CUBE": "M", "MTE1": "MTE1", "MTE2": "MTE2", "MTE3": "MTE3"}
ALL_LANE = "ALL"  # barriers of all queues
DETAIL = re.compile(r"(?:, last to finish (\w+))?, (?:no stage|stage (.*))$")


@dataclass(slots=True)
class Slice:
    """An instruction, or a barrier, which takes no time of its own: its stall ends at `end`."""

    name: str
    start: float  # model cycles since the core's start
    end: float
    stage: str
    code: str
    waits_for: str | None = None  # a barrier of all queues: the one that finished last
    callers: str = ""  # of the helper that `code` lies in

    @property
    def is_barrier(self) -> bool:
        return self.name == "PipeBarrier"


FLAG_CYCLES = 1.0  # of the queue that sets a flag, and of the one that waits, once the flag is up


@dataclass(slots=True)
class Flag:
    """A SetFlag, or a WaitFlag: start == end if the flag was up already."""

    start: float
    end: float
    source: str | None = None  # of a wait: the queue that set the flag


@dataclass
class CoreTrace:
    name: str
    lanes: dict[str, list[Slice | Flag]] = field(default_factory=lambda: {queue: [] for queue in LANES.values()})

    @property
    def cycles(self) -> float:
        return max((item.end for lane in self.lanes.values() for item in lane), default=0.0)

    @property
    def stages(self) -> set[str]:
        return {item.stage for lane in self.lanes.values() for item in lane if isinstance(item, Slice)}

    def stalls(self, queue: str) -> list[tuple[float, float, str, str | None]]:
        """(start, end, waits for, stage) of every gap in the queue. It waits for another queue's flag, for itself at a
        barrier, or for S, which had issued nothing. A gap belongs to the stage of the instruction that ends it."""
        found: list[tuple[float, float, str]] = []
        result = []
        cursor = 0.0
        stage = None

        def gap(start: float, end: float, why: str) -> None:
            if end > start:
                found.append((start, end, why))

        for item in self.lanes[queue]:
            if isinstance(item, Flag):
                gap(cursor, item.start, "S")
                gap(max(cursor, item.start), item.end, item.source or "S")
                cursor = max(cursor, item.end) + FLAG_CYCLES * (queue != "S")
                continue
            gap(cursor, item.start, (item.waits_for or queue) if item.is_barrier else "S")
            cursor = max(cursor, item.start if item.is_barrier else item.end)
            stage = item.stage
            result += [(*stall, stage) for stall in found]
            found = []
        return result + [(*stall, stage) for stall in found]


@dataclass
class Trace:
    cores: list[CoreTrace]

    def stage_waits(self) -> dict[tuple[str, str], dict[str, float]]:
        """{(stage, queue): {waits for: cycles}}, all cores together."""
        waits: dict = defaultdict(lambda: defaultdict(float))
        for core in self.cores:
            for queue in core.lanes:
                for start, end, why, stage in core.stalls(queue):
                    if stage is not None:
                        waits[stage, queue][why] += end - start
        return {key: dict(value) for key, value in waits.items()}


def slice_of(event: dict) -> Slice:
    start = event["ts"] * CLOCK_MHZ
    arguments = event["args"]
    last, stage = DETAIL.search(arguments["detail"]).groups()
    name = OUTSIDE if stage is None else f"stage {stage}" if stage.isdigit() else stage  # as the report calls it
    end = start + event["dur"] * CLOCK_MHZ
    waits_for = LANES[last] if last else None
    return Slice(event["name"], start, end, name, arguments["code"], waits_for, arguments.get("callers", ""))


def read_trace(path: str | Path) -> Trace:
    events = json.loads(Path(path).read_bytes())["traceEvents"]
    cores: dict[str, CoreTrace] = {}
    for event in events:
        core = cores.setdefault(event["pid"], CoreTrace(event["pid"]))
        phase = event["ph"]
        if event.get("tid") == ALL_LANE and phase == "X":
            for lane in core.lanes.values():
                lane.append(slice_of(event))
            continue
        lane = core.lanes.get(LANES.get(event.get("tid", ""), ""))
        if lane is None:
            continue
        if phase == "X":
            lane.append(slice_of(event))
        elif event["name"] in ("SetFlag", "WaitFlag"):
            # B opens and E closes a wait; the arrow that ends there says whose flag it was.
            if phase == "B":
                lane.append(Flag(event["ts"] * CLOCK_MHZ, event["ts"] * CLOCK_MHZ))
            elif phase == "E" and event["name"] == "WaitFlag":
                lane[-1].end = event["ts"] * CLOCK_MHZ
        elif phase == "t" and lane and isinstance(lane[-1], Flag):
            lane[-1].source = LANES[event["cat"].partition("To")[0]]
    return Trace(list(cores.values()))
