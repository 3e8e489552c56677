# SPDX-License-Identifier: Apache-2.0
"""The fp64 recurrence against a scalar statement of the formula, and the chunked form against the recurrence."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from chunk_gdr.cases import GATES, Case, make_inputs
from chunk_gdr.compare import compare_chunk_state, compare_out, compare_state
from chunk_gdr.reference import COMPENSATED, FP32, Policy, Terms, chunked, l2norm, recurrence
from chunk_gdr.reference.chunked import invert_unit_lower, product, segment_sums, split, split_scaled

SMALL = Case(lengths=(130, 65, 0, 1), nk=2, nv=4, dk=64, dv=96)
SCALED = replace(COMPENSATED, head_scale=True)


def scalar_recurrence(q, k, v, g, beta, state, lengths, scale):
    """Loops and numpy vectors only; q, k [T, Nk, Dk], v [T, Nv, Dv], state [B, Nv, Dv, Dk]."""
    out, state, t = np.zeros_like(v), state.copy(), 0
    group = v.shape[1] // q.shape[1]
    for b, length in enumerate(lengths):
        for _ in range(length):
            for h in range(v.shape[1]):
                s = math.exp(g[t, h]) * state[b, h]
                d = beta[t, h] * (v[t, h] - s @ k[t, h // group])
                state[b, h] = s + np.outer(d, k[t, h // group])
                out[t, h] = scale * state[b, h] @ q[t, h // group]
            t += 1
    return out, state


def test_recurrence_is_the_formula():
    x = make_inputs(replace(SMALL, lengths=(5, 0, 9, 1), dk=7, dv=3, gate="mixture"))
    arrays = [a.double().numpy() for a in (x.query, x.key, x.value, x.g, x.beta, x.initial_state)]
    out, state = scalar_recurrence(*arrays, x.lengths, x.scale)
    got = recurrence(**x.arguments())
    np.testing.assert_allclose(got.out, out, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got.final_state, state, rtol=1e-12, atol=1e-14)


def test_recurrence_absent_arguments_are_their_defaults():
    x = make_inputs(replace(SMALL, lengths=(70,), gate="none", beta="none", state=None, scale=None, pass_lengths=False))
    bare = recurrence(x.query, x.key, x.value)
    full = recurrence(
        x.query,
        x.key,
        x.value,
        beta=torch.ones(70, 4),
        g=torch.zeros(70, 4),
        initial_state=torch.zeros(1, 4, 96, 64),
        actual_seq_lengths=torch.tensor([70]),
        scale=1.0,
    )
    assert torch.equal(bare.out, full.out) and torch.equal(bare.final_state, full.final_state)


def test_recurrence_splits_anywhere():
    x = make_inputs(replace(SMALL, lengths=(100,)))
    whole = recurrence(**x.arguments())
    parts = recurrence(**(x.arguments() | {"actual_seq_lengths": [100]}))
    assert torch.equal(whole.out, parts.out)
    state, outs = x.initial_state, []
    for cut in (slice(0, 17), slice(17, 64), slice(64, 100)):
        step = recurrence(
            x.query[cut], x.key[cut], x.value[cut], beta=x.beta[cut], g=x.g[cut], initial_state=state, scale=x.scale
        )
        state = step.final_state
        outs.append(step.out)
    torch.testing.assert_close(torch.cat(outs), whole.out, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(state, whole.final_state, rtol=1e-12, atol=1e-14)


def test_recurrence_chunk_state_enters_each_chunk():
    x = make_inputs(SMALL)
    got = recurrence(**x.arguments(), with_chunk_state=True)
    assert got.chunk_state.shape[0] == 3 + 2 + 0 + 1
    for row, b in ((0, 0), (3, 1), (5, 3)):
        assert torch.equal(got.chunk_state[row], x.initial_state[b].double())
    cut = slice(0, 64)
    head = recurrence(
        x.query[cut], x.key[cut], x.value[cut], beta=x.beta[cut], g=x.g[cut], initial_state=x.initial_state[:1]
    )
    torch.testing.assert_close(got.chunk_state[1], head.final_state[0], rtol=1e-12, atol=1e-14)


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype)


# What is replaced in q, k [6, 2, 8] and v [6, 4, 12], and the message.
REFUSED = {
    "no-key-heads": ({"query": zeros(6, 0, 8), "key": zeros(6, 0, 8)}, "'query': expected at least one head, got 0"),
    "no-value-heads": ({"value": zeros(6, 0, 12)}, "'value': expected at least one head, got 0"),
    "head-ratio": ({"value": zeros(6, 3, 12)}, "'value': expected Nv a multiple of Nk=2, got Nv=3"),
    "query-rank": ({"query": zeros(6, 8)}, "'query': expected rank 3, shape [T, Nk, Dk], got rank 2, shape [6, 8]"),
    "value-rank": ({"value": zeros(12)}, "'value': expected rank 3, shape [T, Nv, Dv], got rank 1, shape [12]"),
    "key-shape": ({"key": zeros(6, 2, 9)}, "'key': expected shape [T=6, Nk=2, Dk=8], got [6, 2, 9]"),
    "value-tokens": ({"value": zeros(5, 4, 12)}, "'value': expected shape [T=6, Nv=4, Dv=12], got [5, 4, 12]"),
    "g-shape": ({"g": zeros(6, 2)}, "'g': expected shape [T=6, Nv=4], got [6, 2]"),
    "beta-shape": ({"beta": zeros(4, 6)}, "'beta': expected shape [T=6, Nv=4], got [4, 6]"),
    "state-shape": (
        {"initial_state": zeros(1, 4, 8, 12)},
        "'initial_state': expected shape [B=1, Nv=4, Dv=12, Dk=8], got [1, 4, 8, 12]",
    ),
    "dtype": (
        {name: zeros(6, 2, 8, dtype=torch.int32) for name in ("query", "key")},
        "'query': expected dtype float16, bfloat16, float32 or float64 (any backend), got int32",
    ),
    "sum-short": ({"actual_seq_lengths": [2, 3]}, "'actual_seq_lengths': expected lengths with sum T=6, got sum 5"),
    "sum-long": (
        {"actual_seq_lengths": torch.tensor([2, 5])},
        "'actual_seq_lengths': expected lengths with sum T=6, got more than T after index 1",
    ),
    "negative": ({"actual_seq_lengths": [-1, 7]}, "'actual_seq_lengths': expected lengths >= 0, got -1 at index 0"),
    "no-sequences": ({"actual_seq_lengths": []}, "'actual_seq_lengths': expected lengths with sum T=6, got sum 0"),
    "fractions": (
        {"actual_seq_lengths": [2.5, 3.5]},
        "'actual_seq_lengths': expected dtype int32 or int64, got float32",
    ),
    "lengths-rank": (
        {"actual_seq_lengths": torch.tensor(6)},
        "'actual_seq_lengths': expected rank 1, shape [B], got rank 0, shape []",
    ),
    "scale": ({"scale": math.inf}, "'scale': expected a finite float32, got inf"),
}


@pytest.mark.parametrize("reference", [recurrence, chunked])
@pytest.mark.parametrize("change, text", REFUSED.values(), ids=REFUSED)
def test_arguments_are_those_of_the_operator(reference, change, text):
    args = {"query": zeros(6, 2, 8), "key": zeros(6, 2, 8), "value": zeros(6, 4, 12)}
    assert reference(**args).out.shape == (6, 4, 12)
    with pytest.raises(RuntimeError) as error:
        reference(**args | change)
    assert str(error.value) == f"chunk_gated_delta_rule: argument {text}"


@pytest.mark.parametrize("reference", [recurrence, chunked])
def test_no_sequences(reference):
    got = reference(zeros(0, 2, 8), zeros(0, 2, 8), zeros(0, 4, 12), actual_seq_lengths=[], with_chunk_state=True)
    assert [list(x.shape) for x in vars(got).values()] == [[0, 4, 12], [0, 4, 12, 8], [0, 4, 12, 8]]


def test_l2norm_has_eps_inside_the_root_of_the_sum():
    x = torch.full((1, 128), 1e-5, dtype=torch.float64)
    assert l2norm(x)[0, 0].item() == pytest.approx(1e-5 / math.sqrt(128e-10 + 1e-6), rel=1e-12)
    assert torch.equal(l2norm(torch.zeros(2, 9)), torch.zeros(2, 9))


def check(case, policy, out_bar, state_bar):
    """The chunked form against the truth: everything finite where the truth is, and within the bars."""
    x = make_inputs(case)
    truth = recurrence(**x.arguments(), with_chunk_state=True)
    got = chunked(**x.arguments(), with_chunk_state=True, policy=policy)
    out = compare_out(got.out, truth.out, x.lengths)
    state = compare_state(got.final_state, truth.final_state)
    rows = compare_chunk_state(got.chunk_state, truth.chunk_state, x.lengths)
    for comparison, bar in ((out, out_bar), (state, state_bar), (rows, state_bar)):
        assert comparison.worst.mask_errors == 0, comparison
        assert comparison.worst.nrmse <= bar, comparison
    return out.worst.nrmse, state.worst.nrmse


@pytest.mark.parametrize("policy", [FP32, COMPENSATED], ids=["fp32", "compensated"])
@pytest.mark.parametrize("gate", GATES)
def test_chunked_equals_recurrence_for_every_gate(gate, policy):
    check(replace(SMALL, gate=gate), policy, out_bar=2e-6, state_bar=2e-6)


@pytest.mark.parametrize("gate", ["none", "qwen", "per-head", "mixture"])
@pytest.mark.parametrize("policy", [FP32, COMPENSATED], ids=["fp32", "compensated"])
def test_chunked_with_correlated_keys(gate, policy):
    check(replace(SMALL, gate=gate, keys="correlated", beta="0.99"), policy, out_bar=4e-6, state_bar=4e-6)


@pytest.mark.parametrize("key_norm", [1.0, 1000.0, 1e-5])
def test_chunked_l2norm(key_norm):
    check(replace(SMALL, l2norm=True, key_norm=key_norm), FP32, out_bar=2e-6, state_bar=2e-6)
    check(replace(SMALL, l2norm=True, key_norm=key_norm), SCALED, out_bar=2e-6, state_bar=2e-6)


def test_l2norm_of_scaled_keys_is_that_of_unit_keys():
    """fp64 inputs, so that only eps separates the three: 1e-6 / 2 relative at norm 1."""
    x = make_inputs(replace(SMALL, l2norm=True, dtype="float64"))
    unit, large = (recurrence(**(x.arguments() | {"key": s * x.key})) for s in (1.0, 1000.0))
    assert compare_out(large.out, unit.out, x.lengths).worst.nrmse < 2e-6


def test_real_ranges():
    """g = -316 * rand with v up to 24.8, as measured in a real 35B model."""
    check(replace(SMALL, gate="uniform-316", v_size=12.0), COMPENSATED, out_bar=2e-6, state_bar=2e-6)


def test_one_piece_per_operand_is_not_enough():
    """The emulated roundings bite: plain fp16 operands miss the state's bar by more than ten times."""
    plain = Policy(*[Terms(1, 1)] * 7)
    x = make_inputs(SMALL)
    truth = recurrence(**x.arguments())
    got = chunked(**x.arguments(), policy=plain)
    assert 2e-4 < compare_state(got.final_state, truth.final_state).worst.nrmse < 2e-2


@pytest.mark.parametrize("v_size, unscaled_at_least", [(1e-3, 4e-5), (1e-4, 4e-4)])
def test_small_values_need_the_head_scale(v_size, unscaled_at_least):
    """Halves of 1e-3 * randn fall into fp16 subnormals unless a power of two per head lifts them out."""
    case = replace(SMALL, lengths=(130,), v_size=v_size, state=None)
    x = make_inputs(case)
    truth = recurrence(**x.arguments())
    got = chunked(**x.arguments(), policy=COMPENSATED)
    assert compare_state(got.final_state, truth.final_state).worst.nrmse > unscaled_at_least
    check(case, SCALED, out_bar=2e-6, state_bar=2e-6)


def test_segment_sums_survive_a_steep_prefix():
    """Each sum to fp32 accumulation, also the small ones, which differences of fp32 prefix sums lose."""
    g = torch.full((1, 64), -316.0)
    g[0, 40:] = -1e-3 * torch.arange(24)
    exact = torch.zeros(64, 64, dtype=torch.float64)
    for i in range(64):
        for j in range(i):
            exact[i, j] = g[0, j + 1 : i + 1].double().sum()
    for terms in (Terms(), COMPENSATED.segment_sums):
        sums, from_start = segment_sums(g, terms)
        torch.testing.assert_close(sums[0].double().tril(), exact, rtol=2e-6, atol=1e-7)
        torch.testing.assert_close(from_start[0, :, 0].double(), g[0].double().cumsum(0), rtol=2e-6, atol=0)
    prefix = g[0].cumsum(0)
    difference = (prefix[:, None] - prefix[None, :]).double()
    assert (difference - exact)[63, 40:63].abs().max() > 1e-4


def test_segment_sums_of_infinite_and_nan_gates():
    g = torch.zeros(1, 64)
    g[0, 10] = -math.inf
    sums, from_start = segment_sums(g, COMPENSATED.segment_sums)
    assert torch.equal(sums.exp()[0, 20, [9, 10]], torch.tensor([0.0, 1.0]))
    assert from_start.exp()[0, 63, 0] == 0
    g[0, 10] = math.nan
    sums, from_start = segment_sums(g, COMPENSATED.segment_sums)
    assert sums[0, 20, 9].isnan() and from_start[0, 63, 0].isnan()


def test_pieces_of_small_gates_are_scaled():
    """g = -1e-4: unscaled pieces are subnormal halves, and 2,048 tokens of their error become 1e-5 of the state."""
    ones, g = torch.ones(64, 64).tril(), torch.full((64, 1), -1e-4)
    exact = ones.double() @ g.double()
    scaled = product(ones, g, Terms(1, 3), splitter=split_scaled)
    unscaled = product(ones, g, Terms(1, 3), splitter=split)
    assert ((scaled - exact) / exact).abs().max() < 3e-7
    assert ((unscaled - exact) / exact).abs().max() > 1e-5
    case = Case(lengths=(2048,), nk=1, nv=2, dk=16, dv=16, gate="-1e-4")
    check(case, COMPENSATED, out_bar=2e-6, state_bar=1e-6)


@pytest.mark.parametrize("policy", [FP32, COMPENSATED], ids=["fp32", "compensated"])
def test_inverse_by_blocks(policy):
    generator = torch.Generator().manual_seed(3)
    a = (0.3 * torch.randn(5, 64, 64, generator=generator)).tril(-1)
    exact = torch.linalg.inv(torch.eye(64, dtype=torch.float64) + a.double())
    error = (invert_unit_lower(a, policy).double() - exact).norm(dim=(1, 2)) / exact.norm(dim=(1, 2))
    assert error.max() < 5e-5


def test_unnormalised_keys_overflow_like_the_truth():
    """beta = 1 and keys of norm 8 to 11: the truth itself grows beyond fp32."""
    case = replace(SMALL, lengths=(64,), keys="raw", gate="none", beta="one")
    truth = recurrence(**make_inputs(case).arguments())
    assert truth.final_state.abs().max() > 1e40 and truth.final_state.isfinite().all()
