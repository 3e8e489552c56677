# SPDX-License-Identifier: Apache-2.0
"""Tokens per chunk: by default fewer where keys have few dims; whatever their number, the same rules hold."""

from dataclasses import replace

import pytest
import torch

from chunk_gdr import tiling
from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.runner import compare_with_truth, plan_of_case

SIZES = (1, 2, 4, 8, 16, 32)
BASE = Case(lengths=(70, 129), nk=1, nv=2, dk=80, dv=48, chunk_state=True)


def same_bits(a, b):
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def misses(inputs, result):
    return [comparison.name for comparison in compare_with_truth(inputs, result) if not comparison.passed]


def erased(dk, size, seed):
    """A state of `size` times the values meets unit keys of `dk` dims that leave nothing of it."""
    case = Case(lengths=(65,), nk=1, nv=1, dk=dk, dv=16, beta=0.99, gate="-1e-3", v_size=1.0, state_size=size, seed=seed)
    return make_inputs(case)


@pytest.mark.parametrize("dk", [1, 2, 3, 8, 15])
@pytest.mark.parametrize("size", [10.0, 1000.0])
def test_keys_of_few_dims_that_erase_a_state(check_model, dk, size):
    """One chunk of 64 tokens covers one dim 64 times over: its error is 2^-18 of the state that it erases."""
    for seed in range(4):
        check_model(erased(dk, size, seed))


def test_it_is_the_short_chunks_that_hold_there(run_model):
    x = erased(1, 1000.0, 0)
    with tiling.chunk_size(64):
        assert misses(x, run_model(x))
    assert misses(x, run_model(x)) == []


def test_the_default():
    for dk, size in ((1, 8), (16, 8), (17, 64), (128, 64)):
        case = replace(BASE, lengths=(64,), dk=dk)
        assert plan_of_case(case).chunk_size == size
        with tiling.chunk_size(16):
            assert plan_of_case(case).chunk_size == 16
        with tiling.chunk_size("auto"):
            assert plan_of_case(case).chunk_size == size


@pytest.mark.parametrize("state", ["float32", "float16", None])
@pytest.mark.parametrize("dk", [16, 80, 128])
@pytest.mark.parametrize("size", SIZES)
def test_every_size_holds_with_the_same_bits_in_every_schedule(check_model, run_model, size, dk, state):
    """A row of chunk_state is for 64 tokens, whatever the size; check_model compares them with the recurrence."""
    case = replace(BASE, dk=dk, state=state)
    with tiling.chunk_size(size):
        first, _ = check_model(case)
        for schedule in ("sequence-major", "v-tiles", "chunk-parallel"):
            with tiling.schedule(schedule):
                for options in ({}, {"execution": "adversarial", "seed": size}):
                    other = run_model(case, **options)
                    assert same_bits(other.out, first.out) and same_bits(other.final_state, first.final_state)
                    assert same_bits(other.chunk_state[:5], first.chunk_state[:5])


@pytest.mark.parametrize("size", SIZES)
def test_a_cut_at_a_multiple_of_the_size_changes_no_bit(run_model, size):
    whole = make_inputs(replace(BASE, lengths=(150,), nv=1, chunk_state=False))
    cut = 64 + size
    with tiling.chunk_size(size):
        at_once = run_model(whole)
        parts, state = [], whole.initial_state
        for tokens in (slice(0, cut), slice(cut, 150)):
            names = ("query", "key", "value", "beta", "g")
            mine = {name: getattr(whole, name)[tokens] for name in names}
            lengths = torch.tensor([tokens.stop - tokens.start], dtype=torch.int32)
            part = run_model(replace(whole, **mine, initial_state=state, actual_seq_lengths=lengths))
            parts.append(part.out)
            state = part.final_state
    assert same_bits(torch.cat(parts), at_once.out) and same_bits(state, at_once.final_state)


@pytest.mark.parametrize("l2norm", [False, True])
@pytest.mark.parametrize("size", [1, 8, 32])
def test_heads_that_take_turns_and_sequences_without_tokens(check_model, size, l2norm):
    case = replace(BASE, lengths=(70, 0, 129, 3), nk=2, nv=4, keys="raw" if l2norm else "random", l2norm=l2norm)
    with tiling.chunk_size(size):
        check_model(case, cores=1)


def key_of_its_own_norm(norm, others):
    """The state is made by one token whose key is shorter than all others, or longer."""
    x = make_inputs(replace(BASE, lengths=(64,), nv=1, dk=64, dv=64, gate="none", beta=1.0, state=None, chunk_state=False))
    scale = torch.full((64, 1, 1), float(others), dtype=torch.float64)
    scale[32] = norm
    x.key = (x.key.double() * scale).half()
    x.beta = (1 / x.key.double().square().sum(-1)).clamp(max=1.0).to(x.beta.dtype)
    if norm < others:
        x.value[:32], x.value[33:] = 0, 0
        x.value[32] = x.value[32] * (20_000 / x.value[32].abs().max())
    return x


@pytest.mark.parametrize(
    "norm, others, size", [(1e-3, 1.0, 1), (1000.0, 1.0, 16)], ids=["shorter", "longer"]
)
def test_keys_of_very_different_norm_hold_with_short_chunks(check_model, run_model, norm, others, size):
    x = key_of_its_own_norm(norm, others)
    assert "final_state" in misses(x, run_model(x))
    with tiling.chunk_size(size):
        check_model(x)


@pytest.mark.parametrize("beta", [1.8, 1.95])
def test_identical_keys_of_large_beta_hold_with_short_chunks(check_model, run_model, beta):
    x = make_inputs(replace(BASE, lengths=(128,), nv=1, dk=64, dv=64, gate="none", beta=beta, state=None, chunk_state=False))
    x.key[:] = x.key[:1]
    assert "final_state" in misses(x, run_model(x))
    with tiling.chunk_size(8):
        check_model(x)


def test_a_dead_token_with_a_huge_key_spoils_no_other_chunk(check_model, run_model):
    """Its products with the other keys are felt by all of its chunk; alone in its chunk it meets none."""
    x = make_inputs(replace(BASE, lengths=(64,), nv=1, dk=64, dv=64, state_size=0.04, v_size=0.04, chunk_state=False))
    key = x.key[20].double()
    x.key[20] = (key * (50_000 / key.abs().max())).half()
    assert x.key.isfinite().all()
    x.beta[20] = 0
    assert "out" in misses(x, run_model(x))
    with tiling.chunk_size(1):
        check_model(x, overflow="inf")


@pytest.mark.parametrize("size", [0, 3, 128, -1, 8.0, "all", True])
def test_no_other_size(size, monkeypatch, run_model):
    message = f"chunk size must be one of auto, 1, 2, 4, 8, 16, 32, 64, got '{size}'"
    with pytest.raises(ValueError, match=message):
        with tiling.chunk_size(size):
            pass
    with pytest.raises(ValueError, match=message):
        tiling.plan([64], 1, 1, 64, 64, chunk_size=size)
    monkeypatch.setenv(tiling.CHUNK_SIZE_VARIABLE, str(size))
    for call in (lambda: run_model(BASE), lambda: tiling.plan([64], 1, 1, 64, 64)):
        with pytest.raises(ValueError, match=f"^environment variable CHUNK_GDR_CHUNK_SIZE: .* {message}$"):
            call()


def test_flag(command):
    flags = ("--lengths", "70", "--nk", "1", "--nv", "1", "--dk", "64", "--dv", "64")
    code, out, _ = command("plan", *flags, "--chunk-size", "16")
    assert code == 0 and "chunks of 16 tokens" in out
    code, out, _ = command("run", *flags, "--chunk-size", "16")
    assert code == 0 and "chunks of 16 tokens" in out and " 5 chunk-heads" in out
    code, _, err = command("run", *flags, "--chunk-size", "65")
    assert code == 2 and err == "chunk-gdr run: error: argument --chunk-size: expected auto, 1, 2, 4, 8, 16, 32, 64, got '65'\n"


def test_a_run_with_both_flags(command):
    flags = ("--lengths", "128", "--nk", "1", "--nv", "1", "--dk", "64", "--dv", "64", "--chunk-size", "32")
    code, out, _ = command("run", *flags, "--schedule", "chunk-parallel")
    assert code == 0 and "schedule chunk-parallel" in out and "chunks of 32 tokens" in out
