# SPDX-License-Identifier: Apache-2.0
"""How long each queue of each core worked and waited: the same numbers from the host model and from a card."""

from __future__ import annotations

from dataclasses import dataclass, field

from .trace import CLOCK_MHZ, OUTSIDE, Trace

QUEUES = ("S", "V", "M", "MTE1", "MTE2", "MTE3")


class ProfileError(ValueError):
    """A profile that cannot be read or written, with the reason in one line."""


@dataclass
class QueueUse:
    """Cycles of one queue; None where the source does not tell."""

    busy: float | None = None
    wait: float | None = None
    waits_for: dict[str, float] = field(default_factory=dict)  # its own name: a PipeBarrier; "S": nothing was issued
    instructions: float | None = None

    def to_dict(self, cycles: float) -> dict:
        known = {"busy": self.busy, "wait": self.wait, "instructions": self.instructions}
        known = {name: value for name, value in known.items() if value is not None}
        if self.busy is not None and cycles:
            known["utilisation"] = self.busy / cycles
        if self.waits_for:
            known["waits_for"] = self.waits_for
        return known


@dataclass
class CoreUse:
    name: str  # "core 0", or what it is a mean of
    cycles: float
    microseconds: float
    queues: dict[str, QueueUse]

    def to_dict(self) -> dict:
        queues = {name: use.to_dict(self.cycles) for name, use in self.queues.items()}
        return {"name": self.name, "cycles": self.cycles, "microseconds": self.microseconds, "queues": queues}


@dataclass
class StageUse:
    """One stage of the kernel, all cores together."""

    name: str
    queues: dict[str, QueueUse]


@dataclass
class CriticalLink:
    """Cycles of the critical path in one stage on one queue; they add up to the slowest core's total."""

    stage: str
    queue: str
    kind: str  # "busy", "latency" (a result not yet visible), "other_blocks" (SyncAll, IBSet, IBWait)
    cycles: float


@dataclass
class Profile:
    source: str
    kernel: str
    cores: list[CoreUse]
    stages: list[StageUse] = field(default_factory=list)
    critical_path: list[CriticalLink] = field(default_factory=list)  # of the slowest core, largest first
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # that it was read from

    @property
    def slowest(self) -> int:
        """Index of the core with most cycles."""
        return max(range(len(self.cores)), key=lambda index: self.cores[index].cycles)

    @property
    def total_cycles(self) -> float:
        """Of all cores together."""
        return sum(core.cycles for core in self.cores)

    def mean(self) -> CoreUse:
        """The mean over the cores that did something."""
        cores = [core for core in self.cores if core.cycles]
        if len(cores) == 1:
            return cores[0]
        count = max(len(cores), 1)
        return CoreUse(
            f"mean of {len(cores)} cores",
            sum(core.cycles for core in cores) / count,
            sum(core.microseconds for core in cores) / count,
            {queue: mean_use([core.queues[queue] for core in cores]) for queue in QUEUES},
        )

    def to_dict(self) -> dict:
        total = self.total_cycles
        stages = [
            {"name": stage.name, "queues": {name: use.to_dict(total) for name, use in stage.queues.items()}}
            for stage in self.stages
        ]
        return {
            "source": self.source,
            "kernel": self.kernel,
            "slowest_core": self.cores[self.slowest].to_dict() if self.cores else None,
            "mean_core": self.mean().to_dict() if self.cores else None,
            "cores": [core.to_dict() for core in self.cores],
            "stages": stages,
            "critical_path": [vars(link) for link in self.critical_path],
            "notes": self.notes,
            "files": self.files,
        }


def mean_use(uses: list[QueueUse]) -> QueueUse:
    waits: dict[str, float] = {}
    for use in uses:
        for queue, cycles in use.waits_for.items():
            waits[queue] = waits.get(queue, 0.0) + cycles / len(uses)
    return QueueUse(
        mean([use.busy for use in uses]),
        mean([use.wait for use in uses]),
        waits,
        mean([use.instructions for use in uses]),
    )


def mean(values: list) -> float | None:
    return None if not values or None in values else sum(values) / len(values)


def of_model(report: dict, trace: Trace | None = None) -> Profile:
    """From a report of the host model (model.Report.to_dict()); the stages' waits come from its trace."""
    cycles = report["model_cycles"]["cores"]
    cores = []
    for index, total in enumerate(cycles):
        blocks = [block for block in report["blocks"] if block["block"] % report["cores"] == index]
        queues = {queue: sum_uses([block["queues"][queue] for block in blocks]) for queue in QUEUES}
        cores.append(CoreUse(f"core {index}", total, total / CLOCK_MHZ, queues))
    waits = trace.stage_waits() if trace is not None else {}
    stages = []
    for stage in report["stages"]:
        queues = {}
        for queue in QUEUES:
            waits_for = waits.get((stage["name"], queue), {})
            known = sum(waits_for.values()) if trace is not None else None
            queues[queue] = QueueUse(stage["busy"][queue], known, waits_for)
        if any(use.busy or use.wait for use in queues.values()):
            stages.append(StageUse(stage["name"], queues))
    if [stage.name for stage in stages] == [OUTSIDE]:  # the kernel marks none
        stages = []
    source = f"host model, {report['params']} parameters"
    return Profile(source, report["kernel"], cores, stages, critical_links(report["critical_path"]))


def critical_links(path: dict) -> list[CriticalLink]:
    links = [
        CriticalLink(stage["name"], queue, kind, cycles)
        for stage in path["stages"]
        for kind in ("busy", "latency", "other_blocks")
        for queue, cycles in stage[kind].items()
        if cycles
    ]
    return sorted(links, key=lambda link: -link.cycles)


def sum_uses(queues: list[dict]) -> QueueUse:
    waits: dict[str, float] = {}
    for queue in queues:
        for name, cycles in queue["wait_for"].items():
            if cycles:
                waits[name] = waits.get(name, 0.0) + cycles
    return QueueUse(
        sum(queue["busy"] for queue in queues),
        sum(waits.values()),
        waits,
        sum(queue["instructions"] for queue in queues),
    )
