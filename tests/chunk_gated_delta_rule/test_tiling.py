# SPDX-License-Identifier: Apache-2.0
"""chunk_gdr.tiling: work reaches every core once, buffers that live together do not overlap, limits have messages."""

import itertools
import json
import random
import re

import pytest

from chunk_gdr import _C, tiling
from chunk_gdr.tiling import plan

from .placement import assert_buffers_fit, may_share_bytes

DIMS = (1, 9, 33, 60, 64, 65, 80, 81, 96, 97, 128)


def covered(p):
    """How often each (sequence, v-head, column) is somebody's work."""
    seen = {}
    for item in itertools.chain.from_iterable(p.cores):
        for column in range(item.v_begin, item.v_begin + item.v_cols):
            key = (item.sequence, item.v_head, column)
            seen[key] = seen.get(key, 0) + 1
    return seen


@pytest.mark.parametrize("cores", [1, 3, 8])
@pytest.mark.parametrize(
    "lengths, nv",
    [((1,), 1), ((100,), 3), ((3, 0, 5), 2), ((0, 0), 2), ((2049, 1, 1, 64), 4), ((7,) * 19, 1), ((640,), 17)],
)
def test_every_column_of_every_head_has_one_core(lengths, nv, cores):
    p = plan(lengths, 1, nv, 48, 128, cores=cores)
    assert len(p.cores) == p.block_num <= cores
    expected = {(b, h, c): 1 for b in range(len(lengths)) for h in range(nv) for c in range(128)}
    assert covered(p) == expected
    starts = [sum(lengths[:b]) for b in range(len(lengths))]
    for item in itertools.chain.from_iterable(p.cores):
        assert item.length == lengths[item.sequence] and item.token_begin == starts[item.sequence]


@pytest.mark.parametrize("nv, v_tiles, cores", [(1, 8, 8), (2, 4, 8), (3, 2, 6), (4, 2, 8), (7, 1, 7), (8, 1, 8), (9, 1, 8)])
def test_slices_where_heads_leave_cores_idle(nv, v_tiles, cores):
    """As many as let the slowest core end first: nine items on eight cores, as three heads in three slices, would not."""
    p = plan([640], nv, nv, 128, 128)
    assert (p.v_tiles, p.block_num) == (v_tiles, cores) and all(p.cores)
    assert max(map(len, p.cores)) == -(-nv * v_tiles // 8)
    assert plan([640] * 8, nv, nv, 128, 128).v_tiles == 1


def loads(p):
    return [sum(p.weight(item) for item in items) for items in p.cores]


@pytest.mark.parametrize("nv", [1, 2, 3, 4, 8, 12, 32])
def test_no_core_is_an_item_behind_the_mean(nv):
    rng = random.Random(nv)
    for _ in range(50):
        lengths = [rng.choice((0, 1, 64, rng.randrange(300), rng.randrange(5000))) for _ in range(rng.randrange(1, 40))]
        cores = rng.randrange(1, 9)
        p = plan(lengths, 1, nv, 128, 128, cores=cores)
        load = loads(p)
        largest = max(p.weight(item) for item in itertools.chain.from_iterable(p.cores))
        assert max(load) <= sum(load) / len(load) + largest, (lengths, cores)


def test_mixed_lengths_are_balanced():
    load = loads(plan((2049, 1011, 513, 256, 128, 65, 32, 16, 8, 4, 5, 1), 16, 32, 128, 128))
    assert sum(load) / len(load) / max(load) > 0.99


@pytest.mark.parametrize("nv, cores, pairs", [(32, 8, 16), (12, 8, 4), (12, 5, 5), (6, 8, 0), (20, 8, 8), (32, 5, 14), (2, 1, 1)])
def test_v_heads_of_a_k_head_stay_together(nv, cores, pairs):
    """`pairs` of the nv / 2 pairs are on one core, in every sequence; as many as the numbers of items per core allow."""
    p = plan([700, 3, 0, 64, 65, 1, 1000], nv // 2, nv, 128, 128, cores=cores)
    for sequence in range(7):
        runs = [[item.v_head for item in items if item.sequence == sequence] for items in p.cores]
        assert all(run == list(range(run[0], run[0] + len(run))) for run in runs if run)
        together = sum(set(run) >= {2 * pair, 2 * pair + 1} for run in runs for pair in range(nv // 2))
        counts = sorted(len(run) for run in runs)
        assert together >= pairs, runs
        assert counts[-1] - counts[0] <= 1


def test_long_sequences_come_first():
    """Otherwise four cores would run the last, long one after their share of the others."""
    load = loads(plan([130, 40, 70] * 20 + [4000], 4, 4, 128, 128))
    assert sum(load) / len(load) / max(load) > 0.9
    p = plan([64, 640, 64], 3, 9, 128, 128)
    assert [items[0].sequence for items in p.cores] == [1] * 8
    assert [item.sequence for item in plan([64, 640, 64], 4, 8, 128, 128).cores[0]] == [0, 1, 2]


def test_thousands_of_sequences():
    rng = random.Random(0)
    p = plan([rng.randrange(200) for _ in range(3000)], 2, 4, 64, 64)
    load = loads(p)
    assert sum(load) / len(load) / max(load) > 0.99
    assert sum(map(len, p.cores)) == 3000 * 4


def test_predicted_cycles_are_the_weights_and_a_start():
    p = plan((130, 64, 1), 1, 3, 64, 64)
    starts = {cycles - load for cycles, load in zip(p.core_cycles, loads(p))}
    assert len(starts) == 1 and starts.pop() > 0 and p.predicted_cycles == max(p.core_cycles)
    assert plan((130, 64, 1), 1, 3, 64, 64, initial_state=False).item_cycles < p.item_cycles
    assert plan((130, 64, 1), 1, 3, 64, 64, chunk_state=True).chunk_cycles > p.chunk_cycles


def test_offsets_beyond_32_bits():
    """T * Nv * Dv of 8.6e10 elements: positions are exact."""
    length = 1 << 20
    p = plan([length] * 40, 8, 16, 128, 128)
    items = list(itertools.chain.from_iterable(p.cores))
    assert max(item.token_begin for item in items) == 39 * length
    assert len(items) == 40 * 16 * p.v_tiles


@pytest.mark.parametrize("dk", DIMS)
@pytest.mark.parametrize("dv", DIMS)
def test_bucket_is_the_smallest_that_fits(dk, dv):
    p = plan([64], 1, 1, dk, dv)
    assert p.bucket == min(b for b in (64, 80, 96, 128) if b >= max(dk, dv))
    assert p.tiling_key == p.bucket * 10
    assert plan([64], 1, 1, dk, dv, state_dtype="float16").tiling_key == p.bucket * 10 + 1


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
def test_buffers_fit_and_do_not_overlap_while_both_live(dim):
    assert_buffers_fit(plan([64], 1, 1, dim, dim))


def test_rows_of_two_lanes_never_share_bytes():
    """Whatever their stages: those of two lanes interleave, and those of one lane follow one another."""
    p = plan([64], 1, 1, 64, 64)
    rows = {b.name: b for b in p.buffers}
    assert len(p.stage_lanes) == len(p.stages) and list(p.stage_lanes) == sorted(p.stage_lanes)
    assert may_share_bytes(p, rows["gate_operand"], rows["out_weight"])
    assert not may_share_bytes(p, rows["out_weight"], rows["out_weight_halves"])  # both live
    assert not may_share_bytes(p, rows["gate_operand"], rows["diagonals"])  # two lanes
    assert not may_share_bytes(p, rows["gate_operand"], rows["token_vectors"])


def test_prints_what_each_core_runs():
    text = str(plan([70, 70, 0, 3, 700], 1, 8, 16, 16))
    assert "seq 0-4: head 0\n" in text and "seq 0-4: head 7\n" in text
    text = str(plan([64], 1, 4, 16, 32))
    assert "seq 0: head 0 [0:16]\n" in text and "seq 0: head 3 [16:32]\n" in text
    text = str(plan([20 * (i % 3) for i in range(300)], 1, 3, 16, 16))
    assert " more sequences\n" in text and max(map(len, text.splitlines())) < 300


def test_prints_and_dict():
    p = plan([70, 0, 3], 1, 2, 24, 40, chunk_state=True)
    text = str(p)
    for part in ("tiling key 640", "schedule", "workspace", "UB by stage", "L1 by stage", *p.stages, p.buffers[0].name):
        assert part in text
    assert json.loads(json.dumps(p.to_dict()))["bucket"] == 64


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"dk": 129}, "dk must be in 1..128, got 129"),
        ({"dv": 0}, "dv must be in 1..128, got 0"),
        ({"dk": 24.0}, "dk must be an integer, got 24.0"),
        ({"dk": True}, "dk must be an integer, got True"),
        ({"dk": "64"}, "dk must be an integer, got '64'"),
        ({"dk": 10**30}, f"dk must be in 1..128, got {10**30}"),
        ({"nv": 3}, "nv must be a multiple of nk 2, got 3"),
        ({"nk": 0}, "nk must be in 1..2147483647, got 0"),
        ({"nv": 2**40}, f"nv must be in 1..2147483647, got {2**40}"),
        ({"nv": 2**20}, "value_heads * value_dim must be at most 2^20"),
        ({"cores": 9}, "cores must be in 1..8, got 9"),
        ({"lengths": [3, -1]}, "lengths[1] must be in 0..2147483647, got -1"),
        ({"lengths": [2.5]}, "lengths[0] must be an integer, got 2.5"),
        ({"lengths": [2**80]}, f"lengths[0] must be in 0..2147483647, got {2**80}"),
        ({"lengths": [2**30, 2**30]}, "the sum of lengths must be in 0..2147483647, got 2147483648"),
        ({"state_dtype": "bfloat16"}, "state_dtype must be 'float32' or 'float16', got 'bfloat16'"),
    ],
)
def test_limits(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        tiling.plan(**({"lengths": [64], "nk": 2, "nv": 4, "dk": 64, "dv": 64} | changes))


def test_the_compiled_plan_takes_no_unknown_field():
    with pytest.raises(TypeError, match="expected fields of ProblemDesc, got .*'heads'"):
        _C.plan(total_tokens=64, heads=2)


def test_the_compiled_plan_refuses_a_core_that_is_not_there():
    problem = {"total_tokens": 64, "batch": 1, "key_heads": 1, "value_heads": 1, "key_dim": 16, "value_dim": 16, "core_count": 1}
    with pytest.raises(ValueError, match="core must be below the number of cores 1, got 1"):
        _C.items_of_core([64], 1, **problem)


@pytest.mark.parametrize(
    "lengths, got",
    [([60, 5], "a sum of 65"), ([-1, 65], "-1"), ([70, -6], "-6"), ([2**63 - 1] * 2, f"a sum of {2**63 - 1}")],
    ids=str,
)
def test_the_compiled_plan_refuses_lengths_that_do_not_fit(lengths, got):
    problem = {"total_tokens": 64, "batch": 2, "key_heads": 1, "value_heads": 1, "key_dim": 16, "value_dim": 16, "has_lengths": True}
    with pytest.raises(ValueError, match=f"lengths must be non-negative and add up to 64, got {got}$"):
        _C.items_of_core(lengths, 0, **problem)


def test_gate_rows_have_room_for_a_chunk_behind_the_last_token():
    assert [_C.gate_pitch(tokens) for tokens in (0, 1, 8, 9, 2**31 - 1)] == [64, 72, 72, 80, 2**31 + 64]


def test_the_compiled_plan_refuses_an_infinite_scale():
    problem = {"total_tokens": 64, "batch": 1, "key_heads": 1, "value_heads": 1, "key_dim": 16, "value_dim": 16, "scale": float("inf")}
    with pytest.raises(ValueError, match="scale must be finite, got inf"):
        _C.plan(**problem)
