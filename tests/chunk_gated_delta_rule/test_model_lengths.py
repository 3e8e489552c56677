# SPDX-License-Identifier: Apache-2.0
"""Ragged tails, packed sequences, splits with a carried state, chunk_state."""

from dataclasses import replace

import pytest
import torch

import chunk_gdr
from chunk_gdr.cases import Case, Inputs, chunk_state_like, make_inputs, split_points
from chunk_gdr.compare import compare_out, compare_state
from chunk_gdr.reference import recurrence

BASE = Case(lengths=(64,), nk=1, nv=2, dk=48, dv=32)


def cut(x: Inputs, begin: int, end: int, state) -> Inputs:
    """Tokens begin..end of one sequence as a call of their own."""
    rows = slice(begin, end)
    return Inputs(
        x.query[rows],
        x.key[rows],
        x.value[rows],
        beta=None if x.beta is None else x.beta[rows],
        g=None if x.g is None else x.g[rows],
        initial_state=state,
        scale=x.scale,
        use_qk_l2norm_in_kernel=x.use_qk_l2norm_in_kernel,
    )


@pytest.mark.parametrize("gate", ["qwen", "-1e-3", "-5"])
@pytest.mark.parametrize("tokens", [1, 2, 5, 15, 16, 17, 31, 33, 47, 48, 63, 64, 65, 100, 127, 128, 129])
def test_tails(check, tokens, gate):
    """The decay of the LAST VALID token closes a ragged chunk."""
    check(replace(BASE, lengths=(tokens,), gate=gate))


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
def test_tails_in_every_bucket(check, dim):
    check(replace(BASE, lengths=(1, 63, 65, 100), dk=dim, dv=dim))


def test_without_lengths_one_sequence(run):
    x = make_inputs(replace(BASE, lengths=(100,)))
    with_lengths = run(x)
    x.actual_seq_lengths = None
    without = run(x)
    assert torch.equal(with_lengths.out, without.out)
    assert torch.equal(with_lengths.final_state, without.final_state)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_dtypes_of_lengths(check, dtype):
    x = make_inputs(replace(BASE, lengths=(3, 0, 65)))
    x.actual_seq_lengths = x.actual_seq_lengths.to(dtype)
    check(x)


def test_many_lengths_each_equals_its_own_run(run):
    lengths = (2049, 1011, 513, 256, 128, 65, 32, 16, 8, 4, 5, 1)
    x = make_inputs(Case(lengths=lengths, nk=1, nv=1, dk=32, dv=16))
    packed = run(x)
    begin = 0
    for b, length in enumerate(lengths):
        alone = run(cut(x, begin, begin + length, x.initial_state[b : b + 1]))
        assert torch.equal(packed.out[begin : begin + length], alone.out), length
        assert torch.equal(packed.final_state[b], alone.final_state[0]), length
        begin += length


@pytest.mark.parametrize("state", ["float32", "float16"])
def test_an_empty_sequence_returns_its_own_state(check, state):
    """Lengths 3, 0, 5: sequence 2 uses state 2."""
    x = make_inputs(replace(BASE, lengths=(3, 0, 5, 0), state=state))
    result, _ = check(x)
    for b in (1, 3):
        assert torch.equal(result.final_state[b], x.initial_state[b])
    assert result.final_state.data_ptr() != x.initial_state.data_ptr()


@pytest.mark.parametrize("state", ["float32", "float16"])
def test_the_state_of_an_empty_sequence_goes_to_gm_alone(run_model, state):
    """Nothing puts it where no token reads it."""
    run_model(replace(BASE, lengths=(0, 3, 0), nv=2, dk=128, dv=128, state=state), cores=1)
    assert chunk_gdr.model.last_report()["hazards"]["suspicious"] == 0


@pytest.mark.parametrize("state", [None, "float32", "float16"])
def test_all_sequences_empty(run, state):
    x = make_inputs(replace(BASE, lengths=(0, 0, 0), state=state))
    result = run(x)
    assert result.out.shape == (0, 2, 32)
    expected = torch.zeros(3, 2, 32, 48) if state is None else x.initial_state
    assert torch.equal(result.final_state, expected)


def test_no_sequence_at_all(run):
    x = make_inputs(replace(BASE, lengths=(0,), state=None))
    x.actual_seq_lengths = torch.zeros(0, dtype=torch.int64)
    result = run(x)
    assert result.out.shape == (0, 2, 32) and result.final_state.shape == (0, 2, 32, 48)


@pytest.mark.parametrize("heads", [1, 3, 7, 9, 17])
def test_head_counts_that_do_not_divide_the_cores(check, heads):
    result, _ = check(replace(BASE, lengths=(66,), nk=heads, nv=heads))
    assert result.out.isfinite().all() and result.final_state.isfinite().all()


def test_many_sequences_few_tokens(check):
    check(replace(BASE, lengths=(1, 2, 0, 3) * 8, nv=1))


@pytest.mark.parametrize("cuts", [(64,), (128,), (64, 192), (256,), (64, 128, 192, 256)])
@pytest.mark.parametrize("case", ["plain", "l2norm", "d128"])
def test_a_split_at_a_chunk_changes_no_bit(run, cuts, case):
    changes = {"plain": {}, "l2norm": {"l2norm": True, "keys": "raw"}, "d128": {"dk": 128, "dv": 128, "nv": 1}}
    x = make_inputs(replace(BASE, lengths=(300,), **changes[case]))
    whole = run(x)
    state, begin = x.initial_state, 0
    for length in split_points(300, cuts):
        part = run(cut(x, begin, begin + length, state))
        assert torch.equal(part.out, whole.out[begin : begin + length])
        state, begin = part.final_state, begin + length
    assert torch.equal(state, whole.final_state)


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
@pytest.mark.parametrize("gate, beta", [(-0.15, 1e-3), (-0.3, 0.02), (-5.0, 2.0**-9)])
def test_a_split_after_a_chunk_of_small_weights_changes_no_bit(run, gate, beta, dim):
    """Inside the run the chunk's weights are divided by a power of two, which the state that is passed on must not show."""
    x = make_inputs(replace(BASE, lengths=(192,), dk=dim, dv=dim, beta=0.9))
    x.g = torch.full_like(x.g, gate)
    x.beta[16:64] = beta
    x.beta[96:128] = beta
    x.chunk_state = chunk_state_like(x)
    whole = run(x)
    first = run(cut(x, 0, 64, x.initial_state))
    second = run(cut(x, 64, 192, first.final_state))
    assert torch.equal(first.final_state[0], whole.chunk_state[1])
    assert torch.equal(torch.cat([first.out, second.out]), whole.out)
    assert torch.equal(second.final_state, whole.final_state)


@pytest.mark.parametrize("point", [1, 17, 63, 65, 299])
@pytest.mark.parametrize("gate", ["qwen", "-1e-3"])
def test_a_split_elsewhere_agrees(run, point, gate):
    """2e-5 of the state and 1e-4 of the fp16 out between the two runs, and both hold the bars of the truth."""
    x = make_inputs(replace(BASE, lengths=(300,), gate=gate))
    whole = run(x)
    first = run(cut(x, 0, point, x.initial_state))
    second = run(cut(x, point, 300, first.final_state))
    out = torch.cat([first.out, second.out])
    assert compare_out(out, whole.out.double(), [300]).worst.nrmse <= 1e-4
    assert compare_state(second.final_state, whole.final_state.double()).worst.nrmse <= 2e-5
    truth = recurrence(**x.arguments())
    for got_out, got_state in ((whole.out, whole.final_state), (out, second.final_state)):
        assert compare_out(got_out, truth.out, [300]).passed
        assert compare_state(got_state, truth.final_state).passed


@pytest.mark.parametrize("state", [None, "float32", "float16"])
def test_chunk_state(check, state):
    """The state entering each chunk; row 0 of a sequence is its initial state, spare rows are not touched."""
    x = make_inputs(replace(BASE, lengths=(130, 0, 64, 1), state=state))
    x.chunk_state = chunk_state_like(x, spare_rows=2)
    result, _ = check(x)
    for row, b in ((0, 0), (3, 2), (4, 3)):
        expected = torch.zeros(2, 32, 48) if state is None else x.initial_state[b]
        assert torch.equal(result.chunk_state[row], expected)
    assert result.chunk_state[5:].isnan().all() and result.chunk_state[:5].isfinite().all()


SPECIAL = (-0.0, 1e-40, 6e-8, 3e38, torch.inf, -torch.inf, torch.nan)


@pytest.mark.parametrize("options", [{}, {"overflow": "inf"}], ids=["saturate", "inf"])
@pytest.mark.parametrize("state, bits", [("float32", torch.int32), ("float16", torch.int16)])
@pytest.mark.parametrize("dk, dv", [(48, 32), (128, 128), (96, 16)])
def test_a_fresh_state_keeps_its_bits(run_model, state, bits, dk, dv, options):
    """Row 0 of chunk_state, and the final state of an empty sequence, whatever the numbers: signs of zeros, infinities, neighbours of NaN."""
    x = make_inputs(replace(BASE, lengths=(65, 0), dk=dk, dv=dv, state=state))
    x.initial_state[:, 0, 2, 3 : 3 + len(SPECIAL)] = torch.tensor(SPECIAL).to(x.initial_state.dtype)
    x.initial_state[:, 1] = -0.0
    x.chunk_state = chunk_state_like(x)
    result = run_model(x, **options)
    assert torch.equal(result.chunk_state[0].view(bits), x.initial_state[0].view(bits))
    assert torch.equal(result.final_state[1].view(bits), x.initial_state[1].view(bits))


def test_chunk_state_changes_no_result(run):
    x = make_inputs(replace(BASE, lengths=(130, 65)))
    without = run(x)
    x.chunk_state = chunk_state_like(x)
    with_rows = run(x)
    assert torch.equal(without.out, with_rows.out)
    assert torch.equal(without.final_state, with_rows.final_state)


def test_chunk_state_is_where_a_run_can_resume(run):
    x = make_inputs(replace(BASE, lengths=(150,)))
    x.chunk_state = chunk_state_like(x)
    whole = run(x)
    tail = run(cut(x, 128, 150, whole.chunk_state[2:3].clone()))
    assert torch.equal(tail.out, whole.out[128:])
    assert torch.equal(tail.final_state, whole.final_state)
