# SPDX-License-Identifier: Apache-2.0
"""What the chip's documents leave open may not decide whether the shipped kernel is right: the order in which the Cube adds
up, and what becomes of a half beyond 65,504. Under each the results stay inside the accuracy bars, without a hazard."""

import pytest
import torch
from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.check import fresh
from chunk_gdr.compare import compare_chunk_state, compare_out, compare_state
from chunk_gdr.reference import recurrence
from chunk_gdr.runner import call_operator

BUCKETS = (64, 80, 96, 128)
MODES = ("inf", "saturate")
# Ragged lengths with one token, one full chunk and one token more; gates from 0 to -inf; correlated keys; two v-heads a key.
GATES = {
    "qwen": {"lengths": (65, 1), "nv": 2},
    "per-head": {"lengths": (67,), "nv": 7, "keys": "correlated", "beta": "0.99"},
    "mixture": {"lengths": (130,), "nv": 2, "v_size": 8.0},
    "steep-prefix": {"lengths": (64, 7), "nv": 1},
    "-1e-5": {"lengths": (129,), "nv": 1, "keys": "correlated", "beta": "0.99"},
    "inf-at-70": {"lengths": (100,), "nv": 1, "keys": "raw", "l2norm": True},
}


def run(inputs, **options):
    inputs = fresh(inputs)
    call = call_operator(inputs, "model", **options)
    assert call.error is None, call.error
    hazards = call.model["hazards"]
    assert (hazards["errors"], hazards["auto_sync"]) == (0, 0), hazards
    return call.result


def check(inputs, truth, result, overflow):
    comparisons = [
        compare_out(result.out, truth.out, inputs.lengths, overflow),
        compare_state(result.final_state, truth.final_state, overflow=overflow),
    ]
    if inputs.chunk_state is not None:
        comparisons.append(compare_chunk_state(result.chunk_state, truth.chunk_state, inputs.lengths, overflow))
    for comparison in comparisons:
        assert comparison.passed and not comparison.masks_only, comparison


def inputs_and_truth(case):
    inputs = make_inputs(case)
    return inputs, recurrence(**inputs.arguments(), with_chunk_state=inputs.chunk_state is not None)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("state", ["float32", "float16"])
@pytest.mark.parametrize("dim", BUCKETS)
def test_any_order_of_accumulation_and_either_overflow(dim, state, gate):
    # Head dims that differ, and that fill their bucket: both sides in turn.
    dk, dv = (dim, dim - 16) if state == "float32" else (dim - 8, dim)
    case = Case(nk=1, dk=dk, dv=dv, gate=gate, state=state, chunk_state=True, seed=dim, **GATES[gate])
    inputs, truth = inputs_and_truth(case)
    for seed, overflow in enumerate(MODES):
        result = run(inputs, overflow=overflow, permute_cube=True, permute_seed=seed + dim)
        check(inputs, truth, result, overflow)


@pytest.mark.parametrize("dim", BUCKETS)
def test_the_order_of_accumulation_reaches_the_results(dim):
    """Otherwise the bars above would say nothing."""
    inputs = make_inputs(Case(lengths=(70,), nk=1, nv=1, dk=dim, dv=dim, gate="-1e-3"))
    plain, *others = (
        run(inputs, **options).final_state
        for options in ({}, {"permute_cube": True, "permute_seed": 1}, {"permute_cube": True, "permute_seed": 2})
    )
    assert not torch.equal(plain, others[0]) and not torch.equal(plain, others[1]) and not torch.equal(*others)


@pytest.mark.parametrize("overflow", MODES)
@pytest.mark.parametrize("dim", BUCKETS)
def test_outputs_beyond_half(dim, overflow):
    """scale makes some of `out` larger than 65,504: inf or the largest half by mode, the rest and the state as ever."""
    case = Case(lengths=(66,), nk=1, nv=2, dk=dim, dv=dim, gate="-1e-3", v_size=8.0, scale=6e4)
    inputs, truth = inputs_and_truth(case)
    beyond = truth.out.abs() > 65520
    assert 0.01 < beyond.double().mean() < 0.9
    result = run(inputs, overflow=overflow, permute_cube=True)
    check(inputs, truth, result, overflow)
    found = result.out[beyond].abs()
    assert found.isinf().all() if overflow == "inf" else (found == 65504).all()
