# SPDX-License-Identifier: Apache-2.0
"""A numpy fp64 token recurrence, and calls of the torch operator that are compared with it."""

import numpy as np
import torch

import chunk_gdr  # noqa: F401  (registers the operator)

C = 64


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
