# SPDX-License-Identifier: Apache-2.0
"""Every kind of gate: log decays from 0 to -inf, above 0, absent, and not a number."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from chunk_gdr.cases import GATES, Case, Inputs, chunk_state_like, make_inputs, raw_gate
from chunk_gdr.compare import compare_out, compare_state
from chunk_gdr.reference import recurrence

BASE = Case(lengths=(64, 65), nk=1, nv=2, dk=48, dv=32)


@pytest.mark.parametrize("gate", GATES)
def test_gate_patterns(check, gate):
    check(replace(BASE, gate=gate, lengths=(130, 7)))


@pytest.mark.parametrize("gate", ["none", "zero", "-1e-3", "qwen", "per-head", "mixture"])
def test_gates_with_correlated_keys(check, gate):
    check(replace(BASE, nk=2, nv=8, gate=gate, keys="correlated", beta="0.99"))


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
def test_the_sweep_in_every_bucket(check, dim):
    check(replace(BASE, nv=7, dk=dim, dv=dim, gate="per-head"))


def test_real_ranges(check):
    """g = -316 * rand, v = 24.8 * rand, as measured in a real 35B model."""
    x = make_inputs(replace(BASE, gate="uniform-316"))
    x.value = (24.8 * torch.rand(x.value.shape, generator=torch.Generator().manual_seed(5))).half()
    check(x)


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
@pytest.mark.parametrize(
    "size, gate, live",
    [(25, -0.15, 24), (1000, -0.2, 24), (8000, -0.3, 24), (8000, -0.26, 24), (25, -0.05, 64), (8000, -0.15, 4)],
)
def test_a_state_far_below_the_values_that_made_it(check, size, gate, live, dim):
    """Large values, then zeros while the state decays to 1e-5 of them and less: what is left has the accuracy of any state."""
    x = make_inputs(replace(BASE, lengths=(64,), dk=dim, dv=dim, state=None))
    x.value = (size * torch.randn(x.value.shape, generator=torch.Generator().manual_seed(5))).half()
    x.value[live:] = 0
    x.g = torch.full_like(x.g, gate)
    assert recurrence(**x.arguments()).final_state.abs().max() > 2.0**-6
    check(x)


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
@pytest.mark.parametrize("live", [130, 177])
@pytest.mark.parametrize("gate, beta", [(-5.0, 2.0**-8), (-50.0, 2.0**-12), (-316.0, 0.003), (-math.inf, 2.0**-20), (-1.0, 2.0**-10)])
def test_a_chunk_of_small_weights(check, gate, beta, live, dim):
    """Strong gates leave of a chunk its last tokens, and these have a small beta: the state is far below fp16's absolute floor of what
    made it, and has the accuracy of any state; so have its rows of chunk_state and what the next chunk makes of it."""
    x = make_inputs(replace(BASE, lengths=(live,), dk=dim, dv=dim, gate="zero", beta=0.9))
    x.g = torch.full_like(x.g, gate)
    x.g[64:96] = -1e-3
    x.beta[48:64] = beta
    x.beta[live - 16 :] = beta
    x.chunk_state = chunk_state_like(x)
    check(x)


@pytest.mark.parametrize("gate", [-0.02, -0.1, -0.5])
@pytest.mark.parametrize("size", [1.0, 2.0**14])
def test_a_state_that_only_decays(check, gate, size):
    """beta is 0: weights are nothing at all, and e^{G_n} is what is left of a chunk."""
    x = make_inputs(replace(BASE, lengths=(130,), gate="zero", beta=0.0, state_size=size))
    x.g = torch.full_like(x.g, gate)
    check(x)


@pytest.mark.parametrize("beta", [1.0, 0.1, 0.03])
@pytest.mark.parametrize("last", [-8.0, -16.7, -20.0, -22.2, -23.0, -24.9, -25.1, -40.0])
def test_one_strong_gate_at_the_end(check, last, beta):
    """The decay of all but the last token to the chunk's end is exp(last): normal, subnormal or nothing in fp16."""
    x = make_inputs(replace(BASE, lengths=(64,), beta=beta, gate="zero", state=None))
    x.g[-1] = last
    check(x)


@pytest.mark.parametrize("last", [2.1, 4.0])
@pytest.mark.parametrize("size, beta", [(2500, 0.03), (2500, 0.1), (1000, 0.1)])
def test_large_values_of_small_weight_that_grow(check, size, beta, last):
    """exp(4) v is beyond fp16, what of it reaches the state is not."""
    x = make_inputs(replace(BASE, lengths=(64,), beta=beta, gate="zero", state=None))
    x.value = (size * torch.randn(x.value.shape, generator=torch.Generator().manual_seed(5))).half()
    x.g[-1] = last
    check(x)


@pytest.mark.parametrize("gate", ["zero", "-1e-3", "-5", "qwen"])
@pytest.mark.parametrize("scale", [1.0, 48**-0.5])
@pytest.mark.parametrize("beta", [0.03, 0.003])
def test_small_beta(check, beta, scale, gate):
    """v is as large as its weight is small; out and state hold the bars of any other."""
    x = make_inputs(replace(BASE, beta=beta, scale=scale, gate=gate))
    x.value = (torch.randn(x.value.shape, generator=torch.Generator().manual_seed(5)) / beta).half()
    check(x)


@pytest.mark.parametrize("gate", ["none", "zero", "-1e-3", "-5", "qwen"])
@pytest.mark.parametrize("beta", [-1.0, -0.5, -0.03])
def test_negative_beta(check, beta, gate):
    """The recurrence is defined for any beta; |1 - beta| > 1 makes the state grow, so sequences are short."""
    check(replace(BASE, lengths=(20, 7), beta=beta, gate=gate))


@pytest.mark.parametrize("l2norm", [False, True])
@pytest.mark.parametrize("token", [0, 5, 63, 65, 69])
def test_one_negative_beta_among_positive_ones(check, token, l2norm):
    """Left out of the state, such a token would move it by a quarter of its value."""
    x = make_inputs(replace(BASE, lengths=(70,), gate="-1e-3", state=None, l2norm=l2norm))
    x.beta[token] = -0.25
    without = x.arguments() | {"beta": x.beta.clone()}
    without["beta"][token] = 0.0
    assert not compare_state(recurrence(**without).final_state, recurrence(**x.arguments()).final_state).passed
    check(x)


@pytest.mark.parametrize("gate", ["zero", "none"])
def test_no_decay_over_many_tokens(check, gate):
    """T = 1000 of the ungated delta rule."""
    check(replace(BASE, lengths=(1000,), gate=gate))


def test_zero_gates_are_absent_gates(run):
    zero, absent = (run(replace(BASE, gate=gate)) for gate in ("zero", "none"))
    assert torch.equal(zero.out, absent.out) and torch.equal(zero.final_state, absent.final_state)


def test_absent_beta_is_one(run):
    one, absent = (run(replace(BASE, beta=beta)) for beta in ("one", "none"))
    assert torch.equal(one.out, absent.out) and torch.equal(one.final_state, absent.final_state)


def test_steep_prefix_keeps_what_comes_after_it(check):
    """g[:40] = -316, then -1e-3 * arange: differences of fp32 prefix sums would be off by 1.7e-3."""
    _, (out, state) = check(replace(BASE, lengths=(64,), gate="steep-prefix"))
    assert state.worst.nrmse < 5e-6


def test_minus_infinity_resets_the_state(check, run):
    """g[70] = -inf, T = 130: what follows knows nothing of what was before."""
    x = make_inputs(replace(BASE, lengths=(130,), gate="inf-at-70"))
    result, _ = check(x)
    assert result.out.isfinite().all() and result.final_state.isfinite().all()
    tail = Inputs(x.query[70:], x.key[70:], x.value[70:], beta=x.beta[70:], g=x.g[70:].clone(), scale=x.scale)
    tail.g[0] = 0.0  # the state is zero there
    alone = run(tail)
    assert compare_out(alone.out, result.out[70:].double(), [60]).worst.nrmse < 1e-4
    assert compare_state(alone.final_state, result.final_state.double()).worst.nrmse < 2e-5


@pytest.mark.parametrize("dk, limit", [(64, 1e-6), (16, 8e-6)])
def test_decay_alone_does_not_drift(run, dk, limit):
    """beta = 0 leaves S_T = exp(sum g) S_0: -1e-4 over 2,048 tokens to fp32 accuracy, 2^-25 for each chunk at most.

    Equal gates round alike in every chunk, and with keys of few dims there are 256 of them.
    """
    x = make_inputs(Case(lengths=(2048,), nk=1, nv=1, dk=dk, dv=16, gate="-1e-4", beta=0.0, state_size=1.0))
    got = run(x).final_state.double()
    exact = x.initial_state.double() * x.g.double().sum().exp()
    assert (got - exact).norm() / exact.norm() < limit


@pytest.mark.parametrize("a_log, a", [(100.0, -200.0), (100.0, 100.0), (1.0, 1000.0)])
def test_gates_from_raw_inputs(check, a_log, a):
    """-exp(A_log) softplus(a + dt_bias) in fp32: 0 or -inf at its extremes, never NaN."""
    x = make_inputs(BASE)
    gate = raw_gate(np.full(2, a_log), np.full((129, 2), a), np.zeros(2))
    with np.errstate(over="ignore"):
        x.g = torch.from_numpy(gate.astype(np.float32))
    check(x)


def test_positive_gates_beyond_the_bars_stay_at_home(run):
    """exp(50) per token overflows head 0 of sequence 0; nobody else notices."""
    x = make_inputs(replace(BASE, gate="-1e-3"))
    before = run(x)
    x.g[:64, 0] = 50.0
    after = run(x)
    assert torch.equal(before.out[:, 1], after.out[:, 1]) and torch.equal(before.out[64:], after.out[64:])
    assert torch.equal(before.final_state[1], after.final_state[1])
    assert torch.equal(before.final_state[0, 1], after.final_state[0, 1])


@pytest.mark.parametrize("name", ["g", "beta", "query", "key", "value", "initial_state"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_non_finite_input_spoils_its_own_head_only(run, name, bad):
    """From the start of its chunk on. A NaN comes out as NaN; an inf may be saturated on its way."""
    x = make_inputs(replace(BASE, lengths=(64, 130), nk=2, nv=4))
    before = run(x)
    token, v_head = 64 + 70, 2  # in the second chunk of sequence 1; v-heads 2 and 3 read k-head 1
    tensor = getattr(x, name).clone()
    setattr(x, name, tensor)
    place = {
        "initial_state": (1, v_head, 5, 7),
        "query": (token, 1, 5),
        "key": (token, 1, 5),
        "value": (token, v_head, 5),
        "beta": (token, v_head),
        "g": (token, v_head),
    }
    tensor[place[name]] = bad
    heads = [2, 3] if name in ("query", "key") else [2]
    others = [h for h in range(4) if h not in heads]
    first = 64 if name == "initial_state" else 64 + 64
    after = run(x)
    assert torch.equal(before.out[:first], after.out[:first])
    assert torch.equal(before.out[:, others], after.out[:, others])
    assert torch.equal(before.final_state[0], after.final_state[0])
    assert torch.equal(before.final_state[1, others], after.final_state[1, others])
    if math.isnan(bad):
        assert after.out[token, heads].isnan().any()
    if math.isnan(bad) and name != "query":
        assert after.final_state[1, heads].isnan().any()
    if math.isnan(bad) and name == "g":
        assert after.final_state[1, heads].isnan().all()
