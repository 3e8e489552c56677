# SPDX-License-Identifier: Apache-2.0
"""Schedules: the same bits whichever runs, clean on every one, chosen by what the plan predicts."""

import itertools
import re
from dataclasses import replace

import pytest
import torch

from chunk_gdr import tiling
from chunk_gdr.cases import SUITE, Case, make_inputs
from chunk_gdr.runner import call_operator, plan_of_case
from chunk_gdr.tiling import plan

SCHEDULES = ("sequence-major", "v-tiles", "chunk-parallel")

# Few v-heads, so that every schedule has cores to spare.
CASES = {
    "one-head": Case(lengths=(1000,), nk=1, nv=1, dk=128, dv=128),
    "four-heads": Case(lengths=(700,), nk=2, nv=4, dk=128, dv=128),
    "d64": Case(lengths=(333,), nk=1, nv=2, dk=64, dv=64, gate="mixture", keys="correlated", beta=0.99),
    "d80": Case(lengths=(321,), nk=1, nv=1, dk=80, dv=80, v_size=25.0),
    "d96": Case(lengths=(449,), nk=1, nv=4, dk=96, dv=96, state="float16"),
    "unequal-dims": Case(lengths=(260,), nk=2, nv=4, dk=48, dv=96),
    "narrow-values": Case(lengths=(200,), nk=1, nv=1, dk=128, dv=33),
    "sequences": Case(lengths=(300, 0, 65), nk=1, nv=1, dk=64, dv=64),
    "one-token": Case(lengths=(1,), nk=1, nv=2, dk=64, dv=64),
    "two-chunks": Case(lengths=(128,), nk=1, nv=2, dk=64, dv=64, state=None),
    "no-gates": Case(lengths=(150,), nk=1, nv=2, dk=64, dv=64, gate="none", beta="none"),
    "chunk-state": Case(lengths=(250, 64), nk=1, nv=1, dk=64, dv=64, chunk_state=True),
    "small-weights": Case(lengths=(330,), nk=1, nv=1, dk=64, dv=64, gate="-5", beta=0.004, v_size=0.1),
    "strong-gates": Case(lengths=(400,), nk=1, nv=1, dk=128, dv=128, gate="-5", chunk_state=True),
    "stronger-gates": Case(lengths=(300,), nk=1, nv=2, dk=64, dv=64, gate="-50", beta=0.01),
    "negative-beta": Case(lengths=(200,), nk=1, nv=1, dk=64, dv=64, beta=-0.25),
    "tamed-keys": Case(lengths=(300,), nk=1, nv=2, dk=64, dv=64, key_norm=3.0, gate="uniform-6", chunk_state=True),
    "small-queries": Case(lengths=(300,), nk=1, nv=1, dk=128, dv=64, query_norm=1e-4),
    "large-queries": Case(lengths=(300,), nk=1, nv=1, dk=128, dv=128, query_norm=1e4, scale=1e-3),
    "scale-one": Case(lengths=(200,), nk=1, nv=1, dk=96, dv=96, scale=1.0),
}


def results(case, name, **options):
    inputs = make_inputs(case)
    with tiling.schedule(name):
        call = call_operator(inputs, "model", **options)
    assert call.error is None, call.error
    tensors = [call.result.out, call.result.final_state]
    return tensors + ([inputs.chunk_state] if case.chunk_state else []), call.model


def same_bits(a, b):
    return all(torch.equal(x.view(torch.uint8), y.view(torch.uint8)) for x, y in zip(a, b))


@pytest.mark.parametrize("name", CASES)
def test_every_schedule_gives_the_same_bits(name):
    case = CASES[name]
    first, _ = results(case, SCHEDULES[0])
    for schedule in SCHEDULES[1:]:
        other, report = results(case, schedule)
        assert same_bits(first, other), schedule
        assert report["hazards"]["errors"] == 0 and report["hazards"]["auto_sync"] == 0


SLICES = {2: (64, 2), 4: (64, 8), 8: (128, 8)}  # of a head -> Dv, cores


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("slices", SLICES)
def test_chunk_parallel_bits_do_not_depend_on_the_execution(slices, seed):
    dv, cores = SLICES[slices]
    case = replace(CASES["d64"], nv=1 if slices == cores else 2, dv=dv)
    assert plan([*case.lengths], 1, case.nv, case.dk, case.dv, cores=cores, schedule="chunk-parallel").v_tiles == slices
    first, _ = results(case, "chunk-parallel", cores=cores)
    other, _ = results(case, "chunk-parallel", cores=cores, execution="adversarial", seed=seed, threads=1 + seed % 3)
    assert same_bits(first, other)


@pytest.mark.parametrize("dv, chunks", [*itertools.product((64,), (1, 2, 3, 7, 16, 33)), *itertools.product((128,), (1, 2, 7, 16))])
def test_chunk_parallel_for_every_way_a_sequence_ends(dv, chunks):
    """Rounds are two chunks, meetings some rounds apart; the last of each may be cut short."""
    for length in (64 * chunks - 63, 64 * chunks):
        case = Case(lengths=(length,), nk=1, nv=1, dk=32, dv=dv, seed=length)
        expected, _ = results(case, "v-tiles")
        for slices, (columns, cores) in SLICES.items():
            if columns == dv:
                assert plan([length], 1, 1, 32, dv, cores=cores, schedule="chunk-parallel").v_tiles == slices
                assert same_bits(expected, results(case, "chunk-parallel", cores=cores)[0]), slices


def test_the_suite_runs_every_schedule():
    plans = [plan_of_case(case) for case in SUITE.values()]
    assert {p.schedule for p in plans} == set(SCHEDULES)
    assert {p.v_tiles for p in plans if p.schedule == "chunk-parallel"} >= {2, 8}


FEW_HEADS = [(1, 1, 128), (1, 2, 128), (2, 4, 128), (1, 1, 64), (1, 2, 80), (1, 2, 96)]


@pytest.mark.parametrize("nk, nv, dim", FEW_HEADS)
def test_the_plan_takes_what_it_predicts_to_be_fastest(nk, nv, dim):
    for length in (64, 640, 4096):
        chosen = plan([length], nk, nv, dim, dim)
        each = {name: plan([length], nk, nv, dim, dim, schedule=name).predicted_cycles for name in SCHEDULES}
        assert chosen.predicted_cycles == min(each.values()) == each[chosen.schedule]


@pytest.mark.parametrize("nk, nv, dim", FEW_HEADS)
def test_the_prediction_of_a_shared_head_is_near_what_the_model_measures(nk, nv, dim):
    """Also where the other schedules would be chosen."""
    for length in (1500, 3000):
        case = Case(lengths=(length,), nk=nk, nv=nv, dk=dim, dv=dim)
        predicted = plan([length], nk, nv, dim, dim, schedule="chunk-parallel").predicted_cycles
        with tiling.schedule("chunk-parallel"):
            measured = call_operator(make_inputs(case), "model", checked=False).model["model_cycles"]["total"]
        assert predicted == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize("rounds", [2, 4, 6, 8, 16])
def test_rounds_between_meetings_by_hand(rounds):
    """Three meetings: a round is two chunks."""
    length = 64 * 2 * (2 * rounds) + 1
    case = Case(lengths=(length,), nk=1, nv=1, dk=32, dv=64)
    name = f"chunk-parallel:{rounds}"
    expected, _ = results(case, "sequence-major")
    for cores in (2, 8):
        assert plan([length], 1, 1, 32, 64, cores=cores, schedule=name).rounds_apart == rounds
        assert same_bits(expected, results(case, name, cores=cores)[0]), cores


@pytest.mark.parametrize("name", ["chunk-parallel:3", "chunk-parallel:0", "chunk-parallel:", "chunk-parallel:4:", "v-tiles:2", "auto:4", ":4"])
def test_what_is_no_schedule(name):
    message = "chunk_gated_delta_rule tiling: schedule must be auto, .*chunk-parallel:N, N one of 2, 4, 6, 8, 16, got '"
    with pytest.raises(ValueError, match=message + re.escape(name) + "'$"):
        plan([640], 1, 1, 64, 64, schedule=name)
    with pytest.raises(ValueError, match=message + re.escape(name) + "'$"):
        with tiling.schedule(name):
            pass


def test_the_rounds_of_a_block():
    with tiling.schedule("chunk-parallel:4"):
        assert plan([640], 1, 1, 64, 64).rounds_apart == 4


def test_a_schedule_that_does_not_fit_says_why():
    message = "schedule chunk-parallel does not fit this launch.*l2norm"
    for arguments, changes in [(([640], 16, 32, 128, 128), {}), (([640], 1, 1, 64, 64), {"use_qk_l2norm": True}), (([0], 1, 1, 64, 64), {})]:
        with pytest.raises(ValueError, match=message) as refused:
            plan(*arguments, schedule="chunk-parallel", **changes)
        _, nk, nv, dk, dv = arguments
        got = f"got batch 1, value_heads {nv}, value_dim {dv}, key_dim {dk}, core_count 8, total_tokens {sum(arguments[0])}, "
        got += f"use_qk_l2norm {int(bool(changes))}, state in kNz, workspace zeroed"
        assert str(refused.value).endswith(got)
        assert plan(*arguments, **changes).schedule != "chunk-parallel"
    with pytest.raises(ValueError, match="schedule v-tiles does not fit.* got batch 1, value_heads 1, value_dim 16$"):
        plan([640], 1, 1, 64, 16, schedule="v-tiles")
    with pytest.raises(ValueError, match="schedule must be .* got 'fast'$"):
        plan([640], 1, 1, 64, 64, schedule="fast")


def test_a_schedule_from_the_environment_is_checked_at_the_call(monkeypatch):
    monkeypatch.setenv(tiling.SCHEDULE_VARIABLE, "fast")
    message = "^environment variable CHUNK_GDR_SCHEDULE: .* schedule must be .* got 'fast'$"
    with pytest.raises(ValueError, match=message):
        call_operator(make_inputs(Case(lengths=(5,), nk=1, nv=1, dk=16, dv=16)), "model")
    with pytest.raises(ValueError, match=message):
        plan([5], 1, 1, 16, 16)


def test_what_must_be_zero_at_the_launch_is_named_in_the_plan():
    p = plan([640], 1, 2, 128, 128, schedule="chunk-parallel")
    assert [slot.name for slot in p.workspace if slot.zeroed] == ["sync_flags", "zero_rows"]
    handover = p.workspace[-1]
    assert handover.name == "handover" and handover.bytes <= 36 * 1024 * 2 * (640 // 64 + 1)
