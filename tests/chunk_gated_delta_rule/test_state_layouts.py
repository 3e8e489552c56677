# SPDX-License-Identifier: Apache-2.0
"""The kernel with its state in rows in UB (kNd): every bucket and path against the truth, hazards checked, as with kNz."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from chunk_gdr import model, tiling
from chunk_gdr.bench import builds
from chunk_gdr.cases import SUITE, Case, chunk_state_like, make_inputs
from chunk_gdr.check import different_bits
from chunk_gdr.runner import call_operator, plan_of_case

from .placement import assert_buffers_fit

KERNEL = Path(__file__).resolve().parents[2] / builds.KERNEL
BASE = Case(lengths=(70, 3, 0, 130), nk=1, nv=2, dk=64, dv=64, chunk_state=True)


@pytest.fixture(scope="session")
def library():
    return model.build(KERNEL, defines={"CHUNK_GDR_STATE_LAYOUT": "kNd"})


@pytest.fixture
def rows(library):
    with builds.kernel_library(library, "kNd"):
        yield


@pytest.mark.parametrize("state", ["float32", "float16"])
@pytest.mark.parametrize("dim", [16, 64, 80, 96, 128, (128, 16), (16, 128), (80, 48), (48, 96), (100, 33)])
def test_every_bucket(rows, check_model, dim, state):
    dk, dv = dim if isinstance(dim, tuple) else (dim, dim)
    x = make_inputs(replace(BASE, dk=dk, dv=dv, state=state))
    result, _ = check_model(x)
    assert result.final_state.dtype == getattr(torch, state)
    assert torch.equal(result.final_state[2], x.initial_state[2])  # no tokens
    for row, sequence in enumerate((0, 0, 1, 3, 3, 3)):
        if row in (0, 2, 3):
            assert torch.equal(result.chunk_state[row], x.initial_state[sequence])


@pytest.mark.parametrize("state, bits", [("float32", torch.int32), ("float16", torch.int16)])
@pytest.mark.parametrize("dk, dv", [(48, 32), (128, 128), (96, 16)])
def test_a_fresh_state_keeps_its_bits(rows, run_model, state, bits, dk, dv):
    """Row 0 of chunk_state, and the final state of an empty sequence: also a NaN, and what fp16 holds only as subnormal."""
    x = make_inputs(replace(BASE, lengths=(65, 0), dk=dk, dv=dv, state=state))
    x.initial_state[:, 0, 2, 3:8] = torch.tensor([-0.0, 6e-8, 3e38, -torch.inf, torch.nan]).to(x.initial_state.dtype)
    x.initial_state.view(bits)[:, 0, 2, 8] = {torch.int32: 0x7F800123, torch.int16: 0x7C12}[bits]  # a NaN that signals
    x.initial_state[:, 1] = -0.0
    x.chunk_state = chunk_state_like(x)
    result = run_model(x)
    assert torch.equal(result.chunk_state[0].view(bits), x.initial_state[0].view(bits))
    assert torch.equal(result.final_state[1].view(bits), x.initial_state[1].view(bits))


@pytest.mark.parametrize("dim", [64, 96, 128])
@pytest.mark.parametrize("detour", [{"key_norm": 3.0, "gate": "-5"}, {"query_norm": 1e-4}, {"query_norm": 1e4, "scale": 1e-3}])
def test_detours(rows, check_model, dim, detour):
    check_model(replace(BASE, dk=dim, dv=dim, **detour))


@pytest.mark.parametrize("name", SUITE)
def test_suite(rows, check_model, run_model, name):
    """And queues delayed at random, as far as flags, barriers and queue order allow."""
    x = make_inputs(SUITE[name])
    result, _ = check_model(x)
    assert different_bits(result, run_model(x, execution="adversarial", seed=1)) == []


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
@pytest.mark.parametrize(
    "changes",
    [
        {"l2norm": True, "keys": "raw"},
        {"scale": None},
        {"state": None, "chunk_state": False},
        {"gate": "-inf"},
        {"gate": "mixture", "keys": "correlated", "beta": "0.99"},
        {"lengths": (1, 64, 65, 63, 128)},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
def test_paths(rows, check_model, dim, changes):
    check_model(replace(BASE, dk=dim, dv=dim, **changes))


def test_many_chunks(rows, check_model):
    check_model(Case(lengths=(1000,), nk=1, nv=1, dk=64, dv=64, gate="-1e-3"))


@pytest.mark.parametrize("cores", [1, 3])
def test_cores(rows, run_model, cores):
    case = replace(BASE, nv=3, dk=96, dv=96)
    assert different_bits(run_model(case), run_model(case, cores=cores)) == []


@pytest.mark.parametrize("dim", [64, 128])
def test_split_at_a_chunk(rows, run_model, dim):
    """The fp32 state carried over: the same bits."""
    x = make_inputs(Case(lengths=(192,), nk=1, nv=2, dk=dim, dv=dim))
    whole = run_model(x)
    state, out = x.initial_state, []
    for begin, end in ((0, 64), (64, 192)):
        piece = {name: getattr(x, name)[begin:end] for name in ("query", "key", "value", "beta", "g")}
        part = run_model(replace(x, **piece, initial_state=state, actual_seq_lengths=torch.tensor([end - begin])))
        state = part.final_state
        out.append(part.out)
    assert torch.equal(torch.cat(out), whole.out) and torch.equal(state, whole.final_state)


def test_the_layouts_agree(library, run_model):
    """S = e^G S + (F V')^T K is rounded at other places, and nothing else is."""
    for dim in (64, 80, 96, 128):
        x = make_inputs(replace(BASE, dk=dim, dv=dim))
        nz = run_model(x)
        with builds.kernel_library(library, "kNd"):
            nd = run_model(x)
        for name in ("final_state", "chunk_state"):
            a, b = getattr(nz, name), getattr(nd, name)
            assert 0 < (a - b).norm() < 1e-6 * a.norm(), (name, dim)


@pytest.mark.parametrize("dim, widest", [(64, 64), (80, 80), (96, 64), (128, 48)])
def test_plan(rows, dim, widest):
    """Items are as wide as the buffers allow; buffers fit, and none overlap while both live."""
    p = tiling.plan([640] * 8, 8, 8, dim, dim)
    assert p.state_layout == "kNd" and p.v_tile_dim <= widest and p.v_tiles == -(-dim // widest)
    (state,) = (b for b in p.buffers if b.name == "state_rows")
    assert state.rows == widest and "state_rows" in str(p) and "state kNd" in str(p)
    assert_buffers_fit(p)


@pytest.mark.parametrize("changes", [{}, {"chunk_state": True}, {"chunk_state": True, "state": "float16"}], ids=str)
@pytest.mark.parametrize("dim", [64, 80, 96, 128])
def test_prediction(rows, dim, changes):
    case = Case(lengths=(640,), nk=8, nv=8, dk=dim, dv=dim, **changes)
    measured = call_operator(make_inputs(case), "model", checked=False).model["model_cycles"]["total"]
    assert plan_of_case(case).predicted_cycles == pytest.approx(measured, rel=0.1)


def test_the_plan_has_rows_only_where_they_are():
    names = {b.name for b in tiling.plan([640], 1, 1, 64, 64).buffers}
    assert tiling.plan([640], 1, 1, 64, 64).state_layout == "kNz" and "state_rows" not in names


@pytest.mark.parametrize("schedule", ["auto", "sequence-major", "chunk-parallel"])
@pytest.mark.parametrize("dim", [64, 128])
def test_a_plan_for_the_other_layout_is_refused(library, schedule, dim):
    """One line in the place of what accesses to another plan's buffers look like; what the kernel leaves is NaN, see test_kernel_refusal."""
    inputs = make_inputs(Case(lengths=(200,), nk=1, nv=1, dk=dim, dv=dim))
    with builds.kernel_library(library), tiling.schedule(schedule):
        with pytest.raises(RuntimeError, match="CHUNK_GDR_STATE_LAYOUT: expected the state layout that the kernel was built for, got kNz"):
            call_operator(inputs, "model")


def test_schedules(rows):
    """No chunk-parallel, and no buffers for it; whole heads only where there is room."""
    chosen = tiling.plan([4096], 1, 1, 64, 64)
    assert chosen.schedule == "v-tiles" and not any(b.name.startswith("slot_") for b in chosen.buffers)
    with pytest.raises(ValueError, match="schedule chunk-parallel does not fit this launch.* the state in kNz"):
        tiling.plan([4096], 1, 1, 64, 64, schedule="chunk-parallel")
    assert tiling.plan([640], 1, 1, 64, 64, schedule="sequence-major").v_tiles == 1
    message = "schedule sequence-major does not fit.*the whole Dv, and with the state in kNd the chip has room for 48 columns"
    with pytest.raises(ValueError, match=message):
        tiling.plan([640], 1, 1, 128, 128, schedule="sequence-major")


def test_a_layout_that_is_none(monkeypatch):
    monkeypatch.setenv("CHUNK_GDR_STATE_LAYOUT", "kZn")
    with pytest.raises(ValueError, match="^environment variable CHUNK_GDR_STATE_LAYOUT: .* must be kNz or kNd, got 'kZn'$"):
        tiling.plan([64], 1, 1, 64, 64)
