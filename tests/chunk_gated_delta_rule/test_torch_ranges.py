# SPDX-License-Identifier: Apache-2.0
"""Backends native and reference: gates, normalisation, and values that leave the range."""

import math

import numpy as np
import pytest
import torch

from .token_recurrence import C, assert_matches, inputs, nrmse, op, run, truth


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
