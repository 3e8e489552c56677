# SPDX-License-Identifier: Apache-2.0
"""Backends native and reference of the torch operator against a numpy fp64 token recurrence."""

import math

import numpy as np
import pytest
import torch

import chunk_gdr

from .token_recurrence import assert_matches, inputs, nrmse, out_by_head, run, to_numpy, truth


@pytest.mark.parametrize(
    "dims", [(1, 1), (9, 17), (33, 60), (64, 96), (128, 128), (100, 3), (128, 1)], ids=lambda d: f"Dk{d[0]}-Dv{d[1]}"
)
@pytest.mark.parametrize("heads", [(1, 1), (2, 4), (3, 3), (1, 5)], ids=lambda h: f"Nk{h[0]}-Nv{h[1]}")
def test_dims_and_heads(on_backend, dims, heads):
    data = inputs(0, 70, *heads, *dims)
    want_out, want_state, _ = truth(data, scale=0.5)
    assert_matches(*run(data, scale=0.5), want_out, want_state)


@pytest.mark.parametrize("dk", [63, 65, 79, 81, 95, 97, 127])
def test_odd_dim_equals_zero_padded_run(on_backend, dk):
    data = inputs(1, 70, 1, 2, dk, 40)
    wide = dict(data)
    for name in ("q", "k", "initial_state"):
        wide[name] = torch.nn.functional.pad(data[name], (0, 128 - dk))
    out, state = run(data)
    wide_out, wide_state = run(wide)
    assert (nrmse(out_by_head(out), out_by_head(to_numpy(wide_out))) <= 3e-5).all()
    assert (nrmse(state, to_numpy(wide_state)[..., :dk]) <= 1e-6).all()
    assert not wide_state[..., dk:].any()


def test_value_head_reads_key_head_by_division(on_backend):
    data = inputs(2, 20, 2, 4, 16, 24)
    want, _, _ = truth(data)
    modulo = truth({**data, "q": data["q"][:, [0, 1, 0, 1]], "k": data["k"][:, [0, 1, 0, 1]]})[0]
    out = run(data)[0]
    assert (nrmse(out_by_head(out), out_by_head(want)) <= 3e-4).all()
    assert nrmse(out_by_head(out), out_by_head(modulo))[0, 1:3].min() > 0.3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_dtypes(on_backend, dtype):
    data = inputs(3, 100, 2, 4, 40, 72, dtype)
    data["beta"] = data["beta"].to(dtype)
    want_out, want_state, _ = truth(data)
    out, state = run(data)
    assert out.dtype == dtype
    assert_matches(out, state, want_out, want_state)


def test_reference_computes_float64():
    data = {name: x.double() for name, x in inputs(4, 100, 2, 4, 40, 72, torch.float64).items()}
    want_out, want_state, _ = truth(data)
    with chunk_gdr.backend("reference"):
        out, state = run(data)
    assert out.dtype == state.dtype == torch.float64
    assert nrmse(out_by_head(out), out_by_head(want_out)).max() < 1e-14
    assert nrmse(state, want_state).max() < 1e-14


def test_reference_rounds_once():
    """fp64 to fp16 through fp32 would round some values twice."""
    data = inputs(5, 600, 1, 8, 32, 128)
    with chunk_gdr.backend("reference"):
        out = run(data)[0]
    assert np.array_equal(out.numpy(), truth(data)[0].astype(np.float16))


@pytest.mark.parametrize("state_dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_state_dtype(on_backend, state_dtype):
    data = inputs(6, 70, 1, 2, 32, 48)
    data["initial_state"] = data["initial_state"].to(state_dtype)
    _, want, _ = truth(data)
    state = run(data)[1]
    assert state.dtype == state_dtype
    floor = nrmse(torch.from_numpy(want).to(state_dtype), want)
    assert (nrmse(state, want) <= 1.01 * floor + 2e-6).all()


def test_half_state_is_float_inside(on_backend):
    """4096 slow steps: a state rounded to fp16 at every token would be off by 2e-3."""
    data = inputs(7, 4096, 1, 1, 16, 16)
    data["g"] = torch.full_like(data["g"], -1e-3)
    data["initial_state"] = data["initial_state"].half()
    _, want, _ = truth(data)
    assert nrmse(run(data)[1], want).max() < 3e-4


@pytest.mark.parametrize(
    "missing", [("beta",), ("g",), ("initial_state",), ("beta", "g", "initial_state")], ids="-".join
)
def test_absent_optionals(on_backend, missing):
    data = {name: x for name, x in inputs(8, 70, 1, 2, 24, 40).items() if name not in missing}
    want_out, want_state, _ = truth(data)
    assert_matches(*run(data), want_out, want_state)


def test_scale_defaults_to_one(on_backend):
    data = inputs(9, 10, 1, 1, 16, 16)
    assert torch.equal(run(data)[0], run(data, scale=1.0)[0])
    assert not torch.equal(run(data)[0], run(data, scale=0.25)[0])


def strided(x, dim):
    """The same values as a view into a larger tensor full of NaN, with a step of 2 along dim."""
    shape = [n + 2 for n in x.shape]
    shape[dim] = 2 * x.shape[dim] + 1
    index = [slice(1, n + 1) for n in x.shape]
    index[dim] = slice(1, 2 * x.shape[dim], 2)
    pool = torch.full(shape, math.nan, dtype=x.dtype)
    pool[tuple(index)] = x
    return pool[tuple(index)]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_strided_inputs(on_backend, dim):
    data = inputs(20, 70, 2, 4, 33, 50, batch=2)
    lengths = [65, 5]
    out, state = run(data, lengths)
    views = {name: strided(x, dim) for name, x in data.items()}
    assert not any(x.is_contiguous() for x in views.values())
    strided_out, strided_state = run(views, lengths)
    assert torch.equal(out, strided_out) and torch.equal(state, strided_state)


def test_transposed_and_expanded_inputs(on_backend):
    data = inputs(21, 70, 2, 4, 33, 50)
    data["k"] = data["k"][:, :1].expand(-1, 2, -1)
    out, state = run({name: x.clone() for name, x in data.items()})
    views = {name: x.transpose(0, 1).contiguous().transpose(0, 1) for name, x in data.items() if name != "k"}
    view_out, view_state = run({**views, "k": data["k"]})
    assert torch.equal(out, view_out) and torch.equal(state, view_state)


@pytest.mark.parametrize("lengths", [[3, 5], [0, 8], [0, 0]], ids=str)
def test_outputs_are_fresh(on_backend, lengths):
    data = inputs(22, sum(lengths), 1, 2, 16, 16, batch=2)
    before = {name: x.clone() for name, x in data.items()}
    out, state = run(data, lengths)
    storages = {x.untyped_storage().data_ptr() for x in data.values()} - {0}
    assert state.untyped_storage().data_ptr() not in storages
    assert out.numel() == 0 or out.untyped_storage().data_ptr() not in storages
    state.zero_()
    out.zero_()
    assert all(torch.equal(x, before[name]) for name, x in data.items())
