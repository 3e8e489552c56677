# SPDX-License-Identifier: Apache-2.0
"""Keys of any size, the in-kernel l2norm, values from tiny to beyond the range of fp16."""

from dataclasses import replace

import pytest
import torch

from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.compare import FP16_MAX, FP32_BAR, compare_out, compare_state
from chunk_gdr.reference import recurrence

BASE = Case(lengths=(64, 65), nk=1, nv=2, dk=64, dv=48)


@pytest.mark.parametrize("keys, key_norm", [("raw", 1.0), ("random", 1.0), ("random", 1000.0), ("random", 1e-5)])
def test_l2norm(check, keys, key_norm):
    check(replace(BASE, l2norm=True, keys=keys, key_norm=key_norm))


@pytest.mark.parametrize("dim", [9, 60, 80, 100, 127])
def test_l2norm_sums_over_the_live_columns(check, dim):
    check(replace(BASE, l2norm=True, keys="raw", dk=dim, dv=33))


def test_l2norm_of_large_keys_is_that_of_unit_keys(run):
    """A power of two in front changes no bit of a half, and eps nothing of a norm this large."""
    x = make_inputs(replace(BASE, l2norm=True, keys="raw"))
    small = run(x)
    x.key = x.key * 256
    large = run(x)
    assert compare_out(large.out, small.out.double(), x.lengths).worst.nrmse < 1e-4
    assert compare_state(large.final_state, small.final_state.double()).worst.nrmse < 1e-6


def test_l2norm_of_nothing_is_nothing(check):
    """x = 0 gives 0, and x = 1e-5 everywhere is far below eps: 1e-5 / sqrt(128e-10 + 1e-6)."""
    x = make_inputs(replace(BASE, l2norm=True, dk=128))
    x.key[3:9], x.query[5:12] = 0, 0
    x.key[20:30], x.query[25:40] = 1e-5, 1e-5
    result, _ = check(x)
    assert torch.equal(result.out[5:12], torch.zeros_like(result.out[5:12]))


@pytest.mark.parametrize("l2norm", [False, True])
def test_zero_rows(check, l2norm):
    x = make_inputs(replace(BASE, l2norm=l2norm, state=None))
    for tensor in (x.query, x.key, x.value):
        tensor.zero_()
    result, _ = check(x)
    assert (result.out == 0).all() and (result.final_state == 0).all()


@pytest.mark.parametrize("v_size", [0.1, 1.0, 12.0, 25.0])
def test_value_sizes(check, v_size):
    check(replace(BASE, v_size=v_size, state=None, gate="qwen"))


@pytest.mark.parametrize("gate", ["-1e-3", "-5", "-50"])
@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4, 1e-6])
def test_small_values_have_a_floor(run, size, gate):
    """Below the range of the bars the low pieces of the kernel's operands are fp16 subnormals.

    The state is off by at most 2^-24 (rms); out, which is fp16 itself, still holds its bar.
    """
    x = make_inputs(replace(BASE, v_size=size, state_size=size, gate=gate))
    result = run(x)
    truth = recurrence(**x.arguments())
    assert compare_out(result.out, truth.out, x.lengths).passed
    error = (result.final_state - truth.final_state).square().mean((-1, -2)).sqrt()
    bar = FP32_BAR * truth.final_state.square().mean((-1, -2)).sqrt()
    assert (error <= torch.clamp(bar, min=2.0**-24)).all()


@pytest.mark.parametrize("state_size", [2.0**-6, 1.0, 1000.0, 8000.0])
def test_state_sizes(check, state_size):
    check(replace(BASE, state_size=state_size, scale=2.0**-10))


def test_beta_in_fp32_is_used_in_fp32(check):
    """sigmoid(0.5) = 0.62245935; rounded to fp16 it would move the state by more than its bar."""
    x = make_inputs(replace(BASE, beta=0.62245935, state=None))
    check(x)
    rounded = recurrence(**(x.arguments() | {"beta": x.beta.half()}))
    truth = recurrence(**x.arguments())
    assert not compare_state(rounded.final_state, truth.final_state).passed


@pytest.mark.parametrize("scale", [None, 1.0, 0.125, 0.0, -2.0, 1e-4])
def test_scales(check, scale):
    """None is 1.0, the convention of the Ascend operators."""
    check(replace(BASE, scale=scale))


@pytest.mark.parametrize("where, overflow", [("native", "inf"), ("model", "inf"), ("model", "saturate")])
@pytest.mark.parametrize("query_norm, scale", [(1.0, 7e4), (1.0, -3e5), (100.0, 1400.0), (2e3, 140.0), (2e4, 14.0), (1e5, 2.0)])
def test_scores_beyond_half(check_on_backend, where, overflow, query_norm, scale):
    """scale q k^T exceeds fp16, out does not."""
    x = make_inputs(replace(BASE, scale=scale, v_size=0.03, gate="-1e-3", state=None))
    x.query = (x.key.double() * query_norm).half()
    scores = scale * torch.einsum("thd,shd->ts", x.query.double(), x.key.double())
    assert scores.abs().max() > FP16_MAX > recurrence(**x.arguments()).out.abs().max()
    check_on_backend(where, x, overflow=overflow)


@pytest.mark.parametrize("where, overflow", [("native", "inf"), ("model", "inf"), ("model", "saturate")])
@pytest.mark.parametrize("factor", [1.0, 3.0], ids=["as-they-are", "growing"])
def test_scores_of_later_keys_beyond_half(check_on_backend, where, overflow, factor):
    """Only what the causal mask removes exceeds fp16: q_t k_{t+1}, and those of a token meet nothing else."""
    x = make_inputs(replace(BASE, lengths=(60,), dk=60, state="float32", v_size=0.03, beta=0.01))
    x.query, x.key = (rows[:, None].half() for rows in (300.0 * torch.eye(60).roll(1, 1), 300.0 * torch.eye(60)))
    x.key[0::2] /= 300.0 / factor
    x.query[1::2] /= 300.0
    assert (x.query[:-1, 0].double() * x.key[1:, 0].double()).sum(-1).max() > FP16_MAX
    check_on_backend(where, x, overflow=overflow)


@pytest.mark.parametrize("where, overflow", [("native", "inf"), ("model", "inf"), ("model", "saturate")])
@pytest.mark.parametrize("l2norm", [False, True])
def test_one_hot_rows_that_meet_later_keys_only(check_on_backend, where, overflow, l2norm):
    """All causal scores are 0, so that Q K^T is multiplied by the largest power of two, and with it what lies above."""
    x = make_inputs(replace(BASE, lengths=(2,), state="float32", l2norm=l2norm))
    one_hot = torch.eye(64)[:, None].half()
    x.query, x.key = one_hot[1:3].clone(), one_hot[0:2].clone()
    check_on_backend(where, x, overflow=overflow)


def test_scale_none_is_one(run):
    absent, one = (run(replace(BASE, scale=scale)) for scale in (None, 1.0))
    assert torch.equal(absent.out, one.out)


@pytest.mark.parametrize("where, overflow", [("native", "inf"), ("model", "inf"), ("model", "saturate")])
def test_outputs_beyond_half(check_on_backend, where, overflow):
    """out of up to 1e6: inf or +-65504 by the chip's mode where the truth is beyond, exact elsewhere."""
    case = replace(BASE, v_size=25.0, scale=4096.0, gate="-1e-3")
    result, _ = check_on_backend(where, case, overflow=overflow)
    largest = result.out.abs().max()
    assert largest == (FP16_MAX if overflow == "saturate" else torch.inf)


def test_unnormalised_keys_give_no_nan(run):
    """randn keys, T = 64: the truth grows to 1e40 and more; what is beyond a dtype is not NaN."""
    x = make_inputs(replace(BASE, lengths=(64,), keys="raw", beta="one", gate="none", state=None))
    assert recurrence(**x.arguments()).final_state.abs().max() > 1e40
    result = run(x)
    assert not result.out.isnan().any() and not result.final_state.isnan().any()


def test_unnormalised_keys_stay_at_home(run):
    """Keys of norm 8 in k-head 0 drive its state beyond fp32 within a chunk; k-head 1 keeps its bits."""
    x = make_inputs(replace(BASE, nk=2, nv=4, gate="none", beta="one"))
    before = run(x)
    x.key = x.key.clone()
    x.key[:, 0] *= 8
    truth = recurrence(**x.arguments())
    assert truth.final_state[:, :2].abs().max() > 1e38
    after = run(x)
    assert torch.equal(before.out[:, 2:], after.out[:, 2:])
    assert torch.equal(before.final_state[:, 2:], after.final_state[:, 2:])


# Without its gates, each of these recurrences multiplies what lies along a key by 1 - beta |k|^2, more than 1 in size.
TAMED = [
    ("raw", 1.0, "one", "-5"),
    ("raw", 1.0, "random", "uniform-6"),
    ("raw", 1.0, "random", "-inf"),
    ("random", 2.0, "random", "-5"),
    ("random", 3.0, "one", "uniform-6"),
    ("random", 1.6, "one", "-1e-3"),
    ("correlated", 3.0, "random", "-5"),
    ("random", 1.0, -3.0, "uniform-6"),
    ("random", 1.0, -0.5, "-5"),
]


@pytest.mark.parametrize("dk, dv", [(64, 48), (80, 80), (96, 33), (128, 128)])
@pytest.mark.parametrize("keys, key_norm, beta, gate", TAMED)
def test_keys_that_only_gates_tame(check, keys, key_norm, beta, gate, dk, dv):
    case = replace(BASE, lengths=(130, 64, 3), dk=dk, dv=dv, keys=keys, key_norm=key_norm, beta=beta, gate=gate, chunk_state=True)
    x = make_inputs(case)
    assert growth(x) > 1.4
    check(x)


def growth(x):
    return (1 - x.beta.double() * x.key.double().square().sum(-1)).abs().max()


@pytest.mark.parametrize("overflow", ["saturate", "inf"])
def test_tamed_keys_in_some_chunks_alone(check_on_backend, overflow):
    """Chunks of either kind follow one another; one has a single such token."""
    x = make_inputs(replace(BASE, lengths=(64 * 5 + 9,), dk=128, dv=128, gate="-5", chunk_state=True))
    x.key[64:128] *= 3
    x.key[200] *= 6
    x.key[256:] *= 2
    check_on_backend("model", x, overflow=overflow)


def test_tamed_keys_with_an_l2norm(check):
    """It takes a beta beyond 2."""
    check(replace(BASE, lengths=(130,), l2norm=True, beta=5.0, gate="-5", keys="raw"))


def test_a_nan_gate_among_tamed_keys(run):
    """It spoils its own head from its chunk on."""
    x = make_inputs(replace(BASE, lengths=(130,), keys="raw", gate="-5"))
    before = run(x)
    x.g[70, 1] = torch.nan
    after = run(x)
    assert torch.equal(before.out[:, 0], after.out[:, 0]) and torch.equal(before.out[:64], after.out[:64])
    assert after.out[70:, 1].isnan().all() and after.final_state[0, 1].isnan().all()


@pytest.mark.parametrize("lengths", [(1,) * 8, (3, 2, 1), (130,)])
@pytest.mark.parametrize("query_norm", [1e-4, 1e-2, 0.1, 16.0, 300.0, 4e3, 6e4])
@pytest.mark.parametrize("dim", [64, 128])
def test_queries_of_any_size(check, lengths, query_norm, dim):
    """Q K^T from where fp16 halves would be subnormal to where they would end."""
    check(replace(BASE, lengths=lengths, dk=dim, query_norm=query_norm, state=None, scale=1 / max(query_norm, 1)))


def test_queries_orthogonal_to_their_keys(check):
    """All that is left of q k is what rounding to fp16 leaves."""
    x = make_inputs(replace(BASE, lengths=(1,) * 16, dk=128, dv=64, state=None))
    q, k = x.query.double(), x.key.double()
    x.query = (q - (q * k).sum(-1, keepdim=True) / k.square().sum(-1, keepdim=True) * k).half()
    assert (x.query.double() * k).sum(-1).abs().max() < 2.0**-10
    check(x)


@pytest.mark.parametrize("overflow", ["saturate", "inf"])
@pytest.mark.parametrize("size", [15.0, 100.0, 255.0, 4000.0])
@pytest.mark.parametrize("gate", [0.0, 3.9])
def test_scores_that_positive_gates_raise(check_on_backend, gate, size, overflow):
    """q k e^g, with the mantissa of scale, is up to 4e5."""
    x = make_inputs(replace(BASE, lengths=(2,), nv=1, dk=32, dv=16, beta="one", gate=gate, state=None, scale=1.9 * 2.0**-12))
    x.query.zero_()
    x.key.zero_()
    x.key[0, 0, 0] = x.key[1, 0, 1] = 1
    x.query[1, 0, 0] = size
    check_on_backend("model", x, overflow=overflow)


@pytest.mark.parametrize("size", [10.0, 255.0, 257.0, 6e4])
@pytest.mark.parametrize("others", [0.3, 0.01])
def test_a_large_product_with_a_later_key(check, size, others):
    """Nothing comes of it, and the scores of other rows are what they were."""
    x = make_inputs(replace(BASE, lengths=(16,), nv=1, dk=32, dv=16, beta="one", gate="none", state=None, scale=None))
    x.key[:, 0] = torch.eye(16, 32)
    x.query = (others * torch.randn(16, 1, 32, generator=torch.Generator().manual_seed(0))).half()
    x.query[0] = 0
    x.query[0, 0, 1] = size
    check(x)


@pytest.mark.parametrize("beta", [0.5, 0.01])
def test_a_large_score_beside_smaller_ones(check, beta):
    """A query of norm 300 along its key, without a value; those after it have norm 5."""
    x = make_inputs(replace(BASE, lengths=(64,), nv=1, dk=128, beta=beta, gate=-0.1, query_norm=5.0, state=None))
    x.query[0] = 300 * x.key[0]
    x.value[0] = 0
    check(x)


@pytest.mark.parametrize("size", [2.0**-24, 2.0**-26, 1.4e-8, 2.0**-34])
@pytest.mark.parametrize("lengths", [(1,), (3,)])
def test_scores_below_the_smallest_half(check, lengths, size):
    """q k of every token is `size`; the scale brings out back into range."""
    x = make_inputs(replace(BASE, lengths=lengths, nv=1, dk=32, dv=16, beta="one", gate="none", state=None, scale=1 / size))
    x.query.zero_()
    x.key.zero_()
    x.query[..., 0] = 2.0**-14
    x.key[..., 0] = size * 2.0**14
    check(x)


@pytest.mark.parametrize("overflow", ["saturate", "inf"])
@pytest.mark.parametrize("gate", [2.0, 3.9])
def test_positive_gates_raise_a_large_value(check_on_backend, gate, overflow):
    """F V' reaches 6e5 before the last token erases all but 1/300 of it; |V'| stays below 1.2e4."""
    x = make_inputs(replace(BASE, lengths=(3, 67), nv=1, dk=32, dv=16, beta="one", gate="zero", state=None, scale=2.0**-8, chunk_state=True))
    for token in (0, 3):
        x.key[token : token + 2] = 0
        x.key[token : token + 2, 0, 0] = 1
        x.value[token] = 12_000.0 if gate < 3 else 1_000.0
        x.value[token + 1] = 40.0
        x.g[token + 2] = gate
    check_on_backend("model", x, overflow=overflow)
