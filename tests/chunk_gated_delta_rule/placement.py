# SPDX-License-Identifier: Apache-2.0
"""Where the plan puts the kernel's buffers: on the chip, aligned, and never two at a time on the same bytes."""

import itertools

from chunk_gdr.tiling import CAPACITY_BYTES, Buffer, Plan

ALIGN_BYTES = {"UB": 32, "L1": 32, "L0A": 512, "L0B": 512, "L0C": 1024}


def may_share_bytes(p: Plan, a: Buffer, b: Buffer) -> bool:
    """Lives that do not meet follow one another in one lane only, that of a row's first stage: stages of two lanes interleave."""
    same_lane = p.stage_lanes[a.first_stage] == p.stage_lanes[b.first_stage]
    both_live = any(a.lives_in(stage) and b.lives_in(stage) for stage in range(len(p.stages)))
    return a.memory != b.memory or (same_lane and not both_live)


def assert_buffers_fit(p: Plan) -> None:
    assert {b.memory for b in p.buffers} == set(CAPACITY_BYTES)
    for b in p.buffers:
        assert 0 <= b.offset_bytes and 0 < b.bytes and b.offset_bytes + b.bytes <= CAPACITY_BYTES[b.memory], b
        assert b.offset_bytes % ALIGN_BYTES[b.memory] == 0, b
    for a, b in itertools.combinations(p.buffers, 2):
        apart = a.offset_bytes + a.bytes <= b.offset_bytes or b.offset_bytes + b.bytes <= a.offset_bytes
        assert apart or may_share_bytes(p, a, b), (a, b)
    for memory, capacity in CAPACITY_BYTES.items():
        assert max(p.occupancy(memory).values()) <= p.high_water_bytes(memory) <= capacity
