# SPDX-License-Identifier: Apache-2.0
"""trace.json has the structure that trace viewers expect, and says the same as the report."""

import csv
import json
import re
import struct
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from chunk_gdr import cases, model, profile, runner

EXAMPLES = Path(__file__).parent / "examples"
LANES = ["SCALAR", "VECTOR", "CUBE", "MTE1", "MTE2", "MTE3", "ALL"]
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
            arguments = {"pc_addr", "code", "detail", "process_bytes"}
            # The slice of the instruction that is issued has them.
            arguments |= set() if event["name"].startswith("issue ") else {"callers"}
            assert event["dur"] >= 0 and event["args"].keys() == arguments
            assert re.fullmatch(r"0x[0-9a-f]+", event["args"]["pc_addr"])
            assert re.fullmatch(r".+:[1-9][0-9]*|end of the kernel", event["args"]["code"])
            assert re.fullmatch(r"block [0-9]+(, last to finish [A-Z1-3]+)?, (no stage|stage .+)", event["args"]["detail"])
            assert "stage -1" not in event["args"]["detail"]


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
        blocks = sum(block["block"] % dumped["cores"] == index for block in dumped["blocks"])
        for queue, lane in core.lanes.items():
            slices = [item for item in lane if isinstance(item, profile.trace.Slice)]
            busy = sum(item.end - item.start for item in slices if not item.is_barrier)
            assert busy == pytest.approx(use.queues[queue].busy, abs=1)
            flags = len(lane) - len(slices)
            stalls = defaultdict(float)
            for start, end, why, _ in core.stalls(queue):
                stalls[why] += end - start
            for other, cycles in use.queues[queue].waits_for.items():
                if other in (queue, "S"):
                    continue
                # Belong to no wait: a flag, which is one cycle long, and what S does after a block's last barrier.
                assert stalls[other] == pytest.approx(cycles, abs=flags + 6 * blocks + 0.01), (index, queue, other)


def test_csv_tables_agree_with_the_trace(path, events):
    for core in {event["pid"] for event in events}:
        header, *rows = (path.parent / core / f"{core}_instr_exe.csv").read_text().splitlines()
        assert header == "instr,addr,pipe,call_count,cycles,running_time(us),detail,callers"
        counts, cycles = Counter(), Counter()
        for name, _, lane, count, busy, _, code, callers in csv.reader(rows):
            if name.startswith("issue "):
                callers = None
            counts[name, lane, code, callers] += int(count)
            cycles[name, lane, code, callers] += float(busy)
        drawn, spent = Counter(), Counter()
        for event in events:
            if event["pid"] == core and event["ph"] == "X":
                key = (event["name"], event["tid"], event["args"]["code"], event["args"].get("callers"))
                drawn[key] += 1
                spent[key] += event["dur"] * MHZ
        assert drawn.keys() == {key for key in counts if key[0] not in ("SetFlag", "WaitFlag")}
        for key, count in drawn.items():
            # Neighbouring register writes of one line are drawn as one; a barrier is drawn one cycle long.
            assert counts[key] >= count if key[0] == "SprWrite" else counts[key] == count, key
            assert key[0] == "PipeBarrier" or cycles[key] == pytest.approx(spent[key], abs=1), key


def test_lines_are_the_sums_of_their_instructions(path, events):
    for core in {event["pid"] for event in events}:
        lines, instructions = (
            list(csv.DictReader((path.parent / core / f"{core}_{kind}_exe.csv").open())) for kind in ("code", "instr")
        )
        assert list(lines[0]) == ["code", "call_count", "cycles", "running_time(us)", "callers"]
        sums = defaultdict(float)
        for row in instructions:
            if not row["instr"].startswith("issue ") and row["instr"] not in ("SprWrite", "DataCacheCleanAndInvalid"):
                sums[row["detail"], row["callers"]] += float(row["cycles"])
        assert {(row["code"], row["callers"]): float(row["cycles"]) for row in lines} == pytest.approx(sums, abs=1)


def test_tables_and_trace_name_callers(kernel_dir, line_of, tmp_path):
    """One line of a helper, told apart by who called it."""
    source = "call_paths.cpp"
    lib = model.build(kernel_dir / source)
    x = np.arange(512, dtype=np.float32)
    report = model.run(lib, "helpers", {"x": x}, tiling=struct.pack("<I", 0), trace=True)
    path = report.write_profile(tmp_path) / "trace.json"
    first = line_of(source, "Twice(m.Get(0)")
    calls = (first, line_of(source, "Twice(m.Get(0)", after=first))
    adds = [
        f" <- {source}:{line_of(source, helper)} Twice <- {source}:{call} helpers"
        for call in calls
        for helper in ("AddOne(y, x)", "AddOne(x, y)")
    ]
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["name"] == "Adds"]
    assert sorted(e["args"]["callers"] for e in events) == sorted(adds)
    for kind, code in (("instr", "detail"), ("code", "code")):
        rows = list(csv.DictReader((path.parent / "core0" / f"core0_{kind}_exe.csv").open()))
        rows = [row for row in rows if row[code].endswith(f"{source}:{line_of(source, 'Adds(to')}")]
        assert sorted(row["callers"] for row in rows if not row.get("instr", "Adds").startswith(("issue", "Spr"))) == sorted(adds)


def test_scalar_lane(kernel_dir, tmp_path):
    """S issues, writes registers and reads; its slices fill its lane but for what it waits for."""
    lib = model.build(kernel_dir / "ub_edges.cpp")
    arrays = {"x": np.ones(4096, np.float32), "z": np.zeros(4096, np.float32)}
    report = model.run(lib, "scalar_edges", arrays, tiling=struct.pack("<I", 0), trace=True)
    path = report.write_profile(tmp_path) / "trace.json"
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("tid") == "SCALAR" and e["ph"] == "X"]
    by_name = Counter(event["name"] for event in events)
    traffic = report.to_dict()["traffic"]
    assert by_name["GetValue"] + by_name["SetValue"] == traffic["scalar_ub"] == 5
    assert by_name["issue SetFlag"] == traffic["flag_sets"] and by_name["issue WaitFlag"] == traffic["flag_waits"]
    assert by_name["issue Add"] == by_name["issue Adds"] == 1 and by_name["issue DataCopy"] == 3
    writes = sum(event["dur"] * MHZ for event in events if event["name"] == "SprWrite")
    assert writes == pytest.approx(traffic["spr_writes"])  # one cycle each
    use = profile.of_model(report.to_dict()).cores[0].queues["S"]
    assert sum(event["dur"] for event in events) * MHZ == pytest.approx(use.busy)


def test_full_barriers_stand_on_a_lane_of_their_own(kernel_dir, tmp_path):
    lib = model.build(kernel_dir / "ub_edges.cpp")
    arrays = {"x": np.ones(4096, np.float32), "z": np.zeros(4096, np.float32)}
    report = model.run(lib, "other_ways", arrays, tiling=struct.pack("<I", 2), trace=True)
    path = report.write_profile(tmp_path) / "trace.json"
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("tid") == "ALL" and e["ph"] == "X"]
    assert len(events) == report.to_dict()["traffic"]["full_barriers"] == 2  # the kernel's and TPipe's
    assert {event["name"] for event in events} == {"PipeBarrier"}
    assert all(event["dur"] * MHZ == pytest.approx(1) for event in events)  # one cycle, at its completion
    assert [event["args"]["detail"] for event in events] == [
        "block 0, last to finish VECTOR, no stage", "block 0, last to finish MTE3, no stage"
    ]  # fmt: skip
    assert events[-1]["ts"] * MHZ == pytest.approx(report.cycles, abs=6.01)  # then the data cache is written back, twice
    (core,) = profile.read_trace(path).cores
    use = profile.of_model(report.to_dict()).cores[0]
    for queue, lane in core.lanes.items():
        assert [item.waits_for for item in lane if isinstance(item, profile.trace.Slice) and item.is_barrier] == ["V", "MTE3"]
        waits = defaultdict(float)
        for start, end, why, _ in core.stalls(queue):
            waits[why] += end - start
        for other in ("V", "MTE3"):
            assert waits[other] == pytest.approx(use.queues[queue].waits_for.get(other, 0), abs=3), (queue, other)
