# SPDX-License-Identifier: Apache-2.0
"""What each lo of the kernel's hi + lo operands costs, and what the results lose without it.

    python -m chunk_gdr.bench.compensation

builds the kernel once more for every row, from the repository root (`--kernel FILE` names another entry.cpp), and runs
it in the place of the package's own: model cycles of a further chunk of a v-head, and the worst error over gates and
keys, in bars (above 1 a bar is missed). The names and bits are those of op_kernel's compensation.h.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import model, tiling
from ..cases import CHUNK, Case, make_inputs
from ..compare import compare_out, compare_state
from ..reference import recurrence
from ..runner import call_operator
from .builds import KERNEL, kernel_library

OPERANDS = {
    "scores": 0x01,
    "inverse": 0x02,
    "out weight": 0x04,
    "shifted": 0x08,
    "v new": 0x10,
    "state": 0x20,
}
ALL = sum(OPERANDS.values())
DIMS = (64, 128)
ERROR_CASES = [
    Case(lengths=(256, 65), nk=2, nv=4, dk=64, dv=64, gate=gate, keys=keys, beta=beta)
    for gate in ("zero", "-1e-3", "qwen")
    for keys, beta in (("random", "random"), ("correlated", "0.99"))
]


@dataclass
class Row:
    without: str  # whose lo; "" for none
    mask: int
    cycles: dict[int, float]  # of a further chunk of a v-head, by head dim
    out: float  # worst error in bars
    state: float


def cycles_of_a_chunk(dim: int) -> float:
    def total(chunks: int) -> float:
        case = Case(lengths=(CHUNK * chunks,), nk=1, nv=1, dk=dim, dv=dim)
        with tiling.chunk_size(CHUNK):
            return call_operator(make_inputs(case), "model", cores=1, checked=False).model["model_cycles"]["total"]

    return (total(16) - total(8)) / 8


def errors() -> tuple[float, float]:
    worst_out = worst_state = 0.0
    for case in ERROR_CASES:
        x = make_inputs(case)
        truth = recurrence(**x.arguments())
        call = call_operator(x, "model")
        if call.error:
            raise RuntimeError(call.error)
        result = call.result
        worst_out = max([worst_out, *(h.nrmse / h.bar for h in compare_out(result.out, truth.out, x.lengths).heads)])
        state = compare_state(result.final_state, truth.final_state)
        worst_state = max([worst_state, *(h.nrmse / h.bar for h in state.heads)])
    return worst_out, worst_state


def measure(kernel: Path, without: str) -> Row:
    mask = ALL & ~OPERANDS.get(without, 0)
    with kernel_library(model.build(kernel, defines={"CHUNK_GDR_COMPENSATION": mask})):
        return Row(without, mask, {dim: cycles_of_a_chunk(dim) for dim in DIMS}, *errors())


def text(row: Row) -> str:
    cycles = "".join(f"{value:10,.0f}" for value in row.cycles.values())
    return f"{row.without or '(nothing)':12s}{row.mask:#6x}{cycles}{row.out:10.2f}{row.state:10.2f}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m chunk_gdr.bench.compensation", description=__doc__.split("\n")[0])
    parser.add_argument("--kernel", type=Path, default=Path(KERNEL), help="the kernel's entry.cpp (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    arguments = parser.parse_args(argv)
    if not arguments.kernel.is_file():
        parser.error(f"argument --kernel: {arguments.kernel} does not exist; run this from the repository root")
    rows = []
    if not arguments.json:
        print("without lo of  mask" + "".join(f"{f'D {dim}':>10s}" for dim in DIMS) + "   out/bar state/bar")
    for without in ("", *OPERANDS):
        rows.append(measure(arguments.kernel, without))
        if not arguments.json:
            print(text(rows[-1]), flush=True)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
