# SPDX-License-Identifier: Apache-2.0
"""What a chunk, an item and a launch cost, as polynomials in the head dims.

    python -m chunk_gdr.bench.counts

With r and s the strips of 16 columns of k and v, each cost is near a + b r + c s + d r s; that of a chunk is the larger
of two such, one for narrow keys and one for wide ones. The costs are differences of runs of one core; copies of states
count apart, as bytes and a latency. The constants of op_host/chunk_gated_delta_rule/predict.cpp come from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np

from .. import tiling
from ..cases import CHUNK, Case, make_inputs
from ..runner import call_operator, plan_of_case

K_STRIPS = (1, 4, 6, 8)
V_STRIPS = (1, 4, 8)
WIDE = 5  # strips of k from which on another queue decides
FEW, MANY = 4, 8  # chunks
SHARED_STRIPS = (4, 5, 6, 8)
SHARED_CHUNKS = (4, 13, 24, 41, 64)
ROUNDS_TO_SLOT = 3  # from the fetch of a chunk to its slot
GM_LATENCY = 700  # of a state's first piece; the others follow it at once


@dataclass
class Fit:
    """Cycles = one + r * strips of k + s * strips of v + rs * both."""

    one: float
    r: float
    s: float
    rs: float
    worst: float  # largest difference from a measurement

    def at(self, r: float, s: float) -> float:
        return self.one + self.r * r + self.s * s + self.rs * r * s


def run(sequences: int, chunks: int, r: int, s: int, **options) -> np.ndarray:
    """Cycles of one core with one head: in all, and of the copies from GM, and to GM."""
    case = Case(lengths=(CHUNK * chunks,) * sequences, nk=1, nv=1, dk=16 * r, dv=16 * s, **options)
    model = call_operator(make_inputs(case), "model", cores=1, checked=False).model
    copies = (model["blocks"][0]["queues"][name]["busy"] for name in ("MTE2", "MTE3"))
    return np.array([model["model_cycles"]["total"], *copies])


def costs(r: int, s: int) -> dict[str, float]:
    """By the names of predict.cpp's constants."""

    def chunk(**options) -> np.ndarray:
        return (run(1, MANY, r, s, **options) - run(1, FEW, r, s, **options)) / (MANY - FEW)

    def item(**options) -> np.ndarray:
        return run(2, FEW, r, s, **options) - run(1, FEW, r, s, **options) - FEW * each

    each = chunk()
    whole, no_state = item(), item(state=None)
    store, store_copies = (chunk(chunk_state=True) - each)[[0, 2]]
    enter, enter_copies = (whole - no_state)[[0, 1]]
    return {
        "wide chunk" if r >= WIDE else "chunk": each[0],
        "norm": chunk(l2norm=True)[0] - each[0],
        "enter state": enter - enter_copies - GM_LATENCY,
        "store state": store - store_copies - GM_LATENCY,
        "item": no_state[0] - store,
        "launch": np.mean([run(1, chunks, r, s)[0] - chunks * each[0] for chunks in (1, FEW)]) - whole[0],
    }


def fit(k_strips: Sequence[int] = K_STRIPS, v_strips: Sequence[int] = V_STRIPS) -> dict[str, Fit]:
    measured: dict[str, list[tuple[int, int, float]]] = {}
    for r in k_strips:
        for s in v_strips:
            for name, value in costs(r, s).items():
                measured.setdefault(name, []).append((r, s, value))
    fits = {}
    for name, points in measured.items():
        terms = np.array([(1, r, s, r * s) for r, s, _ in points], dtype=np.float64)
        values = np.array([value for *_, value in points])
        solution = np.linalg.lstsq(terms, values, rcond=None)[0]
        fits[name] = Fit(*map(float, solution), float(np.abs(terms @ solution - values).max()))
    return fits


def shared_fit() -> dict[str, Fit]:
    """What the chunk-parallel schedule costs, from launches of different lengths and slices.

    Their cycles beside those of the launch and the item are a sum: a round of two chunks, what a chunk of one's own adds to
    it, a round before the first, a meeting; all but the last depend on the dims.
    """
    rows, values = [], []
    for r in SHARED_STRIPS:
        for heads in (1, 2, 4):
            for chunks in SHARED_CHUNKS:
                case = Case(lengths=(CHUNK * chunks,), nk=1, nv=heads, dk=16 * r, dv=16 * r)
                with tiling.schedule("chunk-parallel"):
                    p = plan_of_case(case)
                    cycles = call_operator(make_inputs(case), "model", checked=False).model["model_cycles"]["total"]
                s, rounds = p.v_tile_dim // 16, -(-chunks // 2)
                own, early = -(-chunks // p.v_tiles), p.rounds_apart + ROUNDS_TO_SLOT
                terms = [rounds * x for x in (1, r, s, r * s)] + [own, own * r, early, early * r]
                rows.append([*terms, -(-rounds // p.rounds_apart)])
                values.append(cycles - p.launch_cycles - p.item_cycles)
    weight = 1 / np.array(values)
    solution = np.linalg.lstsq(np.array(rows) * weight[:, None], np.array(values) * weight, rcond=None)[0]
    worst = float(np.abs(np.array(rows) @ solution * weight - 1).max() * 100)
    one = [float(x) for x in solution]
    return {
        "round": Fit(*one[:4], worst),
        "own chunk": Fit(*one[4:6], 0.0, 0.0, worst),
        "early round": Fit(*one[6:8], 0.0, 0.0, worst),
        "meeting": Fit(one[8], 0.0, 0.0, 0.0, worst),
    }


def text(fits: dict[str, Fit]) -> str:
    lines = ["                     1         r         s        rs     worst      D 64     D 128"]
    for name, f in fits.items():
        columns = (f.one, f.r, f.s, f.rs, f.worst, f.at(4, 4), f.at(8, 8))
        lines.append(f"{name:12s}" + "".join(f"{round(value, 1) + 0.0:10.1f}" for value in columns))
    return "\n".join(lines)


if __name__ == "__main__":
    print(text(fit()))
    print(f"\nchunk-parallel; worst: per cent of a whole launch\n{text(shared_fit())}")
