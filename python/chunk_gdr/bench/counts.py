# SPDX-License-Identifier: Apache-2.0
"""What a chunk, an item and a launch cost, in closed form.

    python -m chunk_gdr.bench.counts

With r and s the strips of 16 columns of k and v, each cost is near a + b r + c s + d r s; that of a chunk is the larger
of two such: where keys are wider than values, another chain through the queues decides. The costs are differences of
runs of one core; copies of states count apart. Printed as the k..Cost of op_host/chunk_gated_delta_rule/predict.cpp; run
it from the repository root.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .. import tiling
from ..cases import CHUNK, Case, make_inputs
from ..runner import call_operator, plan_of_case
from .builds import with_state_layout

DIMS = [*itertools.product(range(1, 9), repeat=2)]  # strips of k and v
FEW, MANY = 4, 8  # chunks
SHARED_DIMS = ((4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (1, 6), (2, 7), (2, 8), (5, 2), (8, 3))
SHARED_CORES = (2, 4, 8)
SHARED_CHUNKS = (1, 3, 4, 9, 16, 24, 41, 100, 128)
SHARED_ROUNDS_APART = (2, 4, 6, 8, 16)
SHARED_NEAR_BEST = 1.06  # a plan would not choose what is slower by more
GM_LATENCY, GM_BYTES_PER_CYCLE = 700, 17


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


def cycles_of(case: Case, cores: int) -> float:
    with tiling.chunk_size(CHUNK):
        return call_operator(make_inputs(case), "model", cores=cores, checked=False).model["model_cycles"]["total"]


def run(sequences: int, chunks: int, r: int, s: int, **options) -> float:
    """Cycles of one core with one head."""
    return cycles_of(Case(lengths=(CHUNK * chunks,) * sequences, nk=1, nv=1, dk=16 * r, dv=16 * s, **options), cores=1)


def chunk(r: int, s: int, **options) -> float:
    return (run(1, MANY, r, s, **options) - run(1, FEW, r, s, **options)) / (MANY - FEW)


def state_copy(r: int, s: int, v_strips: int = 0) -> float:
    """Cycles of s strips of Dv, of v_strips in all, of an fp32 state from GM; StateCopy of predict.cpp."""
    strip = 16 * 16 * 4 / GM_BYTES_PER_CYCLE
    bucket = next(b for b in (4, 5, 6, 8) if b >= max(r, s, v_strips))
    second_piece = max(r - (bucket + 1) // 2, 0) * (s // 2)
    return GM_LATENCY + r * s * strip + (bucket > 4 and s > 1) * max(GM_LATENCY - second_piece * strip, 0)


def costs(r: int, s: int) -> dict[str, float]:
    """By the names of predict.cpp's constants."""

    def item(**options) -> float:
        return run(2, FEW, r, s, **options) - run(1, FEW, r, s, **options) - FEW * each

    each = chunk(r, s)
    whole, no_state = item(), item(state=None)
    store = chunk(r, s, chunk_state=True) - each
    norm = chunk(r, s, l2norm=True) - each
    return {
        "wide chunk" if r > s else "chunk": each,
        "norm": norm,
        "launch norm": run(1, FEW, r, s, l2norm=True) - run(1, FEW, r, s) - FEW * norm,
        "enter state": whole - no_state - state_copy(r, s),
        "store state": store - state_copy(r, s),
        "item": no_state - store,
        "launch": np.mean([run(1, chunks, r, s) - chunks * each for chunks in (1, FEW)]) - whole,
    }


def solve(terms: np.ndarray, values: np.ndarray, least: float) -> np.ndarray:
    """The least squares of which no coefficient is below `least`."""
    solution = np.linalg.lstsq(terms, values, rcond=None)[0]
    free = solution >= least
    if not free.all():
        solution[~free] = least
        solution[free] = solve(terms[:, free], values - terms[:, ~free].sum(1) * least, least)
    return solution


def solve_for_the_worst(terms: np.ndarray, values: np.ndarray, rounds: int = 3000) -> np.ndarray:
    """Near the solution whose largest miss is smallest: least squares, again and again with more weight on what misses most."""
    weights = np.ones(len(values))
    solutions = []
    for _ in range(rounds):
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(terms * root[:, None], values * root, rcond=None)[0]
        misses = np.abs(terms @ solution - values)
        solutions.append((misses.max(), tuple(solution)))
        weights *= (misses / misses.max() + 1e-4) ** 0.2
        weights /= weights.sum()
    return np.array(min(solutions)[1])


def fit_of(points: list[tuple[int, int, float]], least: float = -np.inf) -> Fit:
    terms = np.array([(1, r, s, r * s) for r, s, _ in points], dtype=np.float64)
    values = np.array([value for *_, value in points])
    solution = solve(terms, values, least)
    return Fit(*map(float, solution), float(np.abs(terms @ solution - values).max()))


def fit() -> dict[str, Fit]:
    measured = [(r, s, name, value) for r, s in DIMS for name, value in costs(r, s).items()]
    points = {key: [(r, s, value) for r, s, name, value in measured if name == key] for _, _, key, _ in measured}
    # No strip more makes a chunk cheaper.
    return {name: fit_of(points[name], 1 if "chunk" in name else -np.inf) for name in points}


def rows_fit(fits: dict[str, Fit]) -> dict[str, Fit]:
    """What a chunk takes more with the state in rows, where there is room for the whole Dv; builds the kernel."""
    with with_state_layout("kNd"):
        points = [
            (r, s, chunk(r, s) - max(fits["chunk"].at(r, s), fits["wide chunk"].at(r, s)))
            for r, s in DIMS
            if tiling.plan([CHUNK], 1, 1, 16 * r, 16 * s, cores=1).v_tiles == 1
        ]
    return {"state in rows": fit_of(points)}


def shared_fit(fits: dict[str, Fit]) -> dict[str, Fit]:
    """What the chunk-parallel schedule costs, from launches of different lengths and slices.

    Their cycles beside those of the launch and the item are a sum: chunks; what those of one's own add before the first
    meeting (in the place of r: by slice); meetings; and what comes once (in that of r: with a state). Of each shape, all
    rounds between meetings that come near the fastest (SHARED_NEAR_BEST).
    """
    launches = []
    for (r, v_strips), cores, chunks in itertools.product(SHARED_DIMS, SHARED_CORES, SHARED_CHUNKS):
        state = None if chunks % 2 else "float32"
        case = Case(lengths=(CHUNK * chunks,), nk=1, nv=1, dk=16 * r, dv=16 * v_strips, state=state)
        once = ("launch", "item", "store state", "enter state")[: 4 if state else 3]
        measured = []
        for apart in SHARED_ROUNDS_APART:
            with tiling.schedule(f"chunk-parallel:{apart}"), tiling.chunk_size(CHUNK):
                p, cycles = plan_of_case(case, cores), cycles_of(case, cores)
            s = p.v_tile_dim // 16
            early = min(-(-chunks // p.v_tiles), 2 * apart // p.v_tiles + 1) - 1
            terms = {
                "shared chunk": [chunks, chunks * r, chunks * s, chunks * r * s],
                "early chunk": [early, early * p.v_tiles],
                "meeting": [-(-chunks // (2 * apart))],
                "shared item": [1, state is not None],
            }
            known = sum(fits[name].at(r, s) + ("state" in name) * state_copy(r, s, v_strips) for name in once)
            measured.append((cycles, np.concatenate([*terms.values()]) / cycles, 1 - known / cycles))
        fastest = min(cycles for cycles, *_ in measured)
        launches += [launch for launch in measured if launch[0] <= SHARED_NEAR_BEST * fastest]
    _, rows, values = map(np.array, zip(*launches, strict=True))
    solution = solve_for_the_worst(rows, values)
    worst = float(np.abs(rows @ solution - values).max() * 100)
    rest = map(float, solution)
    return {name: Fit(*(next(rest) for _ in t), *[0.0] * (4 - len(t)), worst) for name, t in terms.items()}


def text(fits: dict[str, Fit]) -> str:
    """Lines of predict.cpp, each with its name here, the largest miss, and its cycles at D 64 and D 128."""
    lines = []
    for name, f in fits.items():
        constant = f"k{name.title().replace(' ', '')}Cost = {{{f.one:.0f}, {f.r:.1f}, {f.s:.1f}, {f.rs:.1f}}};"
        lines.append(f"constexpr Count {constant:54s}// {name:13s}{f.worst:10.1f}{f.at(4, 4):10.1f}{f.at(8, 8):10.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    fits = fit()
    print(f"{text(fits)}\n{text(rows_fit(fits))}\nthe largest miss of a launch in per cent:\n{text(shared_fit(fits))}")
