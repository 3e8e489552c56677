# SPDX-License-Identifier: Apache-2.0
"""Runs the operator on a backend and holds its results against the fp64 recurrence."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from . import _npu, tiling
from . import model as host_model
from ._switch import backend as switch
from .arguments import UsageError
from .cases import Case, Inputs, looks_like_alpha
from .compare import Comparison, compare_chunk_state, compare_out, compare_state, dtype_name
from .reference import Result, recurrence


@dataclass
class Call:
    """What one call of the operator returned, and what the host model says about it."""

    result: Result
    seconds: float
    model: dict | None = None  # the host model's report; None on other backends
    error: str | None = None  # why there is no result to trust


def problem_of(inputs: Inputs) -> dict:
    lengths = inputs.lengths
    nv, dv = inputs.value.shape[1:]
    dk = inputs.query.shape[2]
    chunk_size = tiling.plan([0], 1, 1, dk, dv, schedule="auto").chunk_size
    optional = ("beta", "g", "initial_state", "actual_seq_lengths", "chunk_state")
    given = [name for name in optional if getattr(inputs, name) is not None]
    if inputs.use_qk_l2norm_in_kernel:
        given.append("use_qk_l2norm_in_kernel")
    return {
        "tokens": inputs.query.shape[0],
        "lengths": lengths,
        "nk": inputs.query.shape[1],
        "nv": nv,
        "dk": dk,
        "dv": dv,
        "dtype": dtype_name(inputs.query.dtype),
        "state_dtype": "float32" if inputs.initial_state is None else dtype_name(inputs.initial_state.dtype),
        "scale": 1.0 if inputs.scale is None else inputs.scale,
        "chunk_heads": sum(-(-length // chunk_size) for length in lengths) * nv,
        "given": given,
    }


def input_warnings(inputs: Inputs) -> list[str]:
    warnings = []
    if looks_like_alpha(inputs.g):
        warnings.append(
            "g has values above 0, so the state grows there. g is the LOGARITHM of the decay: was the decay passed?"
        )
    for name in ("query", "key", "value", "beta", "initial_state"):
        tensor = getattr(inputs, name)
        if tensor is not None and not tensor.isfinite().all():
            warnings.append(f"{name} has inf or nan; its heads are spoiled from that chunk on")
    if inputs.g is not None and inputs.g.isnan().any():
        warnings.append("g has nan; its heads are spoiled from that chunk on")
    return warnings


def call_operator(inputs: Inputs, backend: str, **options) -> Call:
    """Runs torch.ops.chunk_gdr.chunk_gated_delta_rule on a backend, or on "npu", the card.

    `options` are those of chunk_gdr.model.options. Bad arguments raise; a kernel that the host model found at fault is
    a Call with its error and the model's report.
    """
    if backend == "npu":
        return call_on_card(inputs)
    on_model = backend == "model"
    begin = time.perf_counter()
    error = None
    try:
        with switch(backend), model_options(on_model, options):
            out, state = torch.ops.chunk_gdr.chunk_gated_delta_rule(**vars(inputs))
    except RuntimeError as failure:
        if not on_model or is_user_error(failure):
            raise
        error = first_line(failure)
        empty = torch.empty(0)
        out, state = empty, empty
    seconds = time.perf_counter() - begin
    model = host_model.last_report().to_dict() if on_model else None
    return Call(Result(out, state, inputs.chunk_state), seconds, model, error)


def call_on_card(inputs: Inputs) -> Call:
    """The call with its tensors on the card, and the results back from there; `seconds` is for the call alone.

    Lengths stay on the CPU where there is a chunk_state, which then needs no more rows than they say.
    """
    if _npu.missing is not None:
        raise UsageError(f"no card: {_npu.missing}")
    stay = ("actual_seq_lengths",) if inputs.chunk_state is not None else ()
    moved = {
        name: x.to("npu") if isinstance(x, Tensor) and name not in stay else x for name, x in vars(inputs).items()
    }
    torch.npu.synchronize()
    begin = time.perf_counter()
    out, state = torch.ops.chunk_gdr.chunk_gated_delta_rule(**moved)
    torch.npu.synchronize()
    seconds = time.perf_counter() - begin
    if inputs.chunk_state is not None:
        inputs.chunk_state.copy_(moved["chunk_state"])
    return Call(Result(out.cpu(), state.cpu(), inputs.chunk_state), seconds)


def model_options(on_model: bool, options: dict):
    return host_model.options(**options) if on_model else contextlib.nullcontext()


def plan_of(inputs: Inputs, cores: int = tiling.MAX_CORES) -> tiling.Plan:
    """The launch plan of this call."""
    problem = problem_of(inputs)
    shapes = {name: problem[name] for name in ("lengths", "nk", "nv", "dk", "dv", "state_dtype")}
    given = {name: getattr(inputs, name) is not None for name in ("initial_state", "chunk_state", "g", "beta")}
    return tiling.plan(**shapes, **given, use_qk_l2norm=inputs.use_qk_l2norm_in_kernel, cores=cores)


def plan_of_case(case: Case, cores: int = tiling.MAX_CORES) -> tiling.Plan:
    """The launch plan of a generated case, without generating it."""
    return tiling.plan(
        case.lengths,
        case.nk,
        case.nv,
        case.dk,
        case.dv,
        state_dtype=case.state or "float32",
        initial_state=case.state is not None,
        chunk_state=case.chunk_state,
        g=case.gate != "none",
        beta=case.beta != "none",
        use_qk_l2norm=case.l2norm,
        cores=cores,
    )


def is_user_error(failure: Exception) -> bool:
    """Of an argument of the call, or of the kernel that the environment names."""
    marks = ("chunk_gated_delta_rule: argument '", "CHUNK_GDR_MODEL_KERNEL: ", "CHUNK_GDR_STATE_LAYOUT: ")
    return any(mark in str(failure) for mark in marks)


def first_line(failure: Exception) -> str:
    return str(failure).strip().splitlines()[0]


def compare_with_truth(inputs: Inputs, result: Result, overflow: str = "any") -> list[Comparison]:
    """out, final_state and, where it was asked for, chunk_state against the fp64 recurrence."""
    truth = recurrence(**inputs.arguments(), with_chunk_state=inputs.chunk_state is not None)
    comparisons = [
        compare_out(result.out, truth.out, inputs.lengths, overflow),
        compare_state(result.final_state, truth.final_state, overflow=overflow),
    ]
    if inputs.chunk_state is not None:
        comparisons.append(compare_chunk_state(result.chunk_state, truth.chunk_state, inputs.lengths, overflow))
    return comparisons
