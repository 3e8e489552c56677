# SPDX-License-Identifier: Apache-2.0
"""The same bits, whatever the run, the threads, the cores, the company in the batch and the timing of the queues."""

from dataclasses import replace

import pytest
import torch

from chunk_gdr.cases import SUITE, Case, Inputs, make_inputs
from chunk_gdr.check import different_bits

BASE = Case(lengths=(130, 5, 0, 64), nk=2, nv=4, dk=48, dv=32, chunk_state=True)


@pytest.mark.parametrize(
    "options",
    [{}, {"threads": 1}, {"threads": 2}, {"cores": 1}, {"cores": 3}, {"cores": 7}, {"params": "optimistic"}],
    ids=lambda options: "-".join(f"{name}{value}" for name, value in options.items()) or "again",
)
@pytest.mark.parametrize("dim", [48, 128])
def test_threads_cores_and_parameters(run_model, options, dim):
    case = replace(BASE, dk=dim)
    assert different_bits(run_model(case), run_model(case, **options)) == []


@pytest.mark.parametrize("state", ["float32", "float16", None])
@pytest.mark.parametrize("nk, nv", [(1, 1), (1, 3), (3, 6), (2, 8)])
def test_every_partition(run_model, nk, nv, state):
    """One batch on 1 to 8 cores: whole heads, slices of a head, a share of the spare heads or none."""
    case = replace(BASE, lengths=(130, 5, 0, 64, 1), nk=nk, nv=nv, dv=80, state=state, l2norm=True)
    alone = run_model(case, cores=1)
    for cores in range(2, 9):
        assert different_bits(alone, run_model(case, cores=cores)) == [], cores


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", SUITE)
def test_adversarial_timing(check_model, run_model, name, seed):
    """Queues delayed at random as far as flags, barriers and queue order allow."""
    x = make_inputs(SUITE[name])
    adversarial, _ = check_model(x, execution="adversarial", seed=seed)
    assert different_bits(run_model(x), adversarial) == []


def test_cycles_and_hazards_do_not_depend_on_threads(run_model):
    from chunk_gdr import model

    reports = []
    for threads in (1, 2):
        run_model(BASE, threads=threads)
        reports.append(model.last_report())
    assert reports[0].cycles == reports[1].cycles


@pytest.mark.parametrize("dim", [64, 128])
def test_the_company_in_the_batch(run, dim):
    """A sequence alone, first, and last among others: the same bits."""
    x = make_inputs(Case(lengths=(70, 9, 130), nk=1, nv=2, dk=dim, dv=dim))
    together = run(x)
    bounds = ((0, 70), (70, 79), (79, 209))
    order = (2, 0, 1)
    rows = torch.cat([torch.arange(*bounds[b]) for b in order])
    shuffled = run(take(x, rows, order))
    begin = 0
    for position, b in enumerate(order):
        tokens = slice(*bounds[b])
        length = tokens.stop - tokens.start
        alone = run(take(x, torch.arange(*bounds[b]), (b,)))
        assert torch.equal(together.out[tokens], shuffled.out[begin : begin + length])
        assert torch.equal(together.final_state[b], shuffled.final_state[position])
        assert torch.equal(together.out[tokens], alone.out)
        assert torch.equal(together.final_state[b], alone.final_state[0])
        begin += length


def take(x: Inputs, rows, sequences) -> Inputs:
    sequences = list(sequences)
    return Inputs(
        x.query[rows],
        x.key[rows],
        x.value[rows],
        beta=x.beta[rows],
        g=x.g[rows],
        initial_state=x.initial_state[sequences],
        actual_seq_lengths=x.actual_seq_lengths[sequences],
        scale=x.scale,
    )


def test_the_number_of_heads(run):
    """Heads of a call of eight are those of four calls of two."""
    x = make_inputs(Case(lengths=(70, 65), nk=4, nv=8, dk=32, dv=48))
    together = run(x)
    for k_head in range(4):
        v = slice(2 * k_head, 2 * k_head + 2)
        part = Inputs(
            x.query[:, k_head : k_head + 1],
            x.key[:, k_head : k_head + 1],
            x.value[:, v],
            beta=x.beta[:, v],
            g=x.g[:, v],
            initial_state=x.initial_state[:, v],
            actual_seq_lengths=x.actual_seq_lengths,
            scale=x.scale,
        )
        got = run(part)
        assert torch.equal(together.out[:, v], got.out)
        assert torch.equal(together.final_state[:, v], got.final_state)


@pytest.mark.parametrize("name", SUITE)
def test_permuted_accumulation_stays_within_the_bars(check_model, name):
    check_model(SUITE[name], permute_cube=True)


@pytest.mark.parametrize("name", ["qwen", "half-state"])
def test_both_overflow_modes_agree_within_range(run_model, name):
    assert different_bits(run_model(SUITE[name], overflow="saturate"), run_model(SUITE[name], overflow="inf")) == []


@pytest.mark.parametrize("state, bits", [("float32", torch.int32), ("float16", torch.int16)])
@pytest.mark.parametrize("dim", [16, 128])
def test_a_state_of_zeros_when_the_sequence_is_split(run_model, dim, state, bits):
    """Negative numbers that a gate of -inf makes -0, with keys and values that add -0: what leaves a run is what enters the second chunk of a longer one."""

    def inputs(tokens):
        x = make_inputs(Case(lengths=(tokens,), nk=1, nv=1, dk=dim, dv=dim, gate="zero", state=state, chunk_state=True))
        x.key, x.value = -x.key.abs(), torch.zeros_like(x.value)
        x.g[0] = -torch.inf
        x.initial_state = -x.initial_state.abs()
        return x

    whole, part = run_model(inputs(128)), run_model(inputs(64))
    assert (whole.chunk_state[1] == 0).all()
    assert torch.equal(part.final_state[0].view(bits), whole.chunk_state[1].view(bits))
