# SPDX-License-Identifier: Apache-2.0
"""Removes one synchronisation after the other, and what came of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context

import torch

from .places import Mutant, find_mutants
from .scenarios import Run, Scenario, run_baselines

SEEDS = 20
JOINT_SEEDS = 2  # the closure has decided already
MAX_REDUNDANT_SHARE = 0.05
WORKERS = 2


@dataclass
class Verdict:
    mutant: Mutant
    verdict: str  # "reported", "redundant", "silent"
    scenario: str | None = None  # where it was reported, or where it was silent
    why: str = ""
    model_cycles: float = 0.0  # what it costs in all scenarios together; of redundant ones only
    together: bool = False  # redundant still when the costlier ones marked so are gone
    closure_changed: bool = False
    seeds_changed: list[int] = field(default_factory=list)  # reported: the first only, in the scenario that reported it

    def to_dict(self) -> dict:
        return asdict(self.mutant) | {name: value for name, value in vars(self).items() if name != "mutant"}


@dataclass
class Campaign:
    verdicts: list[Verdict]
    seeds: int
    total_cycles: float  # of the unmodified kernel in all scenarios

    def of(self, verdict: str) -> list[Verdict]:
        return [item for item in self.verdicts if item.verdict == verdict]

    @property
    def values_changed(self) -> list[Verdict]:
        """Whose results differed under some adversarial seed."""
        return [item for item in self.verdicts if item.seeds_changed]

    @property
    def passed(self) -> bool:
        return not self.of("silent") and len(self.of("redundant")) <= MAX_REDUNDANT_SHARE * len(self.verdicts)

    def to_dict(self) -> dict:
        counts = {name: len(self.of(name)) for name in ("reported", "redundant", "silent")}
        lists = {name: [item.to_dict() for item in self.of(name)] for name in counts}
        return {
            "passed": self.passed,
            "removed": len(self.verdicts),
            **counts,
            "values_changed": len(self.values_changed),
            "values_changed_and_reported": sum(item.verdict == "reported" for item in self.values_changed),
            "seeds": self.seeds,
            "model_cycles": self.total_cycles,
            "lists": lists,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        removed, redundant, silent = len(self.verdicts), self.of("redundant"), self.of("silent")
        lines = [
            f"{removed} flag pairs and barriers, each removed by itself: {len(self.of('reported'))} reported,"
            f" {len(redundant)} redundant, {len(silent)} silent"
        ]
        changed = self.values_changed
        told = sum(item.verdict == "reported" for item in changed)
        lines.append(f"{len(changed)} change values under some adversarial seed, {told} of these are reported")
        for item in silent:
            lines += [f"SILENT {describe(item.mutant)}", f"         {item.scenario}: {item.why}"]
        for item in sorted(redundant, key=lambda item: -item.model_cycles):
            share = item.model_cycles / self.total_cycles if self.total_cycles else 0.0
            lines.append(f"redundant {describe(item.mutant)}")
            how = "can go with the others" if item.together else "can go, but not with all the others"
            cost = f"costs {item.model_cycles:,.0f} model cycles ({share:.2%}) in {item.mutant.executed} executions"
            lines.append(f"         {how}; {cost}")
        bar = f"bars: silent 0, redundant at most {MAX_REDUNDANT_SHARE:.0%} of removed"
        return "\n".join([*lines, f"{'PASSED' if self.passed else 'MISSED'} ({bar}; {self.seeds} adversarial seeds)"])


def describe(mutant: Mutant) -> str:
    ids = f" id {', '.join(map(str, mutant.ids))}" if mutant.ids else ""
    return f"{mutant.kind} {mutant.queues}{ids}: " + "; ".join(mutant.sites)


def judge(mutant: Mutant, scenarios: Mapping[str, Scenario], baselines: Mapping[str, Run], seeds: int) -> Verdict:
    verdict = Verdict(mutant, "redundant")
    names = sorted(mutant.scenarios, key=lambda name: baselines[name].cycles)  # most are reported in the first
    for name in names:
        run = scenarios[name]({"sync_sites": True, "drop_sync": list(mutant.identities)})
        if run.hazards:
            hazard = run.hazards[0]
            why = f"{hazard['rule']} [{hazard['grade']}] {hazard['missing'] or hazard['text']}"
            changed = first_change(mutant, scenarios[name], baselines[name], seeds)
            return Verdict(mutant, "reported", name, why, seeds_changed=changed)
        base = baselines[name]
        verdict.model_cycles += base.cycles - run.cycles
        differs = {"closure": run.closure != base.closure, "results": run.digest != base.digest}
        changes = [what for what, differ in differs.items() if differ]
        if changes:
            verdict.verdict, verdict.scenario, verdict.closure_changed = "silent", name, differs["closure"]
            verdict.why = f"{' and '.join(changes)} changed in program order, nothing reported"
    for name in names:
        for seed in range(seeds):
            run = scenarios[name]({"drop_sync": list(mutant.identities), "execution": "adversarial", "seed": seed})
            if run.hazards:
                changed = [*verdict.seeds_changed, *([seed] if run.digest != baselines[name].digest else [])]
                why = f"{run.hazards[0]['rule']} under adversarial seed {seed} only"
                return Verdict(mutant, "reported", name, why, seeds_changed=changed)
            if run.digest != baselines[name].digest:
                verdict.seeds_changed.append(seed)
                verdict.verdict, verdict.scenario = "silent", name
                verdict.why = verdict.why or f"results changed under adversarial seed {seed}, nothing reported"
    return verdict


def first_change(mutant: Mutant, scenario: Scenario, baseline: Run, seeds: int) -> list[int]:
    """The first adversarial seed under which the results differ, if any."""
    options = {"drop_sync": list(mutant.identities), "execution": "adversarial", "checked": False}
    changed = (seed for seed in range(seeds) if scenario(options | {"seed": seed}).digest != baseline.digest)
    return list(itertools.islice(changed, 1))


def mark_removable_together(
    campaign: Campaign, scenarios: Mapping[str, Scenario], baselines: Mapping[str, Run], seeds: int, progress
) -> None:
    """Each of the redundant ones covers for others; of those that are marked, none covers for another."""
    gone: tuple[str, ...] = ()
    redundant = sorted(campaign.of("redundant"), key=lambda item: -item.model_cycles)
    for done, item in enumerate(redundant):
        joint = replace(item.mutant, identities=gone + item.mutant.identities)
        if judge(joint, scenarios, baselines, seeds).verdict == "redundant":
            item.together = True
            gone = joint.identities
        if progress:
            progress.update(done + 1, len(redundant))


_worker: dict = {}


def _start_worker(scenarios: Mapping[str, Scenario], baselines: Mapping[str, Run], seeds: int) -> None:
    torch.set_num_threads(1)
    _worker.update(scenarios=scenarios, baselines=baselines, seeds=seeds)


def _judge_in_worker(mutant: Mutant) -> Verdict:
    return judge(mutant, **_worker)


def campaign(scenarios: Mapping[str, Scenario], seeds: int = SEEDS, workers: int = WORKERS, progress=None) -> Campaign:
    """Judges every mutant of `scenarios` (operator_scenarios() or your own) in `workers` processes (1: in this one)."""
    if progress:
        progress.stage("unmodified kernel")
    baselines = run_baselines(scenarios, progress)
    mutants = find_mutants(baselines)
    # The workers compare; they need no report but its verdicts.
    kept = ("sync", "model_cycles", "hazards")
    light = {name: Run(run.digest, {key: run.report[key] for key in kept}, None) for name, run in baselines.items()}
    if progress:
        progress.stage("removing synchronisation")
    verdicts: dict[int, Verdict] = {}

    def done(index: int, verdict: Verdict) -> None:
        verdicts[index] = verdict
        if progress:
            progress.update(len(verdicts), len(mutants))

    if workers == 1:
        for index, mutant in enumerate(mutants):
            done(index, judge(mutant, scenarios, light, seeds))
    else:
        # A launch's options and report are process-wide, hence processes; spawned, because forked ones inherit the
        # locks of threads.
        with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (scenarios, light, seeds)) as pool:
            futures = {pool.submit(_judge_in_worker, mutant): index for index, mutant in enumerate(mutants)}
            for future in as_completed(futures):
                done(futures[future], future.result())
    result = Campaign([verdicts[i] for i in range(len(mutants))], seeds, sum(run.cycles for run in baselines.values()))
    if progress:
        progress.stage("removing what is redundant together")
    mark_removable_together(result, scenarios, light, min(seeds, JOINT_SEEDS), progress)
    return result
