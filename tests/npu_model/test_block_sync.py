# SPDX-License-Identifier: Apache-2.0
"""IBSet, IBWait and SyncAll: values, edges, deadlocks, and cycles against closed forms."""

import struct

import numpy as np
import pytest
from chunk_gdr import model

ELEMS = 64
FLAG_BYTES = 32
# item: (pessimistic, optimistic); typed in here, not read from the model
L2_RATE, GM_LATENCY, BURST = 114, (700, 500), (128, 32)
ISSUE, FLAG, SCALAR_UB = (3, 1), 1, (15, 10)
VECTOR = [8192 / 64 + startup + visible for startup, visible in ((4, 30), (1, 20))]  # a delay of the kernels
PARAMS = ("pessimistic", "optimistic")
BOTH = pytest.mark.parametrize("params", [0, 1], ids=PARAMS)


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / "block_sync.cpp")


def launch(lib, entry, args, variant, rounds=1, **options):
    return model.run(lib, entry, args, tiling=struct.pack("<II", variant, rounds), **options)


def ring_args(rounds):
    x = np.arange(rounds * ELEMS, dtype=np.float32)
    x.flags.writeable = False
    return {
        "x": x,
        "slots": np.full(3 * ELEMS, np.nan, np.float32),
        "out": np.full(rounds * ELEMS, np.nan, np.float32),
        "flags": np.zeros((rounds + 2) * 2 * 8, np.int32),
    }


@pytest.mark.parametrize("execution", ["program", "adversarial"])
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("variant", [0, 4], ids=["three-slots", "slots-given-back"])
def test_ring(lib, variant, threads, execution):
    args = ring_args(9)
    report = launch(lib, "ring", args, variant, 9, block_num=2, threads=threads, execution=execution, seed=threads)
    assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text
    np.testing.assert_array_equal(args["out"], args["x"])
    assert not args["flags"].any()  # all consumed
    assert report.cycles == launch(lib, "ring", ring_args(9), variant, 9, block_num=2).cycles


@pytest.mark.parametrize("variant", [1, 2, 3], ids=["two-slots", "no-back-edge", "no-sync"])
def test_ring_without_its_edges(lib, find, variant):
    report = launch(lib, "ring", ring_args(9), variant, 9, block_num=2)
    found = find(report, "GmOverlap", earlier="MTE3 DataCopy", access="MTE2 DataCopy", memory="GM")
    assert found and {item["access"]["buffer"] for item in found} == {"slots"}, report.text
    assert report.errors == sum(item["count"] for item in found)


def test_ring_of_one_lap_needs_no_back_edge(lib):
    """The first two rounds use each slot once: what is reported above is the back edge and nothing else."""
    for variant, rounds in ((1, 2), (2, 3)):
        report = launch(lib, "ring", ring_args(rounds), variant, rounds, block_num=2)
        assert report.errors == 0, report.text


def stuck(lib, variant, rounds=1, blocks=2, flags=None, threads=0, **options):
    args = {"flags": np.zeros(16 * 8, np.int32) if flags is None else flags, "meeting": np.zeros(8 * 8, np.int32)}
    return launch(lib, "stuck", args, variant, rounds, block_num=blocks, threads=threads, **options)


DEADLOCKS = [
    (0, "IBWait", 0, ["waits in vain for flag (blockIdx 1, eventID 0) to be set by an IBSet: block(s) 1 ended"]),
    (1, "IBSet", 0, ["waits in vain for an IBWait to clear flag (blockIdx 1, eventID 0), which block 0 set at", "block(s) 1 ended"]),
    (
        2,
        "IBSet",
        0,
        [
            "waits in vain for an IBWait to clear flag (blockIdx 0, eventID 0), which block 0 set at",
            "block 1 waits in IBSet at",
            "for an IBWait to clear flag (blockIdx 1, eventID 0), which block 1 set at",
        ],
    ),
    (2, "IBSet", 1, ["for an IBWait to clear flag (blockIdx 1, eventID 0)", "block 0 waits in IBSet at"]),
    (3, "IBWait", 0, ["waits in vain for flag (blockIdx 1, eventID 0) to be set", "block 1 waits in SyncAll at"]),
    (3, "SyncAll", 1, ["block 0 waits in IBWait at", "for flag (blockIdx 1, eventID 0) to be set"]),
]


@pytest.mark.parametrize("variant, op, block, texts", DEADLOCKS, ids=[f"{v}-block{b}" for v, _, b, _ in DEADLOCKS])
def test_deadlocks_are_explained(lib, find, variant, op, block, texts):
    reports = [stuck(lib, variant, threads=threads) for threads in (1, 2, 8)]
    found = [item for item in find(reports[0], "Deadlock", access=f"S {op}") if item["access"]["block"] == block]
    assert found, reports[0].text
    assert all(text in found[0]["text"] for text in texts), found[0]["text"]
    assert f"block {block}: deadlock: {op} waits" in reports[0].error or block == 1
    assert all(report.hazards == reports[0].hazards for report in reports)


@pytest.mark.parametrize("variant, call", [(4, "IBSet"), (5, "IBWait"), (6, "IBWait")], ids=["two-set", "two-wait", "set-back"])
def test_a_flag_that_either_block_may_get_first(lib, find, variant, call):
    reports = [stuck(lib, variant, blocks=2 if variant == 6 else 3, threads=threads) for threads in (1, 2, 8)]
    found = find(reports[0], "GmOverlap", access=f"S {call}", earlier=f"S {call}", text="nothing orders them")
    assert found, reports[0].text
    assert found[0]["access"]["block"] != found[0]["earlier"]["block"]
    assert all(report.hazards == reports[0].hazards and report.cycles == reports[0].cycles for report in reports)


def test_a_flag_that_changes_hands_in_order(lib):
    report = stuck(lib, 10, blocks=3)
    assert (report.errors, report.error) == (0, ""), report.text


@pytest.mark.parametrize("value", [1, 7, -1])
@pytest.mark.parametrize("variant, call, index", [(0, "IBWait", 1), (1, "IBSet", 1)])
def test_flags_start_at_zero(lib, find, variant, call, index, value):
    flags = np.zeros(16 * 8, np.int32)
    flags[8 * index] = value
    report = stuck(lib, variant, flags=flags)
    text = f"flag (blockIdx {index}, eventID 0) holds {value} in GM instead of 0, which it must hold when the kernel starts"
    assert find(report, "Param", access=f"S {call}", text=text), report.text
    assert text in report.error and not find(report, "Deadlock")


def test_flags_hold_what_was_set(lib, find):
    report = stuck(lib, 7)
    assert find(report, "Param", access="S IBWait", text="holds 7 in GM instead of 1, which the IBSet at"), report.text
    assert find(report, "GmOverlap", memory="GM") == []  # SyncAll orders the two; the value is what is wrong


def test_flags_of_sync_all_are_its_own(lib, find):
    report = stuck(lib, 11)
    assert find(report, "Param", access="S SyncAll", text="the flag of block 1 holds 0 instead of 1"), report.text


def test_sync_all_on_two_workspaces(lib, find):
    report = stuck(lib, 12)
    assert find(report, "Param", access="S SyncAll", text="blocks use different workspaces"), report.text


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_first_sync_all_still_reads_its_scratch(lib, find, rounds):
    report = stuck(lib, 13, rounds)
    found = find(report, "Sync1", earlier="MTE3 DataCopy", access="V Duplicate", memory="UB")
    assert bool(found) == (rounds == 1) == bool(report.errors), report.text
    if found:
        assert "MTE3 -> V" in found[0]["missing"]


def test_sync_all_wants_fresh_flags(lib, find):
    report = launch(lib, "cost", {"flags": np.full(64, 3, np.int32)}, 4, block_num=2)
    assert find(report, "Param", access="S SyncAll", text="must hold zeros before the first SyncAll"), report.text


@pytest.mark.parametrize("threads", [1, 2])
def test_who_waits_for_a_block_that_stopped(lib, find, threads):
    flags = np.zeros(64, np.int32)
    flags[8] = 3
    report = launch(lib, "cost", {"flags": flags}, 4, block_num=3, threads=threads)
    assert find(report, "Param", access="S SyncAll", text="the flag of block 1 holds 3 instead of 0"), report.text
    assert find(report, "Deadlock", access="S SyncAll", text="SyncAll waits in vain for the others: block(s) 1 stopped at an error")


def test_flag_outside_the_workspace(lib, find):
    report = stuck(lib, 8)
    assert find(report, "Param", access="S IBSet", text="flag (blockIdx 2, eventID 0): blockIdx must lie in 0..1"), report.text
    report = stuck(lib, 9)
    text = "flag (blockIdx 1, eventID 8) lies at byte 544 of GM argument 'flags', which has 512"
    assert find(report, "Read3", access="S IBWait", text=text), report.text


@pytest.mark.parametrize("variant, call", [(0, "IBWait"), (1, "IBSet")])
def test_more_blocks_than_cores(lib, find, variant, call):
    report = stuck(lib, variant, blocks=9)
    assert find(report, "Deadlock", access=f"S {call}", text=f"{call} with 9 blocks on 8 cores"), report.text


# Cycles. All flags used below share a line that the L2 holds after the first copy.


def copy_cycles(flags, params):
    bursts = -(-flags * FLAG_BYTES // BURST[params])
    return bursts * BURST[params] / L2_RATE + GM_LATENCY[params]


def call_cycles(params):
    """IBSet or IBWait from the moment the flag is what it polls for: load it, S reads and writes it, store it."""
    issue = ISSUE[params]
    return (issue + copy_cycles(1, params)) + 2 * SCALAR_UB[params] + 2 * FLAG + (issue + copy_cycles(1, params))


def sync_all_cycles(blocks, params):
    issue, scalar = ISSUE[params], SCALAR_UB[params]
    own = (issue + copy_cycles(1, params)) + 2 * scalar + 2 * FLAG + (issue + copy_cycles(1, params)) + FLAG
    poll = (issue + copy_cycles(blocks, params)) + blocks * scalar + 2 * FLAG
    return issue + own + poll


def per_round(lib, variant, params, **options):
    def cycles(rounds):
        report = launch(lib, "cost", {"flags": np.zeros(64, np.int32)}, variant, rounds, params=PARAMS[params], **options)
        assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text
        return report.cycles

    return (cycles(20) - cycles(4)) / 16


def block_cycles(lib, variant, params, rounds=1, **options):
    report = launch(lib, "cost", {"flags": np.zeros(64, np.int32)}, variant, rounds, params=PARAMS[params], **options)
    assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text
    return [block["cycles"] for block in report.to_dict()["blocks"]]


@BOTH
def test_a_call_that_need_not_wait(lib, params):
    assert per_round(lib, 0, params, block_num=1) == pytest.approx(2 * (ISSUE[params] + call_cycles(params)), rel=1e-6)


@BOTH
def test_the_barrier_stands_before_the_poll(lib, params):
    """An IBWait behind a vector instruction: the poll does not start before that has finished."""
    longer = per_round(lib, 6, params, block_num=1) - per_round(lib, 0, params, block_num=1)
    # The instruction's issue takes the place of the barrier's; setting and resetting the mask takes S some cycles more.
    assert VECTOR[params] <= longer <= VECTOR[params] + 5


@BOTH
def test_wait_for_a_late_set(lib, params):
    """max(own, the setter's store) + own poll and store."""
    setter, waiter = block_cycles(lib, 2, params, block_num=2)
    line_not_in_l2 = BURST[params] / 17 - BURST[params] / L2_RATE
    assert waiter - setter == pytest.approx(call_cycles(params) + line_not_in_l2, rel=1e-6)


@BOTH
def test_wait_for_an_early_set(lib, params):
    """The waiter comes late and loses nothing: as if it set the flag itself beforehand."""
    _, waiter = block_cycles(lib, 3, params, block_num=2)
    _, idle = block_cycles(lib, 3, params, rounds=0, block_num=2)
    line_not_in_l2 = BURST[params] / 17 - BURST[params] / L2_RATE
    assert waiter - idle == pytest.approx(call_cycles(params) + line_not_in_l2, abs=2 * ISSUE[params])


@BOTH
def test_a_set_waits_for_the_last_one_to_be_consumed(lib, params):
    """Neither overtakes the other, so a round of set and wait costs both, one after the other."""
    assert per_round(lib, 1, params, block_num=2) == pytest.approx(2 * call_cycles(params), rel=1e-6)


@BOTH
@pytest.mark.parametrize("blocks", [1, 2, 5, 8])
def test_sync_all(lib, blocks, params):
    assert per_round(lib, 4, params, block_num=blocks) == pytest.approx(sync_all_cycles(blocks, params), rel=1e-6)


@BOTH
def test_the_first_sync_all_stores_its_flag_twice(lib, params):
    first, second = (block_cycles(lib, 4, params, rounds=n, block_num=4)[0] for n in (1, 2))
    none = block_cycles(lib, 4, params, rounds=0, block_num=4)[0]
    issue, scalar = ISSUE[params], SCALAR_UB[params]
    line_not_in_l2 = BURST[params] / 17 - BURST[params] / L2_RATE
    poll = issue + copy_cycles(4, params)
    own = issue + 2 * issue + 2 * (copy_cycles(1, params)) + 2 * scalar + 3 * FLAG + line_not_in_l2
    # The second store is in flight when SyncAll returns; the end of the kernel, or the next barrier, waits for it.
    assert first - none == pytest.approx(own + poll + scalar + 2 * FLAG + issue + copy_cycles(1, params), abs=2 * issue + 3 * BURST[params] / 17)
    assert second > first


@BOTH
def test_all_wait_for_the_last(lib, params):
    *others, last = block_cycles(lib, 5, params, block_num=4, rounds=3)
    # The last one's MTE2 spends a cycle on the flag that says its store is done, the others' have done so long ago.
    assert others == pytest.approx([last - FLAG] * 3)
    ahead = block_cycles(lib, 4, params, block_num=4, rounds=3)[0]
    assert last - ahead == pytest.approx(64 * VECTOR[params], rel=0.01)


def test_waiting_for_others_is_on_the_critical_path(lib):
    report = launch(lib, "cost", {"flags": np.zeros(64, np.int32)}, 2, block_num=2)
    path = report.to_dict()["critical_path"]
    assert path["other_blocks"]["S"] > 64 * VECTOR[0]
    assert path["cycles"] == pytest.approx(report.cycles)
