# SPDX-License-Identifier: Apache-2.0
"""What is run with and without a synchronisation: the operator on small cases, and what a run left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from .. import _C, model, tiling
from ..cases import Case, make_inputs
from ..runner import call_operator


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
    schedule: str = "auto"

    def __call__(self, options: dict) -> Run:
        with tiling.schedule(self.schedule):
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
        gate_pitch = _C.gate_pitch(self.tokens)
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
        columns = ("name", "memory", "offset_bytes", "bytes", "first_stage", "last_stage")
        rows = [tuple(buffer[column] for column in columns) for buffer in plan["buffers"]]
        report = model.run(
            model.library_path().with_name("libchunk_gdr_kernels.so"), "chunk_gated_delta_rule", arguments,
            tiling=plan["tiling"], tiling_key=plan["tiling_key"], block_num=plan["block_num"], buffers=rows,
            workspace=np.full(plan["workspace_bytes"], 0xFF, np.uint8), cores=1, threads=1, **options,
        )  # fmt: skip
        return Run(digest_of([out, final_state]), report.to_dict(), report.error or None)


def operator_scenarios() -> dict[str, Scenario]:
    """Small cases that between them execute every flag and barrier of the operator's kernel.

    Sequence-major on one core, so that it runs several items, each bucket with either dtype of the state; v-tiles on two
    cores; chunk-parallel on two, where each round has a chunk of a core's own, and on four. Ragged chunks, one token,
    several chunks, v-heads that share a k-head.
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
        "slices-b128": OperatorScenario(case(65, dk=128, dv=128, chunk_state=True), cores=2, schedule="v-tiles"),
        "shared-b64": OperatorScenario(case(1220, 70, dk=64, dv=64), cores=4, schedule="chunk-parallel:2"),
        "shared-half-b80": OperatorScenario(case(1160, dk=80, dv=64, state="float16"), cores=2, schedule="chunk-parallel:2"),
        "shared-four-b64": OperatorScenario(case(1220, dk=64, dv=64), cores=4, schedule="chunk-parallel:2"),
        "shared-b96": OperatorScenario(case(128, dk=96, dv=96, scale=None), cores=2, schedule="chunk-parallel"),
        "shared-half-b128": OperatorScenario(
            case(576, dk=128, dv=128, state="float16", chunk_state=True), cores=2, schedule="chunk-parallel"
        ),
        # Chunks that leave the common way: detours for both reasons, and weights that are all small.
        "detours-b64": OperatorScenario(case(130, dk=64, dv=48, key_norm=3.0, query_norm=1e-3, gate="-5")),
        "shared-four-detours-b64": OperatorScenario(
            case(400, dk=64, dv=64, key_norm=3.0, query_norm=1e-3, gate="-5", beta=0.01, chunk_state=True),
            cores=4,
            schedule="chunk-parallel:2",
        ),
        "shared-small-weights-b64": OperatorScenario(
            case(900, dk=64, dv=64, gate="-5", beta=0.004, state="float16", chunk_state=True), cores=2, schedule="chunk-parallel:2"
        ),
        "small-weights-b64": OperatorScenario(case(200, dk=64, dv=64, gate="-5", beta=0.004)),
        "shared-detours-b64": OperatorScenario(
            case(200, dk=64, dv=64, key_norm=3.0, query_norm=1e-3, gate="-5"), cores=2, schedule="chunk-parallel"
        ),
        "b80": OperatorScenario(case(64, 65, nv=2, dk=72, dv=80)),
        "half-b80": OperatorScenario(case(65, dk=80, dv=40, state="float16", chunk_state=True, scale=0.01)),
        "b96": OperatorScenario(case(65, 3, dk=96, dv=96, l2norm=True, keys="raw", chunk_state=True)),
        "half-b96": OperatorScenario(case(100, dk=90, dv=64, state="float16")),
        "b128": OperatorScenario(case(64, 66, nv=2, dk=128, dv=128)),
        "half-b128": OperatorScenario(
            case(70, 5, dk=128, dv=112, state="float16", chunk_state=True, l2norm=True, keys="raw")
        ),
    } | {
        f"refused-{dtype}-b{dim}": RefusalScenario(dtype, k_dim=dim, v_dim=dim)
        for dim in (64, 80, 96, 128)
        for dtype in ("float32", "float16")
    }


def digest_of(arrays) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def run_baselines(scenarios: Mapping[str, Scenario], progress=None, **options) -> dict[str, Run]:
    baselines = {}
    for done, (name, scenario) in enumerate(scenarios.items()):
        baselines[name] = run = scenario({"sync_sites": True, **options})
        if run.error or run.hazards:
            why = run.error or run.hazards[0]["report"]
            raise RuntimeError(f"scenario {name} is not clean without any removal: {why}")
        if progress:
            progress.update(done + 1, len(scenarios))
    return baselines
