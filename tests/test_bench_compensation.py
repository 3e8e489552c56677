# SPDX-License-Identifier: Apache-2.0
"""What a lo of an operand is worth, and running another build of the kernel in the place of the package's own."""

import re
from pathlib import Path

import pytest
import torch

from chunk_gdr import model, tiling
from chunk_gdr.bench import compensation
from chunk_gdr.cases import Case, make_inputs
from chunk_gdr.runner import call_operator

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "op_kernel/chunk_gated_delta_rule/compensation.h"
SMALL = Case(lengths=(65,), nk=1, nv=1, dk=16, dv=16)


def test_the_bits_are_those_of_the_kernel():
    source = HEADER.read_text()
    bits = dict(re.findall(r"bool k(\w+) = \(kMask & (0x[0-9A-F]+)\)", source))
    assert {name.title().replace(" ", ""): mask for name, mask in compensation.OPERANDS.items()} == {
        name: int(mask, 16) for name, mask in bits.items()
    }
    assert re.search(r"#define CHUNK_GDR_COMPENSATION (\S+)", source).group(1) == f"{compensation.ALL:#04X}".replace("X", "x")


def test_a_state_of_hi_alone_misses_the_bar():
    """7 bars on an fp32 state (one fp16 rounding of S in K S^T); fewer cycles at D 128; without a hazard."""
    row = compensation.measure(ROOT / compensation.KERNEL, "state")
    assert row.mask == compensation.ALL - 0x20
    assert 5 < row.state < 10 and 1 < row.out < 1.5
    assert row.cycles[128] < compensation.cycles_of_a_chunk(128)
    assert compensation.text(row).split()[:2] == ["state", "0x1f"]
    out, state = compensation.errors()  # of the package's own kernel
    assert out < 1 and state < 0.2


def test_without_any_lo_every_schedule_is_clean():
    def clean(case, **options):
        call = call_operator(make_inputs(case), "model", **options)
        assert call.error is None and call.model["hazards"]["errors"] == call.model["hazards"]["auto_sync"] == 0
        return call.result

    one, two = (Case(lengths=(330,), nk=1, nv=heads, dk=64, dv=64) for heads in (1, 2))
    results = []
    with compensation.kernel_library(model.build(ROOT / compensation.KERNEL, defines={"CHUNK_GDR_COMPENSATION": 0})):
        for schedule in ("sequence-major", "v-tiles", "chunk-parallel"):
            with tiling.schedule(schedule):
                results.append(clean(one))
        pairs = [clean(two, cores=cores) for cores in (1, 2)]  # in turns, and a core each
    for first, *others in (results, pairs):
        assert all(torch.equal(r.out, first.out) and torch.equal(r.final_state, first.final_state) for r in others)


def test_another_kernel_runs_in_the_place_of_the_own_one(monkeypatch, tmp_path):
    source = tmp_path / "kernel.cpp"
    source.write_text(
        '#include "kernel_operator.h"\n'
        'extern "C" __global__ __aicore__ void chunk_gated_delta_rule(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR beta,\n'
        "    GM_ADDR state, GM_ADDR lengths, GM_ADDR g, GM_ADDR chunk_state, GM_ADDR out, GM_ADDR final_state, GM_ADDR workspace,\n"
        "    GM_ADDR tiling) {}\n"
    )
    x = make_inputs(SMALL)
    own = call_operator(x, "model").result
    with compensation.kernel_library(model.build(source, tmp_path / "kernel.so")):
        other = call_operator(x, "model").result
    assert other.out.isnan().all() and other.final_state.isnan().all()  # it writes nothing
    monkeypatch.chdir(tmp_path)
    with compensation.kernel_library(Path("kernel.so")):
        assert call_operator(x, "model").result.out.isnan().all()
    assert torch.equal(call_operator(x, "model").result.out, own.out)
    monkeypatch.setenv("CHUNK_GDR_MODEL_KERNEL", str(tmp_path / "none.so"))
    with pytest.raises(RuntimeError, match="CHUNK_GDR_MODEL_KERNEL: .*none.so"):
        call_operator(x, "model")


def test_a_kernel_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        compensation.main(["--kernel", "nowhere.cpp"])
    assert capsys.readouterr().err.splitlines()[-1].endswith(
        "argument --kernel: nowhere.cpp does not exist; run this from the repository root"
    )
