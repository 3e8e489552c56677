# SPDX-License-Identifier: Apache-2.0
"""One shape on the host model: its cycles under both parameter sets, its traffic, its accuracy."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from ..cases import Bench, Case, make_inputs
from ..report import RunReport
from ..runner import call_operator, compare_with_truth, plan_of_case, problem_of
from ..tiling import Plan

CORES = 8
GM_BYTES_PER_CYCLE = 17  # of one core
FLOP_PER_FRACTAL = 2 * 16**3  # one 16 x 16 x 16 product of the Cube
PARAMETERS = ("pessimistic", "optimistic")


@dataclass
class Figures:
    """Model cycles under one parameter set. A chunk-head is one chunk of one v-head."""

    total_cycles: float  # of the slowest core
    cycles_per_chunk_head: float | None  # the same for each chunk-head that core ran; None where it ran none
    steady_cycles_per_chunk_head: float | None  # of a further chunk: this case less its shortened one
    core_efficiency: float  # mean core / slowest core, idle cores included
    gm_bound_cycles: float  # all bytes at full rate, spread evenly
    gm_bound_ratio: float  # total_cycles / gm_bound_cycles
    core_cycles: list[float]
    busy_cycles: dict[str, float]  # of each queue of the slowest core


@dataclass
class Row:
    """What `bench` tells about one shape."""

    name: str
    shape: dict
    state_layout: str
    schedule: str
    predicted_cycles: int
    target: float | None
    seconds: float
    missed: list[str]  # why the figures do not count
    out_nrmse: float | None = None
    state_nrmse: float | None = None
    gm_bytes: int | None = None
    queue_bytes: dict[str, int] | None = None
    cube_flop: int | None = None
    barriers_all: int | None = None
    pessimistic: Figures | None = None
    optimistic: Figures | None = None

    @property
    def passed(self) -> bool:
        return not self.missed

    def to_dict(self) -> dict:
        """The pessimistic figures under their own names, the optimistic ones in an object beside them."""
        result = {name: value for name, value in vars(self).items() if name not in PARAMETERS}
        result |= dict.fromkeys(Figures.__dataclass_fields__) | (asdict(self.pessimistic) if self.pessimistic else {})
        result["optimistic"] = asdict(self.optimistic) if self.optimistic else None
        return result | {"passed": self.passed}


def measure(name: str, bench: Bench, progress=None, **options) -> Row:
    """Runs the case with all checks, then for its cycles alone; `options` are those of model.options."""

    def stage(text: str) -> None:
        if progress is not None:
            progress.stage(f"{name}: {text}")

    if progress is not None:
        options["progress"] = progress.update
    begin = time.perf_counter()
    stage("making inputs")
    inputs = make_inputs(bench.case)
    plan = plan_of_case(bench.case, CORES)
    stage("pessimistic parameters")
    call = call_operator(inputs, "model", **options)
    report = RunReport("model", problem_of(inputs), call, plan)
    row = Row(name, report.problem, plan.state_layout, plan.schedule, plan.predicted_cycles, bench.target, 0.0, [])
    if call.error is None:
        stage("comparing with the fp64 recurrence")
        report.comparisons = compare_with_truth(inputs, call.result)
        row.out_nrmse, row.state_nrmse = (comparison.to_dict()["nrmse"] for comparison in report.comparisons)
        add_traffic(row, call.model)
        runs = {"pessimistic": call.model}
        stage("optimistic parameters")
        runs["optimistic"] = call_operator(inputs, "model", checked=False, params="optimistic", **options).model
        del inputs
        short = None if bench.shortened is None else ShortRuns(bench.shortened, stage, options)
        for params, model in runs.items():
            point = short.point(params, slowest(model)) if short is not None and short.is_fair_to(plan) else None
            setattr(row, params, figures_of(model, plan, row.gm_bytes, point))
    row.missed = report.missed
    row.seconds = round(time.perf_counter() - begin, 3)
    return row


class ShortRuns:
    """Cycles of the shortened case."""

    def __init__(self, case: Case, stage, options: dict) -> None:
        self.inputs, self.plan = make_inputs(case), plan_of_case(case, CORES)
        self.stage, self.options = stage, options

    def is_fair_to(self, plan: Plan) -> bool:
        """It runs likewise, and every core as many chunks less: otherwise a difference is not one of chunks alone."""
        how, short_how = ((p.schedule, p.v_tiles, p.block_num) for p in (plan, self.plan))
        if how != short_how:
            return False
        return len({plan.chunk_heads(core) - self.plan.chunk_heads(core) for core in range(plan.block_num)}) == 1

    def point(self, params: str, core: int) -> tuple[float, float]:
        """(chunk-heads, cycles) of a core."""
        self.stage(f"shortened, {params} parameters")
        model = call_operator(self.inputs, "model", checked=False, params=params, **self.options).model
        return self.plan.chunk_heads(core), model["model_cycles"]["cores"][core]


def slowest(model: dict) -> int:
    cycles = model["model_cycles"]["cores"]
    return cycles.index(max(cycles))


def figures_of(model: dict, plan: Plan, gm_bytes: int, short: tuple[float, float] | None) -> Figures:
    cycles = model["model_cycles"]["cores"]
    core = slowest(model)
    chunk_heads, total = plan.chunk_heads(core), cycles[core]
    bound = gm_bytes / (GM_BYTES_PER_CYCLE * CORES)
    steady = None
    if short is not None and chunk_heads > short[0]:
        steady = (total - short[1]) / (chunk_heads - short[0])
    return Figures(
        total_cycles=total,
        cycles_per_chunk_head=total / chunk_heads if chunk_heads else None,
        steady_cycles_per_chunk_head=steady,
        core_efficiency=sum(cycles) / CORES / total,
        gm_bound_cycles=bound,
        gm_bound_ratio=total / bound,
        core_cycles=cycles,
        busy_cycles={queue: use["busy"] for queue, use in model["blocks"][core]["queues"].items()},
    )


def add_traffic(row: Row, model: dict) -> None:
    traffic = model["traffic"]
    row.gm_bytes = model["gm_bytes"]
    row.queue_bytes = {
        "V": traffic["l0c_to_ub_bytes"] + traffic["ub_to_l0c_bytes"] + traffic["ub_to_ub_bytes"],
        "MTE1": traffic["l1_to_l0a_bytes"] + traffic["l1_to_l0b_bytes"] + traffic["l1_to_ub_bytes"],
        "MTE2": traffic["gm_read_bytes"],
        "MTE3": traffic["gm_write_bytes"] + traffic["ub_to_l1_bytes"],
    }
    row.cube_flop = traffic["mmad_fractals"] * FLOP_PER_FRACTAL
    row.barriers_all = traffic["full_barriers"]
