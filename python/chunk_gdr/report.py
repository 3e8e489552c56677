# SPDX-License-Identifier: Apache-2.0
"""The report of a run: what ran, how accurate, which hazards, how many model cycles; as text and as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

from .compare import Comparison
from .runner import Call
from .tiling import Plan

MODEL_KEYS = ("hazards", "model_cycles", "gm_bytes")  # null on backends that have none


@dataclass
class RunReport:
    backend: str
    problem: dict
    call: Call
    plan: Plan | None = None
    comparisons: list[Comparison] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def missed(self) -> list[str]:
        """Every bar of the run that does not hold."""
        missed = [self.call.error] if self.call.error else []
        for comparison in self.comparisons:
            failed = sum(not head.passed for head in comparison.heads)
            if failed:
                missed.append(f"{comparison.name}: {failed} of {len(comparison.heads)} heads miss the accuracy bar")
        for grade, count in hazard_counts(self.call.model).items():
            if count:
                missed.append(f"hazards.{grade}: {count}, must be 0")
        return missed

    @property
    def passed(self) -> bool:
        return not self.missed

    @property
    def masks_only(self) -> list[str]:
        """What says nothing about accuracy, because no finite value of these heads can be compared."""
        return masks_only(self.comparisons)

    @property
    def verdict(self) -> str:
        if not self.passed:
            return "MISSED: " + "; ".join(self.missed)
        if self.masks_only:
            return "PASSED on masks only: " + "; ".join(self.masks_only)
        return "PASSED: every bar of this run holds"

    def to_dict(self, all_heads: bool = False) -> dict:
        result = dict.fromkeys(MODEL_KEYS) | (self.call.model or {})
        result |= {
            "passed": self.passed,
            "missed": self.missed,
            "masks_only": self.masks_only,
            "backend": self.backend,
            "problem": self.problem,
            "warnings": self.warnings,
            "seconds": round(self.call.seconds, 3),
        }
        for comparison in self.comparisons:
            result[comparison.name] = comparison.to_dict(all_heads)
        if self.plan is not None:
            result["plan"] = self.plan.to_dict()
        return result

    def to_json(self, all_heads: bool = False) -> str:
        return json.dumps(json_ready(self.to_dict(all_heads)), allow_nan=False)

    def text(self, top: int | None = 5) -> str:
        """The whole report; `top` limits the heads listed per result (None = all)."""
        parts = [describe(self.problem, self.backend)]
        if self.plan is not None:
            parts.append(str(self.plan))
        parts += [comparison.table(top) for comparison in self.comparisons]
        if self.call.model is not None:
            parts += [hazard_text(self.call.model), cycle_text(self.call.model)]
        parts += [f"warning: {text}" for text in self.warnings]
        parts.append(f"{self.verdict} ({self.call.seconds:.1f} s)")
        return "\n\n".join(parts)


def masks_only(comparisons: list[Comparison]) -> list[str]:
    return [
        f"{c.name}: {c.masks_only} of {len(c.heads)} heads have no finite value to compare"
        for c in comparisons
        if c.masks_only
    ]


def json_ready(value):
    """NaN and inf are not JSON: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    return value


def describe(problem: dict, backend: str) -> str:
    present = ", ".join(problem["given"]) or "nothing"
    return (
        f"chunk_gated_delta_rule on backend '{backend}': T {problem['tokens']} in {len(problem['lengths'])} sequences"
        f" {problem['lengths']}, Nk {problem['nk']}, Nv {problem['nv']}, Dk {problem['dk']}, Dv {problem['dv']},"
        f" {problem['dtype']}, state {problem['state_dtype']}, scale {problem['scale']:.6g},"
        f" {problem['chunk_heads']} chunk-heads; given beside q, k, v: {present}"
    )


def hazard_counts(model: dict | None) -> dict[str, int]:
    """Hazards per grade; a kernel that ships has none of either."""
    return {} if model is None else {grade: model["hazards"][grade] for grade in ("errors", "auto_sync")}


def hazard_text(model: dict, top: int = 10) -> str:
    counts = hazard_counts(model)
    lines = [f"hazards: {counts['errors']} errors, {counts['auto_sync']} that rely on the compiler's auto-sync"]
    reports = model["hazards"]["reports"]
    for hazard in reports[:top]:
        lines += [f"  {line}" for line in hazard["report"].splitlines()]
    if len(reports) > top:
        lines.append(f"  ... and {len(reports) - top} more kinds")
    return "\n".join(lines)


def path_cycles(path: dict) -> dict[str, float]:
    """Cycles on the critical path of each queue, latency of its results included."""
    return {queue: path["busy"][queue] + path["latency"][queue] for queue in path["busy"]}


def cycle_text(model: dict) -> str:
    """Cycles of each core and how long each queue was busy; bytes; the stages."""
    cycles = model["model_cycles"]
    queues = list(model["blocks"][0]["queues"]) if model["blocks"] else []
    lines = [
        f"model cycles ({model['params']} parameters): {cycles['total']:,.0f} on the slowest core,"
        f" {cycles['per_chunk_head']:,.0f} core cycles per chunk and v-head",
        "busy cycles   " + "".join(f"{queue:>11s}" for queue in queues),
    ]
    for block in model["blocks"]:
        busy = "".join(f"{block['queues'][queue]['busy']:11,.0f}" for queue in queues)
        lines.append(f"core {block['block']:<9d}{busy}  of {block['cycles']:,.0f}")
    path = model["critical_path"]
    on_path = {stage["stage"]: path_cycles(stage) for stage in path["stages"]}
    for stage in model["stages"]:
        if any(stage["busy"].values()):
            busy = "".join(f"{stage['busy'][queue]:11,.0f}" for queue in queues)
            critical = sum(on_path.get(stage["stage"], {}).values())
            lines.append(f"{stage['name']:14s}{busy}  {critical:,.0f} on the critical path")
    busy = "".join(f"{path_cycles(path)[queue]:11,.0f}" for queue in queues)
    lines.append(f"critical path {busy}  of {path['cycles']:,.0f}")
    traffic = model["traffic"]
    lines.append(
        f"GM bytes: {traffic['gm_read_bytes']:,} read, {traffic['gm_write_bytes']:,} written;"
        f" full barriers: {traffic['full_barriers']:,}"
    )
    return "\n".join(lines)
