# SPDX-License-Identifier: Apache-2.0
"""Removes each flag pair and each barrier of a kernel by itself and asks the hazard checker whether it notices.

A removed synchronisation is *reported* if the checker names a missing edge (either grade) in any scenario; *redundant* if,
in all of them, the closure of ordered conflicting accesses is what it was and every adversarial seed gives the same bits;
*silent* otherwise. Silent means that the checker or the closure is wrong, so there must be none.

Apart from that, every mutant's results are compared with the unmodified kernel's under adversarial seeds, those of reported
mutants too: whatever changes values there has to be reported by the clocks. A barrier of one queue cannot: the host model
executes a queue's instructions one after the other, barrier or not.

The closure is the set of (earlier access, later access, bytes, ordered or not) over all pairs of accesses of one core to
the same bytes, at least one of them a write, that the shadow state meets: for every access the last writer, and for a write
the last reader of each queue since. What is ordered after those is ordered after everything before them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context

import numpy as np
import torch

from . import _C, model
from .cases import CHUNK, Case, make_inputs
from .runner import call_operator

SEEDS = 20
JOINT_SEEDS = 2  # the closure has decided already
MAX_REDUNDANT_SHARE = 0.05
WORKERS = 2


@dataclass(frozen=True)
class Run:
    """What a scenario's run left: a digest of its results, and the host model's report."""

    digest: str
    report: dict
    error: str | None

    @property
    def hazards(self) -> list[dict]:
        return [item for item in self.report["hazards"]["reports"] if item["grade"] in ("error", "relies_on_auto_sync")]

    @property
    def closure(self) -> str:
        return self.report["sync"]["closure"]

    @property
    def cycles(self) -> float:
        return self.report["model_cycles"]["total"]


# Options of chunk_gdr.model.options -> Run. Pickled into the worker processes.
Scenario = Callable[[dict], Run]


@dataclass(frozen=True)
class OperatorScenario:
    """The operator on a generated case."""

    case: Case
    cores: int = 1

    def __call__(self, options: dict) -> Run:
        call = call_operator(make_inputs(self.case), "model", cores=self.cores, threads=1, **options)
        tensors = [t for t in vars(call.result).values() if t is not None]
        return Run(digest_of(t.numpy() for t in tensors), call.model, call.error)


@dataclass(frozen=True)
class RefusalScenario:
    """The kernel with lengths on the device that do not add up to T, which the torch boundary would refuse."""

    state_dtype: str
    k_dim: int
    v_dim: int
    tokens: int = 40

    def __call__(self, options: dict) -> Run:
        gate_pitch = self.tokens + CHUNK
        plan = _C.plan(
            total_tokens=self.tokens, batch=1, key_heads=1, value_heads=1, key_dim=self.k_dim, value_dim=self.v_dim,
            has_beta=True, has_g=True, has_initial_state=True, has_lengths=True, gate_stride_elems=gate_pitch,
            state_is_half=self.state_dtype == "float16", scale=1.0, core_count=1,
        )  # fmt: skip
        out = np.zeros((self.tokens, 1, self.v_dim), np.float16)
        final_state = np.zeros((1, 1, self.v_dim, self.k_dim), self.state_dtype)
        arguments = {
            "query": np.zeros((self.tokens, 1, self.k_dim), np.float16),
            "key": np.zeros((self.tokens, 1, self.k_dim), np.float16),
            "value": np.zeros((self.tokens, 1, self.v_dim), np.float16),
            "beta": np.zeros((1, gate_pitch), np.float32),
            "initial_state": np.zeros_like(final_state),
            "lengths": np.array([self.tokens + 1], np.int64),
            "g": np.zeros((1, gate_pitch), np.float32),
            "chunk_state": None,
            "out": out,
            "final_state": final_state,
        }
        rows = [(b["name"], b["memory"], b["offset_bytes"], b["bytes"], b["first_stage"], b["last_stage"]) for b in plan["buffers"]]
        report = model.run(
            model.library_path().with_name("libchunk_gdr_kernels.so"), "chunk_gated_delta_rule", arguments,
            tiling=plan["tiling"], tiling_key=plan["tiling_key"], block_num=plan["block_num"], buffers=rows,
            workspace=np.full(plan["workspace_bytes"], 0xFF, np.uint8), cores=1, threads=1, **options,
        )  # fmt: skip
        return Run(digest_of([out, final_state]), report.to_dict(), report.error or None)


def operator_scenarios() -> dict[str, Scenario]:
    """Small cases that between them execute every flag and barrier of the operator's kernel, in each of its instances.

    On one core, so that it runs several items; ragged chunks, one token, several chunks; one case on two cores has slices of Dv.
    """

    def case(*lengths, nk=1, nv=1, dk, dv, **changes) -> Case:
        return Case(lengths=lengths, nk=nk, nv=nv, dk=dk, dv=dv, **changes)

    return {
        "ragged-b64": OperatorScenario(case(70, 1, 0, 64, nv=2, dk=32, dv=16)),
        "l2norm-half-b64": OperatorScenario(
            case(66, 20, dk=64, dv=48, state="float16", chunk_state=True, l2norm=True, keys="raw"),
        ),
        "bare-b64": OperatorScenario(
            Case((130,), 1, 1, 16, 32, gate="none", beta="none", state=None, scale=None, pass_lengths=False)
        ),
        "slices-b128": OperatorScenario(case(65, dk=128, dv=128, chunk_state=True), cores=2),
        "b80": OperatorScenario(case(64, 65, nv=2, dk=72, dv=80)),
        "half-b80": OperatorScenario(case(65, dk=80, dv=40, state="float16", chunk_state=True, scale=0.01)),
        "b96": OperatorScenario(case(65, 3, dk=96, dv=96, l2norm=True, keys="raw", chunk_state=True)),
        "half-b96": OperatorScenario(case(100, dk=90, dv=64, state="float16")),
        "b128": OperatorScenario(case(64, 66, nv=2, dk=128, dv=128)),
        "half-b128": OperatorScenario(case(70, 5, dk=128, dv=112, state="float16", chunk_state=True, l2norm=True, keys="raw")),
    } | {
        f"refused-{dtype}-b{dim}": RefusalScenario(dtype, k_dim=dim, v_dim=dim)
        for dim in (64, 80, 96, 128)
        for dtype in ("float32", "float16")
    }


@dataclass(frozen=True)
class Mutant:
    """One flag pair (the SetFlags and the WaitFlags that consume them, or each other's) or one barrier."""

    kind: str  # "flags" or "barrier"
    queues: str  # "V -> MTE3", "V"
    ids: tuple[int, ...]
    sites: tuple[str, ...]  # "SetFlag at sync.h:13 <- kernel.h:148 Load"
    identities: tuple[str, ...]  # for the option drop_sync
    scenarios: tuple[str, ...]  # that execute it
    executed: int


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


def digest_of(arrays) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def find_mutants(baselines: Mapping[str, Run]) -> list[Mutant]:
    """The flag pairs and barriers that these runs executed, but for those inside library routines (TPipe, TQue, ...).

    A synchronisation is one place of the source as seen from one chain of callers; copies the compiler made of it (unrolled
    loops, instances of a template) are one.
    """
    chains = {name: [chain_of(site) for site in run.report["sync"]["sites"]] for name, run in baselines.items()}
    canonical = merge_instances(chains.values())
    places: dict[tuple, dict] = {}
    partner: dict[tuple, tuple] = {}  # union-find over flag places

    def root(key: tuple) -> tuple:
        while partner[key] != key:
            key = partner[key]
        return key

    for name, run in baselines.items():
        keys = [canonical[chain] for chain in chains[name]]
        for key, site in zip(keys, run.report["sync"]["sites"]):
            if site["library"]:
                continue
            known = places.setdefault(key, {"queue": site["queue"], "text": f"{site['op']} at {site['place']}", "executed": 0})
            known.setdefault("identities", {})[site["identity"]] = None
            known.setdefault("runs", {})[name] = None
            known.setdefault("ids", {})
            known["executed"] += site["count"]
            if site["op"] != "PipeBarrier":
                partner.setdefault(key, key)
        for pair in run.report["sync"]["pairs"]:
            a, b = keys[pair["set"]], keys[pair["wait"]]
            if a not in places or b not in places:
                continue
            partner[root(a)] = root(b)
            places[a]["ids"][pair["id"]] = None
    groups: dict[tuple, list[tuple]] = {}
    for key in places:
        groups.setdefault(root(key) if key in partner else key, []).append(key)
    return [mutant_of([(key[0][0], places[key]) for key in keys]) for keys in groups.values()]


def chain_of(site: dict) -> tuple:
    """The place and who called it, the kernel's entry last."""
    callers = [(caller["file"], caller["line"], caller["function"]) for caller in site["callers"]]
    return ((site["op"], site["file"], site["line"]), *callers)


def merge_instances(launches) -> dict[tuple, tuple]:
    """One chain for those that differ in the line of the entry only and never meet in a launch: there, a tiling key has
    chosen between instances of the same code."""
    variants: dict[tuple, set[tuple]] = {}
    apart: set[tuple] = set()
    for chains in launches:
        met: dict[tuple, tuple] = {}
        for chain in chains:
            variants.setdefault(chain[:-1], set()).add(chain)
            if met.setdefault(chain[:-1], chain) != chain:
                apart.add(chain[:-1])
    return {chain: chain if head in apart else min(group) for head, group in variants.items() for chain in group}


def mutant_of(members: list[tuple[str, dict]]) -> Mutant:
    def union(name: str) -> tuple:
        return tuple(dict.fromkeys(item for _, known in members for item in known[name]))

    def queues(op: str) -> str:
        return "/".join(sorted({known["queue"] for o, known in members if o == op}))

    barrier = members[0][0] == "PipeBarrier"
    return Mutant(
        kind="barrier" if barrier else "flags",
        queues=queues("PipeBarrier") if barrier else f"{queues('SetFlag')} -> {queues('WaitFlag')}",
        ids=tuple(sorted(union("ids"))),
        sites=tuple(known["text"] for _, known in members),
        identities=union("identities"),
        scenarios=union("runs"),
        executed=sum(known["executed"] for op, known in members if op != "WaitFlag"),
    )


def judge(mutant: Mutant, scenarios: Mapping[str, Scenario], baselines: Mapping[str, Run], seeds: int) -> Verdict:
    verdict = Verdict(mutant, "redundant")
    for name in mutant.scenarios:
        run = scenarios[name]({"sync_sites": True, "drop_sync": list(mutant.identities)})
        if run.hazards:
            hazard = run.hazards[0]
            why = f"{hazard['rule']} [{hazard['grade']}] {hazard['missing'] or hazard['text']}"
            changed = first_change(mutant, scenarios[name], baselines[name], seeds)
            return Verdict(mutant, "reported", name, why, seeds_changed=changed)
        base = baselines[name]
        verdict.model_cycles += base.cycles - run.cycles
        changes = [text for text, differs in (("closure", run.closure != base.closure), ("results", run.digest != base.digest)) if differs]
        if changes:
            verdict.verdict, verdict.scenario, verdict.closure_changed = "silent", name, run.closure != base.closure
            verdict.why = f"{' and '.join(changes)} changed in program order, nothing reported"
    for name in mutant.scenarios:
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


def run_baselines(scenarios: Mapping[str, Scenario], progress=None, **options) -> dict[str, Run]:
    baselines = {}
    for done, (name, scenario) in enumerate(scenarios.items()):
        baselines[name] = run = scenario({"sync_sites": True, **options})
        if run.error or run.hazards:
            raise RuntimeError(f"scenario {name} is not clean without any removal: {run.error or run.hazards[0]['report']}")
        if progress:
            progress.update(done + 1, len(scenarios))
    return baselines


_worker: dict = {}


def _start_worker(scenarios: Mapping[str, Scenario], baselines: Mapping[str, Run], seeds: int) -> None:
    torch.set_num_threads(1)
    _worker.update(scenarios=scenarios, baselines=baselines, seeds=seeds)


def _judge_in_worker(mutant: Mutant) -> Verdict:
    return judge(mutant, **_worker)


def campaign(scenarios: Mapping[str, Scenario], seeds: int = SEEDS, workers: int = WORKERS, progress=None) -> Campaign:
    """Judges every mutant of `scenarios` (from `operator_scenarios`, or your own) in `workers` processes (1: in this one)."""
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
        # A launch's options and report are process-wide, hence processes; spawned, because forked ones inherit threads' locks.
        with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (scenarios, light, seeds)) as pool:
            futures = {pool.submit(_judge_in_worker, mutant): index for index, mutant in enumerate(mutants)}
            for future in as_completed(futures):
                done(futures[future], future.result())
    result = Campaign([verdicts[i] for i in range(len(mutants))], seeds, sum(run.cycles for run in baselines.values()))
    if progress:
        progress.stage("removing what is redundant together")
    mark_removable_together(result, scenarios, light, min(seeds, JOINT_SEEDS), progress)
    return result
