# SPDX-License-Identifier: Apache-2.0
"""trace.json has the structure that trace viewers expect, and says the same as the report."""

import json
import re
import struct
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from chunk_gdr import cases, model, profile, runner

EXAMPLES = Path(__file__).parent / "examples"
LANES = ["SCALAR", "VECTOR", "CUBE", "MTE1", "MTE2", "MTE3"]
MHZ = 1060


def vector_add():
    n = 60_000
    arrays = {"x": np.ones(n, np.float32), "y": np.ones(n, np.float32), "z": np.zeros(n, np.float32)}
    lib = model.build(EXAMPLES / "vector_add.cpp")
    # More blocks than cores: blocks of one core follow each other on its lanes.
    return model.run(lib, "vector_add", arrays, tiling=struct.pack("<I", n), block_num=11, trace=True)


def operator():
    inputs = cases.make_inputs(cases.Case(lengths=(150, 3), nk=1, nv=2, dk=24, dv=40))
    call = runner.call_operator(inputs, "model", trace=True)
    assert call.error is None
    return model.last_report()


@pytest.fixture(scope="module", params=[vector_add, operator], ids=["vector_add", "operator"])
def report(request):
    return request.param()


@pytest.fixture(scope="module")
def path(report, tmp_path_factory):
    return report.write_profile(tmp_path_factory.mktemp("profile")) / "trace.json"


@pytest.fixture(scope="module")
def trace(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def events(trace):
    return trace["traceEvents"]


def lanes(events, phases):
    """{(pid, tid): events of these phases, in the file's order}"""
    found = defaultdict(list)
    for event in events:
        if event["ph"] in phases:
            found[event["pid"], event["tid"]].append(event)
    return found


def test_head(trace):
    head = {name: value for name, value in trace.items() if name != "traceEvents"}
    assert head == {"schemaVersion": 2, "displayTimeUnit": "ns", "profilingType": "op"}
    assert isinstance(trace["traceEvents"], list) and trace["traceEvents"]


def test_fields_of_every_event(events):
    needed = {
        "X": {"name", "ph", "ts", "dur", "pid", "tid", "cname", "args"},
        "B": {"name", "ph", "ts", "pid", "tid", "id", "args"},
        "E": {"name", "ph", "ts", "pid", "tid", "id", "args"},
        "s": {"name", "ph", "ts", "pid", "tid", "id", "cat"},
        "t": {"name", "ph", "ts", "pid", "tid", "id", "cat"},
    }
    assert Counter(event["ph"] for event in events).keys() == {*needed, "M"}
    for event in events:
        assert re.fullmatch(r"core[0-7]", event["pid"])
        if event["ph"] == "M":
            continue
        assert event.keys() == needed[event["ph"]], event
        assert event["tid"] in LANES and isinstance(event["name"], str) and event["name"]
        assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["args"].keys() == {"pc_addr", "code", "detail", "process_bytes"}
            assert re.fullmatch(r"0x[0-9a-f]+", event["args"]["pc_addr"]) and ":" in event["args"]["code"]


def test_metadata_orders_cores_and_lanes(events, report):
    metadata = [event for event in events if event["ph"] == "M"]
    assert {event["name"] for event in metadata} == {"process_sort_index", "thread_sort_index"}
    cores = len(report.to_dict()["model_cycles"]["cores"])
    processes = [(e["pid"], e["args"]["sort_index"]) for e in metadata if e["name"] == "process_sort_index"]
    assert processes == [(f"core{i}", i) for i in range(cores)]
    threads = [(e["pid"], e["tid"], e["args"]["sort_index"]) for e in metadata if e["name"] == "thread_sort_index"]
    assert threads == [(f"core{c}", lane, i) for c in range(cores) for i, lane in enumerate(LANES)]


def test_begins_and_ends_pair_up(events, report):
    waits = 0
    for lane in lanes(events, "BE").values():
        for begin, end in zip(lane[::2], lane[1::2], strict=True):
            assert (begin["ph"], end["ph"]) == ("B", "E")
            assert begin["name"] == end["name"] in ("SetFlag", "WaitFlag")
            assert begin["id"] == end["id"] and 0 <= begin["id"] < 8 and begin["ts"] <= end["ts"]
            waits += begin["name"] == "WaitFlag"
    assert waits == report.to_dict()["traffic"]["flag_waits"] > 0


def test_arrows_pair_up(events, report):
    arrows = defaultdict(list)
    for event in events:
        if event["ph"] in "st":
            assert event["name"] == "flow"
            arrows[event["id"]].append(event)
    assert len(arrows) == report.to_dict()["traffic"]["flag_waits"]
    ends = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "E"}
    for start, stop in arrows.values():
        assert (start["ph"], stop["ph"]) == ("s", "t") and start["pid"] == stop["pid"] and start["ts"] <= stop["ts"]
        assert start["cat"] == stop["cat"] == f"{start['tid']}To{stop['tid']}"
        assert (stop["pid"], stop["tid"], stop["ts"]) in ends, "an arrow ends where a wait does"


def test_instructions_of_a_lane_do_not_overlap(events):
    for lane in lanes(events, "X").values():
        # A barrier is drawn one cycle long at its completion, although the next instruction starts there.
        lane = [event for event in lane if event["name"] != "PipeBarrier"]
        for before, after in zip(lane, lane[1:], strict=False):
            assert after["ts"] >= before["ts"] + before["dur"] - 1e-3 / MHZ


def test_times_agree_with_the_report(path, report):
    trace = profile.read_trace(path)
    dumped = report.to_dict()
    for index, core in enumerate(trace.cores):
        use = profile.of_model(dumped, trace).cores[index]
        assert core.cycles <= use.cycles + 1
        for queue, lane in core.lanes.items():
            slices = [item for item in lane if isinstance(item, profile.trace.Slice)]
            busy = sum(item.end - item.start for item in slices if not item.is_barrier)
            if queue != "S":
                assert busy == pytest.approx(use.queues[queue].busy, abs=1)
            flags = len(lane) - len(slices)
            stalls = defaultdict(float)
            for start, end, why, _ in core.stalls(queue):
                stalls[why] += end - start
            for other, cycles in use.queues[queue].waits_for.items():
                if other in (queue, "S") or queue == "S":
                    continue
                # What the report has more is the wait at the kernel's end, which the trace shows on S only.
                assert stalls[other] <= cycles + flags, (index, queue, other)
                if lane and sum(block["block"] % dumped["cores"] == index for block in dumped["blocks"]) == 1:
                    assert cycles <= stalls[other] + use.cycles - lane[-1].end + flags, (index, queue, other)


def test_csv_tables_agree_with_the_trace(path, events):
    for core in {event["pid"] for event in events}:
        header, *rows = (path.parent / core / f"{core}_instr_exe.csv").read_text().splitlines()
        assert header == "instr,addr,pipe,call_count,cycles,running_time(us),detail"
        counts = Counter()
        for row in rows:
            name, _, lane, count, _, _, code = row.split(",", 6)
            counts[name, lane, code.strip('"')] += int(count)
        drawn = Counter(
            (e["name"], e["tid"], e["args"]["code"]) for e in events if e["pid"] == core and e["ph"] == "X"
        )
        assert drawn and all(counts[key] == count for key, count in drawn.items())
