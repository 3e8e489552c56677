# SPDX-License-Identifier: Apache-2.0
"""Backends native and reference of the torch operator against a numpy fp64 token recurrence."""

import math

import numpy as np
import pytest
import torch

import chunk_gdr

C = 64


@pytest.fixture(params=["native", "reference"])
def on_backend(request):
    with chunk_gdr.backend(request.param):
        yield request.param


def op(*args, **kwargs):
    return torch.ops.npu.chunk_gated_delta_rule(*args, **kwargs)


def to_numpy(x):
    return None if x is None else x.double().numpy()


def recurrence(q, k, v, beta=None, initial_state=None, lengths=None, scale=1.0, g=None, l2norm=False):
    """(out [T, Nv, Dv], final_state [B, Nv, Dv, Dk], state entering each chunk [rows, Nv, Dv, Dk]), all fp64."""
    q, k, v, beta, s0, g = (to_numpy(x) for x in (q, k, v, beta, initial_state, g))
    tokens, value_heads = v.shape[:2]
    if l2norm:
        q, k = (x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) for x in (q, k))
    q, k = (np.repeat(x, value_heads // x.shape[1], axis=1) for x in (q, k))
    beta = np.ones((tokens, value_heads)) if beta is None else beta
    decay = np.ones((tokens, value_heads)) if g is None else np.exp(g)
    out, finals, entering, t = [], [], [], 0
    for b, length in enumerate([tokens] if lengths is None else lengths):
        state = np.zeros((value_heads, v.shape[2], k.shape[2])) if s0 is None else s0[b].copy()
        for i in range(length):
            if i % C == 0:
                entering.append(state.copy())
            state = state * decay[t][:, None, None]
            delta = beta[t][:, None] * (v[t] - np.einsum("hvk,hk->hv", state, k[t]))
            state = state + delta[:, :, None] * k[t][:, None, :]
            out.append(scale * np.einsum("hvk,hk->hv", state, q[t]))
            t += 1
        finals.append(state)
    shape = (value_heads, v.shape[2], k.shape[2])
    return (
        np.array(out).reshape(tokens, *shape[:2]),
        np.array(finals).reshape(-1, *shape),
        np.array(entering).reshape(-1, *shape),
    )


def unit_keys(rng, tokens, heads, dim, dtype=torch.float16):
    x = rng.standard_normal((tokens, heads, dim))
    return torch.from_numpy(x / np.linalg.norm(x, axis=-1, keepdims=True)).to(dtype)


def inputs(seed, tokens, nk, nv, dk, dv, dtype=torch.float16, batch=1):
    rng = np.random.default_rng(seed)
    return {
        "q": unit_keys(rng, tokens, nk, dk, dtype),
        "k": unit_keys(rng, tokens, nk, dk, dtype),
        "v": torch.from_numpy(rng.standard_normal((tokens, nv, dv))).to(dtype),
        "beta": torch.from_numpy(rng.random((tokens, nv))).float(),
        "g": torch.from_numpy(-rng.random((tokens, nv))).float(),
        "initial_state": torch.from_numpy(rng.standard_normal((batch, nv, dv, dk))).float(),
    }


def run(data, lengths=None, **kwargs):
    optional = {name: data.get(name) for name in ("beta", "g", "initial_state")}
    if lengths is not None:
        kwargs["actual_seq_lengths"] = torch.tensor(lengths, dtype=torch.int64)
    return op(data["q"], data["k"], data["v"], **optional, **kwargs)


def truth(data, lengths=None, **kwargs):
    return recurrence(**data, lengths=lengths, **kwargs)


def nrmse(x, want):
    """Per leading index and head; x and want are [n, heads, ...]. inf and nan must sit in the same places."""
    x = to_numpy(x)
    assert np.array_equal(np.isnan(x), np.isnan(want)) and np.array_equal(np.isinf(x), np.isinf(want))
    x, want = (np.where(np.isfinite(y), y, 0).reshape(*y.shape[:2], -1) for y in (x, want))
    norm = np.linalg.norm(want, axis=-1)
    return np.linalg.norm(x - want, axis=-1) / np.where(norm > 0, norm, 1)


def out_by_head(x):
    return (
        x.transpose(0, 1)[None].flatten(2)
        if isinstance(x, torch.Tensor)
        else x.swapaxes(0, 1).reshape(1, x.shape[1], -1)
    )


def assert_matches(out, state, want_out, want_state, state_bar=2e-6):
    floor = nrmse(torch.from_numpy(out_by_head(want_out)).to(out.dtype), out_by_head(want_out))
    if out.numel():
        assert (nrmse(out_by_head(out), out_by_head(want_out)) <= np.maximum(1.01 * floor, state_bar)).all()
    assert state.dtype == torch.float32
    assert (nrmse(state, want_state) <= state_bar).all()


# --- shapes, heads, dtypes


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


# --- lengths


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


# --- chunk_state


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


# --- strides and aliases


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


# --- gates


def gate_patterns():
    rng = np.random.default_rng(23)
    mixed = np.where(rng.random((130, 2)) < 0.2, rng.choice([0, -1e-5, -1e-3, -5, -50, -316, -np.inf], (130, 2)), -1e-3)
    reset = np.full((130, 2), -1e-3)
    reset[70] = -np.inf
    prefix = np.broadcast_to(-1e-3 * np.arange(130)[:, None], (130, 2)).copy()
    prefix[:40] = -316
    positive = np.where(rng.random((130, 2)) < 0.1, 0.3, -0.5)
    return {
        "zero": np.zeros((1000, 2)),
        "tiny": np.full((2048, 2), -1e-4),
        "log1e-12": np.full((64, 2), np.log(1e-12)),
        "to-minus-6": -6 * rng.random((64, 2)),
        "to-minus-316": -316 * rng.random((130, 2)),
        "always-inf": np.full((70, 2), -np.inf),
        "mixed": mixed,
        "reset-at-70": reset,
        "very-negative-prefix": prefix,
        "some-positive": positive,
    }


@pytest.mark.parametrize("name", gate_patterns())
@pytest.mark.parametrize("v_scale", [1.0, 24.8, 1e-3], ids=lambda s: f"v{s:g}")
def test_gates(on_backend, name, v_scale):
    g = torch.from_numpy(gate_patterns()[name]).float()
    data = inputs(24, g.shape[0], 1, 2, 48, 32)
    data["g"] = g
    data["v"] = (data["v"].double() * v_scale).half()
    want_out, want_state, _ = truth(data)
    assert np.isfinite(want_out).all()
    assert_matches(*run(data), want_out, want_state, state_bar=5e-6)


@pytest.mark.parametrize("gate", [-1e-8, -3e-7, -1e-6, -1e-5, -1e-4, -1e-3, -0.0157, -0.03, -3.0], ids=str)
def test_decay_alone_does_not_drift(on_backend, gate):
    """Nothing is written: only the decay acts, with the same rounding at every token."""
    data = inputs(29, 2048 if gate > -1 else 20, 1, 2, 48, 32)
    data["g"].fill_(gate)
    data["beta"].zero_()
    _, want, _ = truth(data)
    assert nrmse(run(data)[1], want).max() <= 2e-6


def test_nan_gate_stays_in_its_head(on_backend):
    lengths = [130, 70]
    data = inputs(25, 200, 1, 2, 33, 50, batch=2)
    clean_out, clean_state = run(data, lengths)
    data["g"][90, 1] = math.nan
    out, state = run(data, lengths)
    assert out[90:130, 1].isnan().all() and state[0, 1].isnan().all()
    assert torch.equal(out[:C, 1], clean_out[:C, 1]) and out[C:90, 1].isfinite().all()
    assert torch.equal(out[:, 0], clean_out[:, 0]) and torch.equal(out[130:], clean_out[130:])
    assert torch.equal(state[0, 0], clean_state[0, 0]) and torch.equal(state[1], clean_state[1])


# --- normalisation and range


@pytest.mark.parametrize("factor", [1.0, 1000.0, 1e-5, 0.0], ids=lambda f: f"x{f:g}")
def test_l2norm(on_backend, factor):
    data = inputs(26, 70, 1, 2, 48, 32)
    data["q"], data["k"] = ((x.double() * factor).half() for x in (data["q"], data["k"]))
    want_out, want_state, _ = truth(data, l2norm=True)
    assert_matches(*run(data, use_qk_l2norm_in_kernel=True), want_out, want_state)


def test_l2norm_epsilon_is_inside_the_root_of_the_sum(on_backend):
    x = torch.full((1, 1, 100), 1e-5, dtype=torch.float32)
    out, _ = op(x, x, torch.ones(1, 1, 1), use_qk_l2norm_in_kernel=True)
    squares = 100 * 1e-10
    assert out.item() == pytest.approx(squares / (squares + 1e-6), rel=1e-5)


def outgrowing(tokens, from_token=0):
    """Keys of norm 11 from a token on: the truth leaves the range of fp32 within about 20 tokens."""
    data = inputs(27, tokens, 1, 2, 128, 32, torch.float32)
    rng = np.random.default_rng(27)
    data["k"][from_token:] = torch.from_numpy(rng.standard_normal((tokens - from_token, 1, 128))).float()
    data["g"].zero_()
    data["beta"].fill_(0.5)
    return data


def test_keys_that_are_not_normalised(on_backend):
    """inf where the truth overflows the output type, and no NaN."""
    data = outgrowing(64)
    want_out, want_state, _ = truth(data)
    assert 1e40 < np.abs(want_state).max() < 1e300
    with np.errstate(over="ignore"):
        want_out, want_state = want_out.astype(np.float32), want_state.astype(np.float32)
    assert np.isinf(want_out).any() and np.isfinite(want_out).any()
    out, state = run(data)
    assert np.array_equal(out.numpy()[np.isinf(want_out)], want_out[np.isinf(want_out)]) and not out.isnan().any()
    assert (
        np.array_equal(state.numpy()[np.isinf(want_state)], want_state[np.isinf(want_state)])
        and not state.isnan().any()
    )


def test_outgrown_state_leaves_other_chunks_alone(on_backend):
    data = outgrowing(200, from_token=64)
    data["g"][128] = -math.inf
    data["k"][128:] = inputs(28, 72, 1, 2, 128, 32, torch.float32)["k"]
    want_out, want_state, want_entering = truth(data)
    assert np.abs(want_entering[2]).max() > 1e40
    out, state = run(data)
    calm_out, _ = run({name: x[:64] if name != "initial_state" else x for name, x in data.items()})
    assert torch.equal(out[:64], calm_out)
    assert_matches(out[128:], state, want_out[128:], want_state)
