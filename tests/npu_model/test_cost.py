# SPDX-License-Identifier: Apache-2.0
"""Model cycles of micro-kernels against closed forms from the table of cost parameters (typed in here, not read from the model)."""

import json
import struct

import numpy as np
import pytest
from chunk_gdr import model

ROUNDS = 200
# item: (pessimistic, optimistic)
VECTOR_STARTUP, VECTOR_VISIBLE, RW_CONFLICT = (4, 1), (30, 20), (1, 0)
MMAD, MTE1, UB_L1 = (15, 7), (10, 5), (30, 15)
L0A, L0B = (2, 1), (4, 2)
GM_RATE, L2_RATE, GM_LATENCY, BURST = 17, 114, (700, 500), (128, 32)
SCALAR_UB, GM_MISS, GM_HIT, FLAG = (15, 10), (100, 50), 2, 1


@pytest.fixture(scope="module")
def lib(kernel_dir):
    return model.build(kernel_dir / "cost.cpp")


@pytest.fixture(scope="module")
def per_round(lib):
    """Cycles one more round costs: the start and the end of the kernel cancel."""

    def measure(entry, args, variant, params):
        def cycles(rounds):
            report = model.run(lib, entry, args, tiling=struct.pack("<II", variant, rounds), params=("pessimistic", "optimistic")[params])
            assert (report.errors, report.auto_sync, report.error) == (0, 0, ""), report.text
            return report.cycles

        return (cycles(ROUNDS + 16) - cycles(16)) / ROUNDS

    return measure


def gm(elements):
    array = np.zeros(elements, np.float32)
    array.flags.writeable = False
    return {"x": array}


BOTH = pytest.mark.parametrize("params", [0, 1], ids=["pessimistic", "optimistic"])


@BOTH
@pytest.mark.parametrize(
    "variant, weight, share, same_bank",
    [(0, 1, 1, False), (1, 4, 1, False), (2, 1, 1, True), (3, 1, 8, False), (4, 1, 4, False), (5, 1, 1, False), (6, 1, 2, False), (7, 1, 1, False), (8, 1, 1, False)],
    ids=["simple", "exp", "in-place", "stride-512", "stride-256", "widening", "two-sources", "two-phases", "square"],
)
def test_vector_chain(per_round, variant, weight, share, same_bank, params):
    factor = share + (RW_CONFLICT[params] if same_bank else 0)
    expected = 32 * weight * factor + VECTOR_STARTUP[params] + VECTOR_VISIBLE[params]
    assert per_round("vector_chain", {}, variant, params) == pytest.approx(expected, rel=0.02)


@BOTH
def test_loads_are_bound_by_bandwidth_once_latency_overlaps(lib, params):
    bytes_each = 4096 * 4
    rounds = 8
    report = model.run(lib, "gm_loads", gm(4096 * rounds), tiling=struct.pack("<II", 0, rounds), params=("pessimistic", "optimistic")[params])
    assert report.cycles == pytest.approx(rounds * bytes_each / GM_RATE + GM_LATENCY[params], rel=0.02)


@BOTH
@pytest.mark.parametrize("variant, rate, bursts", [(0, GM_RATE, 1), (1, GM_RATE, 512), (2, L2_RATE, 1)], ids=["burst", "rows", "l2"])
def test_load(per_round, variant, rate, bursts, params):
    moved = 4096 * 4 if bursts == 1 else bursts * BURST[params]
    # From the ninth load on a barrier exposes the latency.
    expected = moved / rate + GM_LATENCY[params]
    assert per_round("gm_loads", gm(4096 * 8 * (ROUNDS + 16)), variant, params) == pytest.approx(expected, rel=0.02)


@BOTH
def test_mmad_chain(per_round, params):
    args = {"x": np.zeros(4096, np.float16)}
    assert per_round("cube_chain", args, 0, params) == pytest.approx(64 + MMAD[params], rel=0.02)


@BOTH
def test_load_data(per_round, params):
    args = {"x": np.zeros(4096, np.float16)}
    expected = 16 * L0A[params] + MTE1[params] + 16 * L0B[params] + MTE1[params]
    assert per_round("cube_chain", args, 1, params) == pytest.approx(expected, rel=0.02)


@BOTH
def test_load_multiply_loop(per_round, params):
    """Nothing overlaps: set and wait on both queues, twice, stand between the loads and the product."""
    args = {"x": np.zeros(4096, np.float16)}
    loads = 16 * (L0A[params] + L0B[params]) + 2 * MTE1[params]
    assert per_round("cube_chain", args, 2, params) == pytest.approx(loads + 64 + MMAD[params] + 4 * FLAG, rel=0.02)


@BOTH
def test_ping_pong(per_round, params):
    elements = 8192 * (ROUNDS + 16)
    args = {**gm(elements), "z": np.zeros(elements, np.float32)}
    one_way = 8192 * 4 / GM_RATE
    # With two buffers, two rounds share the time one buffer takes for load, latency, store, latency.
    assert per_round("ping_pong", args, 0, params) == pytest.approx(one_way + GM_LATENCY[params], rel=0.02)
    assert per_round("ping_pong", args, 1, params) == pytest.approx(2 * (one_way + GM_LATENCY[params]), rel=0.02)


@BOTH
def test_small_moves(per_round, params):
    args = gm(16 * (ROUNDS + 16))
    assert per_round("small_moves", args, 0, params) == pytest.approx(64 + UB_L1[params], rel=0.02)
    assert per_round("small_moves", args, 1, params) == pytest.approx(256 + UB_L1[params], rel=0.02)
    assert per_round("small_moves", args, 2, params) == pytest.approx(SCALAR_UB[params], rel=0.02)
    assert per_round("small_moves", args, 3, params) == pytest.approx(GM_MISS[params], rel=0.02)
    assert per_round("small_moves", args, 4, params) == pytest.approx(GM_HIT, rel=0.02)


def test_waits_name_the_culprit(lib):
    args = {"x": np.zeros(8192 * 20, np.float32), "z": np.zeros(8192 * 20, np.float32)}
    args["x"].flags.writeable = False
    report = model.run(lib, "ping_pong", args, tiling=struct.pack("<II", 1, 20))
    queues = report.to_dict()["blocks"][0]["queues"]
    assert queues["MTE3"]["wait_for"]["MTE2"] > 0.4 * report.cycles
    assert queues["MTE2"]["wait_for"]["MTE3"] > 0.4 * report.cycles
    assert queues["V"]["busy"] == 0 and queues["MTE2"]["instructions"] == 20
    counts = {(row["op"], row["queue"]): row["count"] for row in report.to_dict()["instructions"]}
    assert counts["DataCopy", "MTE2"] == counts["DataCopy", "MTE3"] == 20
    traffic = report.to_dict()["traffic"]
    assert traffic["gm_read_bytes"] == traffic["gm_write_bytes"] == 20 * 8192 * 4


def path_of(report):
    return report.to_dict()["critical_path"]


def parts(path, kind):
    return {queue: cycles for queue, cycles in path[kind].items() if cycles}


@BOTH
def test_critical_path_of_a_vector_chain(lib, params):
    """All of it but the start: the queue is busy, then every result becomes visible."""
    rounds = 50
    report = model.run(lib, "vector_chain", {}, tiling=struct.pack("<II", 0, rounds), params=("pessimistic", "optimistic")[params])
    path = path_of(report)
    assert path["cycles"] == pytest.approx(report.cycles, rel=1e-6)
    # Two fills of 256 repeats stand before the rounds.
    fills = 2 * (256 + VECTOR_STARTUP[params])
    assert parts(path, "busy")["V"] == pytest.approx(fills + rounds * (32 + VECTOR_STARTUP[params]))
    assert parts(path, "latency") == {"V": pytest.approx((1 + rounds) * VECTOR_VISIBLE[params])}
    assert parts(path, "other_blocks") == {}
    muls = path["lines"][0]
    assert muls["instruction"] == "V Muls"
    assert muls["cycles"] == pytest.approx(rounds * (32 + VECTOR_STARTUP[params] + VECTOR_VISIBLE[params]))
    assert "cost.cpp:" in muls["place"]


@BOTH
def test_critical_path_alternates_between_queues(lib, params):
    """One buffer: load, latency, store, latency; nothing else is on the path but flags and the issue of the first load."""
    rounds = 20
    args = {**gm(8192 * rounds), "z": np.zeros(8192 * rounds, np.float32)}
    report = model.run(lib, "ping_pong", args, tiling=struct.pack("<II", 1, rounds), params=("pessimistic", "optimistic")[params])
    path = path_of(report)
    assert path["cycles"] == pytest.approx(report.cycles, rel=1e-6)
    moved = rounds * 8192 * 4 / GM_RATE
    assert path["busy"]["MTE2"] == pytest.approx(moved, rel=0.01) and path["busy"]["MTE3"] == pytest.approx(moved, rel=0.01)
    assert parts(path, "latency") == {queue: pytest.approx(rounds * GM_LATENCY[params]) for queue in ("MTE2", "MTE3")}


def test_critical_path_leaves_out_what_overlaps(lib):
    """Two buffers: the stores hide behind the loads, or the loads behind the stores; never both on the path."""
    rounds = 40
    args = {**gm(8192 * rounds), "z": np.zeros(8192 * rounds, np.float32)}
    report = model.run(lib, "ping_pong", args, tiling=struct.pack("<II", 0, rounds))
    path = path_of(report)
    assert path["cycles"] == pytest.approx(report.cycles, rel=1e-6)
    moved = 2 * rounds * 8192 * 4 / GM_RATE
    assert path["busy"]["MTE2"] + path["busy"]["MTE3"] < 0.55 * moved
    total = sum(sum(stage[kind].values()) for stage in path["stages"] for kind in ("busy", "latency", "other_blocks"))
    assert total == pytest.approx(path["cycles"])


def test_profile_files(lib, tmp_path):
    args = {"x": np.zeros(4096, np.float16)}
    report = model.run(lib, "cube_chain", args, tiling=struct.pack("<II", 2, 3), trace=True)
    report.write_profile(tmp_path)
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = trace["traceEvents"]
    assert trace["schemaVersion"] == 2 and trace["profilingType"] == "op"
    mmads = [event for event in events if event["name"] == "Mmad"]
    assert len(mmads) == 3 and {event["tid"] for event in mmads} == {"CUBE"} and {event["pid"] for event in mmads} == {"core0"}
    assert mmads[0]["dur"] == pytest.approx((64 + MMAD[0]) / 1060, rel=1e-6)
    flows = [event for event in events if event["name"] == "flow"]
    assert len(flows) == 2 * report.to_dict()["traffic"]["flag_waits"]
    assert {event["cat"] for event in flows} >= {"MTE1ToCUBE", "CUBEToMTE1"}
    starts = {event["id"]: event["ts"] for event in flows if event["ph"] == "s"}
    assert all(event["ts"] >= starts[event["id"]] for event in flows if event["ph"] == "t")
    rows = (tmp_path / "core0" / "core0_instr_exe.csv").read_text().splitlines()
    assert any(row.startswith("Mmad,") and ",CUBE,3,237.0," in row for row in rows)
