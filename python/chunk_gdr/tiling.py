# SPDX-License-Identifier: Apache-2.0
"""What will run where: the host tiling of an operator as printable dataclasses.

The numbers come from the C++ that the launch itself uses (``op_host`` and the headers it shares with the kernel), for
shapes that are padded as at the torch boundary.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ._load import _C

#: Bytes of each on-chip memory that a kernel may use (UB without the library's scratch).
CAPACITY_BYTES = {"UB": 248 * 1024, "L1": 1024 * 1024, "L0A": 64 * 1024, "L0B": 64 * 1024, "L0C": 256 * 1024}
MAX_HEAD_DIM = 128
MAX_CORES = 8
INT32_MAX = 2**31 - 1
_BAR_WIDTH = 40
_SPANS_SHOWN = 8


@dataclass(frozen=True)
class Buffer:
    """One row of the kernel's buffer table. Stages are inclusive indices into ``Plan.stages``."""

    name: str
    memory: str
    dtype: str
    rows: int
    cols: int
    offset_bytes: int
    bytes: int
    first_stage: int
    last_stage: int

    def lives_in(self, stage: int) -> bool:
        return self.first_stage <= stage <= self.last_stage


@dataclass(frozen=True)
class WorkspaceSlot:
    """A named range of the user workspace; ``offset_bytes`` counts from its start, behind the system part."""

    name: str
    offset_bytes: int
    bytes: int
    zeroed: bool = False  #: zero at the launch


@dataclass(frozen=True)
class WorkItem:
    """One (sequence, v-head, slice of Dv), run by one core from its first chunk to its last."""

    sequence: int
    token_begin: int
    length: int
    chunks: int
    v_head: int
    v_begin: int
    v_cols: int


@dataclass(frozen=True)
class Plan:
    """The launch of ``chunk_gated_delta_rule`` for one set of shapes."""

    tiling_key: int
    bucket: int
    schedule: str
    state_layout: str
    block_num: int
    v_tiles: int
    v_tile_dim: int
    chunk_size: int  #: tokens of a chunk, at most
    rounds_apart: int  #: chunk-parallel: rounds of two chunks between two synchronisations of all cores; else 0
    stages: tuple[str, ...]
    stage_lanes: tuple[int, ...]  #: stages of one lane follow one another, those of different lanes interleave
    buffers: tuple[Buffer, ...]
    workspace_bytes: int
    workspace: tuple[WorkspaceSlot, ...]
    cores: tuple[tuple[WorkItem, ...], ...]  #: items of each core, in the order it runs them
    launch_cycles: int  #: predicted model cycles of a core before its first item,
    item_cycles: int  #: of an item beside its chunks,
    chunk_cycles: int  #: and of each chunk; the split over cores weighs items by the two
    core_cycles: tuple[int, ...]  #: predicted model cycles of each core

    @property
    def predicted_cycles(self) -> int:
        """Predicted model cycles of the launch: those of the slowest core."""
        return max(self.core_cycles)

    def chunk_heads(self, core: int) -> float:
        """Chunks of v-heads that a core runs; a slice counts as its share of the head's columns."""
        columns = max((item.v_begin + item.v_cols for items in self.cores for item in items), default=1)
        return sum(item.chunks * item.v_cols for item in self.cores[core]) / columns

    def weight(self, item: WorkItem) -> int:
        """What the split over cores counts for an item."""
        return self.item_cycles + item.chunks * self.chunk_cycles

    def occupancy(self, memory: str) -> dict[str, int]:
        """Bytes of ``memory`` that are live in each stage."""
        return {
            stage: sum(b.bytes for b in self.buffers if b.memory == memory and b.lives_in(i))
            for i, stage in enumerate(self.stages)
        }

    def high_water_bytes(self, memory: str) -> int:
        """End of the highest placed buffer of ``memory``."""
        return max(b.offset_bytes + b.bytes for b in self.buffers if b.memory == memory)

    def to_dict(self) -> dict:
        """Plain lists and numbers, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join([*self._head(), "", *self._cores(), "", *self._occupancy(), "", *self._buffers()])

    def _head(self) -> list[str]:
        slots = ", ".join(f"{s.name} {s.bytes} B at +{s.offset_bytes}" for s in self.workspace)
        meetings = f", all meet every {self.rounds_apart} rounds of two chunks" if self.rounds_apart else ""
        return [
            f"tiling key {self.tiling_key} (bucket {self.bucket}), schedule {self.schedule}, state {self.state_layout},"
            f" {self.block_num} cores, {self.v_tiles} slice(s) of {self.v_tile_dim} columns,"
            f" chunks of {self.chunk_size} tokens{meetings}",
            f"workspace {self.workspace_bytes} B: system part, then {slots}",
            f"predicted {self.predicted_cycles:,} model cycles, {self.chunk_cycles:,} for a chunk of an item and "
            f"{self.item_cycles:,} for its state",
        ]

    def _cores(self) -> list[str]:
        lines = ["core  items  chunks   predicted  work"]
        for core, items in enumerate(self.cores):
            chunks = sum(item.chunks for item in items)
            cycles = self.core_cycles[core]
            lines.append(f"{core:4d} {len(items):6d} {chunks:7d} {cycles:11,d}  {_spans(items, self.v_tiles > 1)}")
        return lines

    def _occupancy(self) -> list[str]:
        lines = []
        for memory in ("UB", "L1"):
            capacity = CAPACITY_BYTES[memory]
            lines.append(f"{memory} by stage (of {capacity} B, placed up to {self.high_water_bytes(memory)} B)")
            for stage, used in self.occupancy(memory).items():
                bar = "#" * round(_BAR_WIDTH * used / capacity)
                lines.append(f"  {stage:9s} {used:8d} B |{bar:<{_BAR_WIDTH}}|")
        return lines

    def _buffers(self) -> list[str]:
        lines = ["memory    offset     bytes  shape            dtype    life                buffer"]
        memories = list(CAPACITY_BYTES)
        for b in sorted(self.buffers, key=lambda b: (memories.index(b.memory), b.offset_bytes, b.first_stage)):
            life = f"{self.stages[b.first_stage]}..{self.stages[b.last_stage]}"
            place = f"{b.memory:6s} {b.offset_bytes:9d} {b.bytes:9d}"
            lines.append(f"{place}  {f'{b.rows} x {b.cols}':15s}  {b.dtype:8s} {life:19s} {b.name}")
        return lines


def _spans(items: Sequence[WorkItem], sliced: bool) -> str:
    """``seq 0-2: heads 0-3; seq 3: head 4 [0:64]`` for the items of one core; the columns where heads are sliced."""
    spans: list[list] = []  # first and last sequence, heads
    for sequence, group in itertools.groupby(items, key=lambda item: item.sequence):
        mine = list(group)
        first, last = mine[0], mine[-1]
        heads = f"head {first.v_head}" if first.v_head == last.v_head else f"heads {first.v_head}-{last.v_head}"
        heads += f" [{first.v_begin}:{last.v_begin + last.v_cols}]" if sliced and first.v_head == last.v_head else ""
        if spans and spans[-1][1:] == [sequence - 1, heads]:
            spans[-1][1] = sequence
        else:
            spans.append([sequence, sequence, heads])
    texts = [f"seq {first if first == last else f'{first}-{last}'}: {heads}" for first, last, heads in spans]
    if len(texts) > _SPANS_SHOWN:
        more = sum(last - first + 1 for first, last, _ in spans[_SPANS_SHOWN:])
        texts = [*texts[:_SPANS_SHOWN], f"... and {more} more sequences"]
    return "; ".join(texts) if texts else "-"


def _whole(name: str, value, low: int, high: int) -> int:
    """`value` as an int of this range; neither a float nor a bool is a number of anything."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ValueError(f"chunk_gated_delta_rule tiling: {name} must be an integer, got {value!r}")
    if not low <= number <= high:
        raise ValueError(f"chunk_gated_delta_rule tiling: {name} must be in {low}..{high}, got {number}")
    return number


SCHEDULE_NAMES = _C.schedule_names()  #: as a text, for messages
SCHEDULE_VARIABLE = "CHUNK_GDR_SCHEDULE"
CHUNK_SIZE_NAMES = _C.chunk_size_names()
CHUNK_SIZE_VARIABLE = "CHUNK_GDR_CHUNK_SIZE"


def checked_schedule(name: str) -> str:
    """The name; ValueError where there is no such schedule."""
    _C.check_schedule(name)
    return name


def checked_chunk_size(size: int | str) -> str:
    """The number of tokens, or ``"auto"``; ValueError where no chunk has so many."""
    _C.check_chunk_size(str(size))
    return str(size)


def _chosen(given, variable: str, checked: Callable[[str], str]):
    if given is not None:
        return given
    try:
        return checked(os.environ.get(variable) or "auto")
    except ValueError as error:
        raise ValueError(f"environment variable {variable}: {error}") from None


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def schedule(name: str) -> contextlib.AbstractContextManager[None]:
    """Calls of the operator in this block, and their plans, run this schedule, see :func:`plan`.

    Process-wide, like the environment variable ``CHUNK_GDR_SCHEDULE`` that it sets.

    Raises:
        ValueError: there is no such schedule. A call for which it does not fit fails on its own.
    """
    return _variable(SCHEDULE_VARIABLE, checked_schedule(name))


def chunk_size(size: int | str) -> contextlib.AbstractContextManager[None]:
    """Calls of the operator in this block, and their plans, run chunks of ``size`` tokens, see :func:`plan`.

    Process-wide, like the environment variable ``CHUNK_GDR_CHUNK_SIZE`` that it sets.

    Raises:
        ValueError: not 1, 2, 4, 8, 16, 32, 64 or ``"auto"``.
    """
    return _variable(CHUNK_SIZE_VARIABLE, checked_chunk_size(size))


def plan(
    lengths: Sequence[int],
    nk: int,
    nv: int,
    dk: int,
    dv: int,
    *,
    state_dtype: str = "float32",
    initial_state: bool = True,
    chunk_state: bool = False,
    g: bool = True,
    beta: bool = True,
    use_qk_l2norm: bool = False,
    cores: int = MAX_CORES,
    schedule: str | None = None,
    chunk_size: int | str | None = None,
) -> Plan:
    """The launch plan of ``chunk_gated_delta_rule`` for sequences of ``lengths`` tokens.

    Args:
        lengths: tokens of each sequence; they only decide the split over cores, the launch itself depends on their sum
            and number.
        nk, nv: key and value heads.
        dk, dv: head dims, 1 to 128; they are padded to multiples of 16 as at the torch boundary.
        state_dtype: ``"float32"`` or ``"float16"``, the dtype of the state tensors.
        initial_state, chunk_state, g, beta, use_qk_l2norm: which arguments are given.
        cores: AI cores the plan may use, 1 to 8.
        schedule: ``"sequence-major"`` (a core runs all chunks of a v-head, the state on chip), ``"v-tiles"`` (of a slice
            of Dv), ``"chunk-parallel"`` (the cores of a v-head also share out what does not depend on the state, chunk by
            chunk; ``"chunk-parallel:4"`` fixes the rounds between two meetings of all cores, 2, 4, 6, 8 or 16) or
            ``"auto"``, the one predicted to be fastest. None: what ``CHUNK_GDR_SCHEDULE`` says, else auto.
        chunk_size: tokens per chunk, 1, 2, 4, 8, 16, 32 or 64; a chunk costs the same however few they are, but its sums
            are shorter and more accurate; chunk-parallel takes as much workspace for each. ``"auto"``: 64, with ``dk`` up
            to 16 it is 8. None: what ``CHUNK_GDR_CHUNK_SIZE`` says, else auto.

    Raises:
        ValueError: a quantity is out of range; the message names it, the limit and the value.
    """
    if state_dtype not in ("float32", "float16"):
        dtypes = "'float32' or 'float16'"
        raise ValueError(f"chunk_gated_delta_rule tiling: state_dtype must be {dtypes}, got {state_dtype!r}")
    lengths = [_whole(f"lengths[{i}]", n, 0, INT32_MAX) for i, n in enumerate(lengths)]
    nk, nv = _whole("nk", nk, 1, INT32_MAX), _whole("nv", nv, 1, INT32_MAX)
    dk, dv = _whole("dk", dk, 1, MAX_HEAD_DIM), _whole("dv", dv, 1, MAX_HEAD_DIM)
    cores = _whole("cores", cores, 1, MAX_CORES)
    if nv % nk:
        raise ValueError(f"chunk_gated_delta_rule tiling: nv must be a multiple of nk {nk}, got {nv}")
    total = _whole("the sum of lengths", sum(lengths), 0, INT32_MAX)
    problem = {
        "total_tokens": total,
        "batch": len(lengths),
        "key_heads": nk,
        "value_heads": nv,
        "key_dim": -(-dk // 16) * 16,
        "value_dim": -(-dv // 16) * 16,
        "has_beta": beta,
        "has_g": g,
        "has_initial_state": initial_state,
        "has_lengths": True,
        "has_chunk_state": chunk_state,
        "state_is_half": state_dtype == "float16",
        "use_qk_l2norm": use_qk_l2norm,
        "gate_stride_elems": _C.gate_pitch(total),
        "core_count": cores,
        "schedule": _chosen(schedule, SCHEDULE_VARIABLE, checked_schedule),
        "chunk_size": str(_chosen(chunk_size, CHUNK_SIZE_VARIABLE, checked_chunk_size)),
    }
    raw = _C.plan(**problem)
    return Plan(
        tiling_key=raw["tiling_key"],
        bucket=raw["bucket"],
        schedule=raw["schedule"],
        state_layout=raw["state_layout"],
        block_num=raw["block_num"],
        v_tiles=raw["v_tiles"],
        v_tile_dim=raw["v_tile_dim"],
        chunk_size=raw["chunk_size"],
        rounds_apart=raw["rounds_apart"],
        stages=tuple(raw["stages"]),
        stage_lanes=tuple(raw["stage_lanes"]),
        buffers=tuple(Buffer(**row) for row in raw["buffers"]),
        workspace_bytes=raw["workspace_bytes"],
        workspace=tuple(WorkspaceSlot(**slot) for slot in raw["workspace"]),
        cores=tuple(
            tuple(WorkItem(**item) for item in _C.items_of_core(lengths, core, **problem))
            for core in range(raw["block_num"])
        ),
        launch_cycles=raw["launch_cycles"],
        item_cycles=raw["item_cycles"],
        chunk_cycles=raw["chunk_cycles"],
        core_cycles=tuple(_C.predicted_cycles(lengths, **problem)),
    )
