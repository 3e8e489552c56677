# SPDX-License-Identifier: Apache-2.0
"""Head dims, head ratios, layouts; and a covering design in which every two values of different factors meet."""

import itertools
import random
from dataclasses import replace

import pytest
import torch

from chunk_gdr.cases import Case, Inputs, make_inputs
from chunk_gdr.compare import compare_out
from chunk_gdr.reference import recurrence
from chunk_gdr.runner import call_operator

DIMS = (1, 9, 33, 60, 63, 64, 65, 79, 80, 81, 95, 96, 97, 100, 127, 128)
FACTORS = {
    "dk": DIMS,
    "dv": DIMS,
    "lengths": ((1,), (63,), (64,), (5, 0, 65), (100,), (2, 64)),
    "gate": ("none", "zero", "qwen", "-1e-5", "-1e-3", "-5", "-50", "-316", "-inf", "mixture"),
    "heads": ((1, 1), (1, 2), (2, 2), (1, 3), (2, 4)),
    "state": (None, "float32", "float16"),
    "beta": ("none", "random", "0.99"),
    "beta_dtype": ("float16", "float32"),
    "keys": ("random", "correlated", "l2norm"),
    "chunk_state": (False, True),
}


def pairs(row):
    return set(itertools.combinations(row.items(), 2))


def covering_rows():
    """One row for every (dk, dv); the other factors are chosen greedily so that all pairs of values occur."""
    rng = random.Random(3)
    missing = set()
    for (a, values_a), (b, values_b) in itertools.combinations(FACTORS.items(), 2):
        missing |= {((a, x), (b, y)) for x in values_a for y in values_b}
    rows = []
    for dk, dv in itertools.product(DIMS, DIMS):
        candidates = [{name: rng.choice(values) for name, values in FACTORS.items()} for _ in range(60)]
        candidates = [candidate | {"dk": dk, "dv": dv} for candidate in candidates]
        best = max(candidates, key=lambda row: len(pairs(row) & missing))
        missing -= pairs(best)
        rows.append(best)
    return rows, missing


ROWS, MISSING = covering_rows()


def case_of(row) -> Case:
    changes = {name: value for name, value in row.items() if name not in ("heads", "keys")}
    changes["nk"], changes["nv"] = row["heads"]
    changes |= {"l2norm": True, "keys": "raw"} if row["keys"] == "l2norm" else {"keys": row["keys"]}
    return Case(**changes, scale=0.125, seed=row["dk"] * 1000 + row["dv"])


def test_every_pair_of_values_is_covered():
    assert not MISSING and len(ROWS) == len(DIMS) ** 2


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"Dk{row['dk']}-Dv{row['dv']}")
def test_covering_design(check, row):
    check(case_of(row))


BASE = Case(lengths=(70, 3), nk=1, nv=2, dk=48, dv=32)


@pytest.mark.parametrize("dk, dv", [(64, 96), (96, 64), (128, 16), (16, 128), (17, 128), (128, 1), (1, 128), (9, 9)])
def test_different_dims(check, dk, dv):
    check(replace(BASE, dk=dk, dv=dv))


@pytest.mark.parametrize("dim", [9, 17, 33, 60, 63, 65, 79, 81, 95, 97, 100, 127])
def test_odd_dims_equal_the_padded_run(run_model, dim):
    x = make_inputs(replace(BASE, dk=dim, dv=dim, scale=0.125, chunk_state=True))
    got = run_model(x)
    pad = -dim % 16
    rows = {name: torch.nn.functional.pad(getattr(x, name), (0, pad)) for name in ("query", "key", "value")}
    square = ("initial_state", "chunk_state")
    states = {name: torch.nn.functional.pad(getattr(x, name), (0, pad, 0, pad)) for name in square}
    wide = run_model(replace_tensors(x, **rows, **states))
    assert torch.equal(got.out, wide.out[..., :dim])
    assert torch.equal(got.final_state, wide.final_state[..., :dim, :dim])
    assert torch.equal(got.chunk_state, wide.chunk_state[..., :dim, :dim])
    assert (wide.out[..., dim:] == 0).all() and (wide.final_state[..., dim:] == 0).all()


def replace_tensors(x: Inputs, **tensors) -> Inputs:
    return Inputs(**(vars(x) | tensors))


@pytest.mark.parametrize("nk, nv", [(1, 1), (1, 4), (2, 4), (2, 6), (3, 3), (4, 8)])
def test_head_ratios(check, nk, nv):
    """v-head h reads k-head h // (Nv / Nk)."""
    check(replace(BASE, nk=nk, nv=nv))


def test_the_modulo_map_would_be_seen(run):
    """k-head h % 2 in place of h // 2 is another result, far outside of every bar."""
    x = make_inputs(replace(BASE, nk=2, nv=4, state=None))
    got = run(x)
    modulo = [0, 1, 0, 1]
    other = recurrence(**(x.arguments() | {"query": x.query[:, modulo], "key": x.key[:, modulo]}))
    assert compare_out(got.out[:, [1, 2]], other.out[:, [1, 2]], x.lengths).worst.nrmse > 0.3


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_state_dtypes(check, dtype):
    x = make_inputs(replace(BASE, state=dtype, chunk_state=True))
    result, _ = check(x)
    assert result.final_state.dtype == result.chunk_state.dtype == getattr(torch, dtype)


def test_without_a_state_the_final_state_is_fp32(run):
    assert run(replace(BASE, state=None)).final_state.dtype == torch.float32


def test_an_fp16_state_is_fp32_inside(check):
    """4,096 slow-decay steps: a state kept in fp16 would lose 2e-3."""
    check(replace(BASE, lengths=(4096,), nv=1, dk=32, dv=16, gate="-1e-3", state="float16"))


def test_an_fp32_state_is_not_reinterpreted(check):
    """Values that fp16 cannot hold, with no write to cover for them."""
    x = make_inputs(replace(BASE, beta=0.0, gate="-1e-3", state_size=1.0))
    x.initial_state = x.initial_state * 1e-3 + 1.0
    check(x)


def strided(tensor, kind):
    """The same values behind other strides."""
    if kind == "transposed":
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    if kind == "sliced":
        wide = torch.full((*tensor.shape[:-1], tensor.shape[-1] + 5), 7.0).to(tensor.dtype)
        wide[..., 3:-2] = tensor
        return wide[..., 3:-2]
    pool = torch.full((tensor.shape[0] * 2 + 1, *tensor.shape[1:]), 7.0).to(tensor.dtype)
    pool[1::2] = tensor
    return pool[1::2]


@pytest.mark.parametrize("kind", ["transposed", "sliced", "pool"])
def test_strided_inputs(run, kind):
    x = make_inputs(BASE)
    plain = run(x)
    names = ("query", "key", "value", "beta", "g", "initial_state")
    other = run(replace_tensors(x, **{name: strided(getattr(x, name), kind) for name in names}))
    assert torch.equal(plain.out, other.out) and torch.equal(plain.final_state, other.final_state)


def test_a_strided_chunk_state_is_written_in_place(backend, run):
    x = make_inputs(replace(BASE, chunk_state=True))
    plain = run(x)
    pool = torch.full((7, 2, 32, 48), 7.0)
    call_operator(replace_tensors(x, chunk_state=pool[1::2]), backend)
    assert torch.equal(pool[1::2], plain.chunk_state)
    assert (pool[::2] == 7.0).all()


def test_inputs_are_not_written(backend):
    x = make_inputs(replace(BASE, chunk_state=True))
    inputs = {name: tensor for name, tensor in x.arguments().items() if isinstance(tensor, torch.Tensor)}
    before = {name: tensor.clone() for name, tensor in inputs.items()}
    result = call_operator(x, backend).result
    for name, tensor in inputs.items():
        assert torch.equal(tensor, before[name]), name
        assert tensor.data_ptr() not in (result.out.data_ptr(), result.final_state.data_ptr())
