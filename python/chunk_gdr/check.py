# SPDX-License-Identifier: Apache-2.0
"""The same inputs in program order and adversarially: bars, hazards, and the same bits from every execution."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

import torch

from .cases import SUITE, Inputs, make_inputs
from .redundant_sync import RedundantSync, redundant_in_all
from .reference import Result
from .report import RunReport, hazard_counts, json_ready
from .runner import call_operator, compare_with_truth, input_warnings, problem_of


@dataclass
class CaseCheck:
    name: str
    missed: list[str]  # bars of the run in program order, then what adversarial runs added
    warnings: list[str]
    seeds: int
    seconds: float
    results: dict[str, dict] = field(default_factory=dict)  # nrmse and bar of the worst head, per result

    @property
    def passed(self) -> bool:
        return not self.missed


@dataclass
class SuiteCheck:
    cases: list[CaseCheck]
    redundant: RedundantSync  # of the runs in program order

    @property
    def passed(self) -> bool:
        return all(case.passed for case in self.cases)

    def to_json(self) -> str:
        cases = [asdict(case) | {"passed": case.passed} for case in self.cases]
        result = {"passed": self.passed, "cases": cases, "redundant_sync": self.redundant.to_dict()}
        return json.dumps(json_ready(result), allow_nan=False)

    def __str__(self) -> str:
        width = max(len(case.name) for case in self.cases)
        lines = []
        for case in self.cases:
            accuracy = ", ".join(f"{name} {r['nrmse']:.2e} (bar {r['bar']:.2e})" for name, r in case.results.items())
            verdict = "ok    " if case.passed else "MISSED"
            work = f"{case.seeds} adversarial seeds, {case.seconds:.1f} s"
            lines.append(f"{verdict} {case.name:{width}s} {work}; {accuracy}")
            lines += [f"         {text}" for text in case.missed]
            lines += [f"         warning: {text}" for text in case.warnings]
        lines.append(str(self.redundant))
        failed = sum(not case.passed for case in self.cases)
        lines.append(f"{len(self.cases)} cases, " + ("all passed" if not failed else f"{failed} MISSED"))
        return "\n".join(lines)


def suite_inputs(names: list[str] | None = None) -> dict[str, Inputs]:
    """The tensors of these cases of the suite (None = all)."""
    return {name: make_inputs(SUITE[name]) for name in names or SUITE}


def check_inputs(name: str, inputs: Inputs, seeds: int, options: dict, progress) -> tuple[CaseCheck, dict]:
    """The verdict, and the report of the run in program order. `options` are those of chunk_gdr.model.options; the
    adversarial runs have the seeds from 0 to `seeds` - 1."""
    progress.stage(f"{name}: program order")
    call = call_operator(fresh(inputs), "model", **options, redundant_sync=True)
    report = RunReport("model", problem_of(inputs), call)
    if call.error is None:
        report.comparisons = compare_with_truth(inputs, call.result, options.get("overflow", "saturate"))
    missed, seconds = report.missed, call.seconds
    for seed in range(seeds):
        progress.stage(f"{name}: adversarial seed {seed}")
        other = call_operator(fresh(inputs), "model", **options, execution="adversarial", seed=seed)
        seconds += other.seconds
        if other.error is not None:
            missed.append(f"adversarial seed {seed}: {other.error}")
            continue
        found = [f"{n} {grade}" for grade, n in hazard_counts(other.model).items() if n]
        missed += [f"adversarial seed {seed}: hazards: {', '.join(found)}"] if found else []
        different = [] if call.error else different_bits(call.result, other.result)
        missed += [f"adversarial seed {seed}: {', '.join(different)} not bitwise equal"] if different else []
    results = {c.name: {"nrmse": c.to_dict()["nrmse"], "bar": c.to_dict()["bar"]} for c in report.comparisons}
    return CaseCheck(name, missed, input_warnings(inputs) + report.masks_only, seeds, seconds, results), call.model


def check_suite(suite: dict[str, Inputs], seeds: int, options: dict, progress) -> SuiteCheck:
    checks = {name: check_inputs(name, inputs, seeds, options, progress) for name, inputs in suite.items()}
    reports = {name: report for name, (_, report) in checks.items()}
    return SuiteCheck([case for case, _ in checks.values()], redundant_in_all(reports))


def fresh(inputs: Inputs) -> Inputs:
    """The same inputs with a chunk_state of their own, which the operator writes."""
    copy = Inputs(**vars(inputs))
    if copy.chunk_state is not None:
        copy.chunk_state = copy.chunk_state.clone()
    return copy


def different_bits(a: Result, b: Result) -> list[str]:
    """Names of the results whose bits differ; equal NaNs are equal."""
    names = []
    for name, x in vars(a).items():
        y = getattr(b, name)
        if x is not None and not torch.equal(x.view(bits(x)), y.view(bits(y))):
            names.append(name)
    return names


def bits(tensor: torch.Tensor) -> torch.dtype:
    return {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
