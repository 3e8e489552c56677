# SPDX-License-Identifier: Apache-2.0
"""Backends native and reference: ragged tails, packed sequences, splits, the states that enter chunks."""

import math

import pytest
import torch

from .token_recurrence import C, assert_matches, inputs, nrmse, op, out_by_head, run, to_numpy, truth


@pytest.mark.parametrize("tokens", [1, 5, 63, 64, 65, 100])
def test_tail(on_backend, tokens):
    data = inputs(10, tokens, 1, 2, 33, 50)
    want_out, want_state, _ = truth(data)
    assert_matches(*run(data), want_out, want_state)


LENGTHS = [2049, 1011, 513, 256, 128, 65, 32, 16, 8, 4, 5, 1]


@pytest.mark.parametrize("order", [1, -1], ids=["falling", "rising"])
def test_each_sequence_equals_its_own_run(on_backend, order):
    lengths = LENGTHS[::order]
    data = inputs(11, sum(lengths), 1, 2, 20, 36, batch=len(lengths))
    out, state = run(data, lengths)
    start = 0
    for b, length in enumerate(lengths):
        alone = {name: x[start : start + length] for name, x in data.items() if name != "initial_state"}
        alone["initial_state"] = data["initial_state"][b : b + 1]
        own_out, own_state = run(alone)
        assert torch.equal(out[start : start + length], own_out)
        assert torch.equal(state[b : b + 1], own_state)
        start += length


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_empty_sequence_returns_its_initial_state(on_backend, dtype):
    lengths = [3, 0, 5]
    data = inputs(12, 8, 1, 2, 20, 36, batch=3)
    want_out, want_state, _ = truth(data, lengths)
    optional = {name: data[name] for name in ("beta", "g", "initial_state")}
    out, state = op(data["q"], data["k"], data["v"], actual_seq_lengths=torch.tensor(lengths, dtype=dtype), **optional)
    assert_matches(out, state, want_out, want_state)
    assert torch.equal(state[1], data["initial_state"][1])


@pytest.mark.parametrize("lengths", [None, [], [0], [0, 0, 0]], ids=str)
def test_no_tokens_at_all(on_backend, lengths):
    batch = 1 if lengths is None else len(lengths)
    data = inputs(13, 0, 1, 2, 20, 36, batch=batch)
    out, state = run(data, lengths)
    assert out.shape == (0, 2, 36)
    assert torch.equal(state, data["initial_state"])
    del data["initial_state"]
    state = run(data, lengths)[1]
    assert state.shape == (batch, 2, 36, 20) and not state.any()


@pytest.mark.parametrize("cut", [1, 17, 63, 64, 65, 256, 299])
def test_cut_and_resume(on_backend, cut):
    data = inputs(14, 300, 1, 2, 33, 50)
    out, state = run(data)
    head = {name: x[:cut] for name, x in data.items() if name != "initial_state"}
    tail = {name: x[cut:] for name, x in data.items() if name != "initial_state"}
    out_0, state_0 = run({**head, "initial_state": data["initial_state"]})
    out_1, state_1 = run({**tail, "initial_state": state_0})
    if on_backend == "native" and cut % C == 0:  # the reference carries fp64 inside and fp32 across the cut
        assert torch.equal(torch.cat([out_0, out_1]), out) and torch.equal(state_1, state)
    assert nrmse(state_1, to_numpy(state)).max() <= 2e-5
    assert nrmse(out_by_head(torch.cat([out_0, out_1])), out_by_head(to_numpy(out))).max() <= 1e-4


@pytest.mark.parametrize("batch, heads", [(1, 1), (3, 1), (1, 7), (3, 3), (1, 17)], ids=lambda n: str(n))
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_bits(on_backend, batch, heads, threads):
    lengths = [40 + 30 * b for b in range(batch)]
    data = inputs(15, sum(lengths), 1, heads, 33, 70, batch=batch)
    want_out, want_state, _ = truth(data, lengths)
    before = torch.get_num_threads()
    out_1, state_1 = run(data, lengths)
    try:
        torch.set_num_threads(threads)
        out, state = run(data, lengths)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(out, out_1) and torch.equal(state, state_1)
    assert_matches(out, state, want_out, want_state)


def test_every_element_is_written(on_backend):
    before = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        assert torch.empty(3).isnan().all()
        lengths = [0, 1, 65, 0, 64]
        out, state = run(inputs(16, sum(lengths), 1, 3, 33, 70, batch=5), lengths)
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.utils.deterministic.fill_uninitialized_memory = before[1]
    assert out.isfinite().all() and state.isfinite().all()


@pytest.mark.parametrize("state_dtype", [torch.float16, torch.float32], ids=str)
def test_chunk_state(on_backend, state_dtype):
    lengths = [64, 0, 1, 130]
    data = inputs(17, sum(lengths), 1, 2, 33, 50, batch=4)
    data["initial_state"] = data["initial_state"].to(state_dtype)
    _, _, want = truth(data, lengths)
    chunk_state = torch.full((7, 2, 50, 33), math.nan, dtype=state_dtype)
    run(data, lengths, chunk_state=chunk_state)
    assert chunk_state[5:].isnan().all()
    floor = nrmse(torch.from_numpy(want).to(state_dtype), want)
    assert (nrmse(chunk_state[:5], want) <= 1.01 * floor + 2e-6).all()
    for row, sequence in ((0, 0), (1, 2), (2, 3)):
        assert torch.equal(chunk_state[row], data["initial_state"][sequence])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_initial_state_is_returned_bit_for_bit(on_backend, dtype):
    """Also signalling NaNs, which every conversion makes quiet."""
    lengths = [65, 0]
    data = inputs(17, sum(lengths), 1, 2, 33, 50, batch=2)
    state = data["initial_state"].to(dtype)
    integer, signalling = {
        torch.float16: (torch.int16, 0x7C01),
        torch.bfloat16: (torch.int16, 0x7F81),
        torch.float32: (torch.int32, 0x7F800001),
    }[dtype]
    bits = state.view(integer)
    bits[:, :, ::7, ::5] = signalling
    assert state.isnan().any()
    chunk_state = torch.zeros(2, 2, 50, 33, dtype=dtype)
    _, final = run({**data, "initial_state": state}, lengths, chunk_state=chunk_state)
    assert torch.equal(chunk_state[0].view(integer), bits[0])
    assert torch.equal(final[1].view(integer), bits[1])


def test_chunk_state_exact_rows_and_strided(on_backend):
    data = inputs(18, 130, 1, 2, 33, 50)
    want = torch.zeros(3, 2, 50, 33)
    run(data, chunk_state=want)
    pool = torch.full((2, 5, 3, 50, 33, 2), math.nan)
    view = pool[0, 1:4, 1:, :, :, 0]
    run(data, chunk_state=view)
    assert torch.equal(view, want)
    assert pool.isnan().sum() == pool.numel() - want.numel()


def test_states_interleaved_in_one_pool(on_backend):
    data = inputs(19, 70, 1, 2, 33, 50, batch=2)
    lengths = [65, 5]
    out, state = run(data, lengths)
    pool = torch.full((6, 2, 50, 33), math.nan)
    pool[0:4:2] = data["initial_state"]
    chunk_state = pool[1::2]
    pool_out, pool_state = run({**data, "initial_state": pool[0:4:2]}, lengths, chunk_state=chunk_state)
    assert torch.equal(out, pool_out) and torch.equal(state, pool_state)
    assert torch.equal(chunk_state[0], data["initial_state"][0]) and torch.equal(
        chunk_state[2], data["initial_state"][1]
    )
    assert torch.equal(pool[0:4:2], data["initial_state"])
