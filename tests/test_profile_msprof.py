# SPDX-License-Identifier: Apache-2.0
"""msprof files of a card: into the table of chunk-gdr profile, beside the host model, or one clear line."""

import csv
import json

import pytest

from chunk_gdr import cli, profile

PIPE = {
    "block_id": ["0", "1"],
    "aic_time(us)": ["100.0", "50.0"],
    "aic_total_cycles": ["106000", "53000"],
    "aic_cube_time(us)": ["10.0", "5.0"],
    "aic_cube_ratio": ["0.1", "0.1"],
    "aic_scalar_time(us)": ["25", "12.5"],
    "aic_scalar_ratio": ["0.25", "0.25"],
    "aic_mte1_time(us)": ["", "N/A"],
    "aic_mte1_ratio": ["0.125", "0.125"],
    "aic_mte2_time(us)": ["20", "20"],
    "aic_mte2_ratio": ["0.2", "0.4"],
    "aic_mte3_time(us)": ["30", "15"],
    "aic_mte3_ratio": ["0.3", "0.3"],
    "aic_icache_miss_rate": ["0.01", "0.01"],
    "aic_vec_time(us)": ["50.0", "25.0"],
    "aic_vec_ratio": ["0.5", "0.5"],
}
CONFLICT = {
    "block_id": ["0", "1"],
    "aic_time(us)": ["100.0", "50.0"],
    "aic_total_cycles": ["106000", "53000"],
    "aic_cube_wait_ratio": ["0.5", "0.5"],
    "aic_vec_total_cflt_ratio": ["0.1", "0.1"],
    "aic_vec_bankgroup_cflt_ratio": ["0.02", "0.04"],
    "aic_vec_bank_cflt_ratio": ["0.01", "0.01"],
    "aic_vec_wait_ratio": ["0.25", "0.5"],
    "aic_mte1_wait_ratio": ["0.1", "0.1"],
    "aic_mte2_wait_ratio": ["0.2", "0.2"],
    "aic_mte3_wait_ratio": ["0.3", "0.3"],
}
BASIC = {"Op Name": ["chunk_gated_delta_rule"], "Op Type": ["mix"], "Task Duration(us)": ["131.5"], "Block Dim": ["2"]}
# A public row of a vector addition on a 310P: 8 cores, 9.87 us at 1 GHz.
SUMMARY = {
    "Op Name": ["add_custom"],
    "OP Type": ["add_custom"],
    "Task Type": ["AI_CORE"],
    "Task Duration(us)": ["82.11"],
    "Block Dim": ["8"],
    "aicore_time(us)": ["9.87"],
    "total_cycles": ["78923"],
    "vec_time(us)": ["0.2261"],
    "vec_ratio": ["0.0229"],
    "mac_time(us)": ["0"],
    "mac_ratio": ["0"],
    "scalar_time(us)": ["8.8732"],
    "scalar_ratio": ["0.899"],
    "mte1_time(us)": ["0"],
    "mte1_ratio": ["0"],
    "mte2_time(us)": ["3.8364"],
    "mte2_ratio": ["0.3887"],
    "mte3_time(us)": ["2.4525"],
    "mte3_ratio": ["0.2485"],
    "icache_miss_rate": ["0.0002"],
}


def run(capsys, *argv):
    """(exit code, stdout, stderr) of chunk-gdr profile."""
    code = cli.main(["profile", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write(path, table):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


@pytest.fixture
def card(tmp_path):
    """A folder as `msprof op` writes it."""
    folder = tmp_path / "OPPROF_20260101000000_ABCDEF"
    write(folder / "PipeUtilization.csv", PIPE)
    write(folder / "ResourceConflictRatio.csv", CONFLICT)
    write(folder / "OpBasicInfo.csv", BASIC)
    return folder


def summary_of(*names):
    """An op_summary of these operators, each call slower than the one before by its first time."""
    table = {title: cells * len(names) for title, cells in SUMMARY.items()}
    return table | {"Op Name": list(names), "OP Type": list(names)} | {
        "aicore_time(us)": [f"{9.87 * (index + 1)}" for index in range(len(names))],
        "total_cycles": [f"{78923 * (index + 1)}" for index in range(len(names))],
    }


def test_msprof_op(capsys, card):
    code, out, err = run(capsys, "--msprof", str(card), "--json")
    result = json.loads(out)["card"]
    assert code == 0 and err == "" and result["kernel"] == "chunk_gated_delta_rule"
    first, second = result["cores"]
    assert (first["name"], first["cycles"], first["microseconds"]) == ("core 0", 106000, 100)
    busy = {"S": 26500, "V": 53000, "M": 10600, "MTE1": 13250, "MTE2": 21200, "MTE3": 31800}
    assert {queue: use["busy"] for queue, use in first["queues"].items()} == pytest.approx(busy)
    for core in (first, second):
        assert core["queues"]["V"]["wait"] == pytest.approx(26500)
    assert "wait" not in first["queues"]["S"] and result["slowest_core"] == first
    assert result["mean_core"]["cycles"] == 79500
    files = [str(card / f"{name}.csv") for name in ("PipeUtilization", "ResourceConflictRatio", "OpBasicInfo")]
    assert result["files"] == files
    code, out, _ = run(capsys, "--msprof", str(card))
    assert code == 0 and "core 0, the slowest of 2: 106,000 cycles, 100.0 us" in out
    assert [line for line in out.splitlines() if line.startswith("read from")] == [f"read from: {x}" for x in files]
    assert "aic_vec_bankgroup_cflt_ratio 3.0%" in out and "task duration 131.5 us" in out


def test_one_csv_of_msprof_op(card):
    alone = profile.read_msprof(card / "PipeUtilization.csv")
    assert alone.cores[0].queues["M"].busy == pytest.approx(10600) and alone.cores[0].queues["M"].wait is None
    table = {title: cells[:1] for title, cells in PIPE.items() if title != "block_id"}
    one = profile.read_msprof(write(card / "other" / "Pipe.csv", table))
    assert [core.name for core in one.cores] == ["mean core"]
    assert alone.files == [str(card / "PipeUtilization.csv")] and one.files == [str(card / "other" / "Pipe.csv")]


def test_op_summary_is_the_mean_core(tmp_path):
    got = profile.read_msprof(write(tmp_path / "op_summary_1.csv", SUMMARY))
    (core,) = got.cores
    assert core.cycles == pytest.approx(78923 / 8) and core.microseconds == 9.87 and got.kernel == "add_custom"
    assert core.queues["S"].busy == pytest.approx(0.899 * 78923 / 8, rel=1e-3)
    assert core.queues["MTE2"].busy == pytest.approx(0.3887 * 78923 / 8, rel=1e-3)
    assert core.queues["M"].busy == 0 and core.queues["V"].wait is None
    plain = ("Op Name", "OP Type", "Task Type", "Task Duration(us)", "Block Dim", "aicore_time(us)")
    prefixed = {title if title in plain else f"aic_{title}": cells for title, cells in SUMMARY.items()}
    again = profile.read_msprof(write(tmp_path / "x.csv", prefixed))
    assert again.cores[0].queues == core.queues


def test_op_summary_of_several_operators(tmp_path):
    names = ("MatMul", "ChunkGatedDeltaRule_1", "MatMul", "ChunkGatedDeltaRule_1")
    path = write(tmp_path / "PROF_1" / "mindstudio" / "op_summary_20260101.csv", summary_of(*names))
    ours = profile.read_msprof(tmp_path)
    assert ours.kernel == "ChunkGatedDeltaRule_1" and ours.cores[0].cycles == pytest.approx(3 * 78923 / 8)
    assert any("mean of 2 calls, 19.7 to 39.5 us" in note for note in ours.notes) and ours.files == [str(path)]
    assert profile.read_msprof(path, op="mat_mul").cores[0].cycles == pytest.approx(2 * 78923 / 8)


def test_the_files_that_were_read_are_named(capsys, card):
    """A folder may hold both kinds, and more than is read."""
    write(card / "op_summary_1.csv", SUMMARY)
    (card / "ResourceConflictRatio.csv").unlink()
    code, out, _ = run(capsys, "--msprof", str(card), "--json")
    expected = [str(card / "PipeUtilization.csv"), str(card / "OpBasicInfo.csv")]
    assert code == 0 and json.loads(out)["card"]["files"] == expected


def test_card_and_model_side_by_side(capsys, card, tmp_path):
    shapes = ["--lengths", "70", "--nk", "1", "--nv", "1"]
    flags = [*shapes, "--output", str(tmp_path / "p"), "--msprof", str(card), "--model"]
    code, out, _ = run(capsys, *flags, "--json")
    result = json.loads(out)
    assert code == 0 and result["card"]["cores"][0]["cycles"] == 106000 and result["model"]["cores"]
    code, out, _ = run(capsys, *flags)
    assert code == 0 and "card, msprof op" in out and "beside" in out
    assert f"read from: {card / 'PipeUtilization.csv'}" in out and result["model"]["files"] == []
    (row,) = [line.split() for line in out.splitlines() if line.startswith("slowest core, cycles")]
    assert row[-2] == "106,000" and float(row[-1]) == pytest.approx(
        result["model"]["slowest_core"]["cycles"] / 106000, abs=0.006
    )


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "no such file"),
        (b"", "no rows below a title line"),
        (b"aic_time(us),aic_total_cycles\n", "no rows below a title line"),
        (b"\x00\xff\xfe\x80" * 9, "not a readable CSV file"),
        (b"a,b\n1,2\n", "column 'aic_time(us)' is missing or empty"),
        (b"aic_time(us),aic_total_cycles\n1,2\n", "no column like aic_vec_ratio"),
        (b"aic_time(us),aic_total_cycles,aic_vec_ratio\n1,2,much\n", "'aic_vec_ratio' holds 'much', expected a number"),
        (b"aic_time(us),aic_total_cycles,aic_vec_ratio\n1,2,nan\n", "holds 'nan', expected a number"),
        (b"aic_time(us),aic_total_cycles,aic_vec_ratio\n1,0,0.5\n", "column 'aic_total_cycles' is missing or empty"),
        (b"aic_time(us),aic_total_cycles,aic_vec_ratio\n1,2\n", "row 2 has 2 cells, the title line 3"),
        (b"aic_time(us),aic_total_cycles,aiv_vec_ratio\n1,2,0.5\n", "columns aiv_* of a chip with separate"),
        (b"Op Name,Block Dim,aicore_time(us),total_cycles\na,8,1,8\nb,8,1,8\n", "name one with --op (a, b)"),
    ],
)
def test_bad_files_are_one_line(capsys, tmp_path, content, message):
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_bytes(content)
    code, out, err = run(capsys, "--msprof", str(path))
    assert code == 2 and out == "" and len(err.splitlines()) == 1 and err.startswith(f"chunk-gdr: error: {path}: ")
    assert message in err


def test_folders_of_msprof_that_are_not_clear(capsys, card):
    (card.parent / "empty").mkdir()
    code, _, err = run(capsys, "--msprof", str(card.parent / "empty"))
    assert code == 2 and "holds neither PipeUtilization*.csv nor op_summary*.csv" in err
    write(card.parent / "OPPROF_2" / "PipeUtilization.csv", PIPE)
    code, _, err = run(capsys, "--msprof", str(card.parent))
    assert code == 2 and "holds 2 files PipeUtilization*.csv" in err
