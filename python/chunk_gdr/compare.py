# SPDX-License-Identifier: Apache-2.0
"""How far a result is from the truth, for every (sequence, v-head) by itself: masks of inf and nan first, then NRMSE.

    NRMSE = ||x - truth|| / ||truth||        floor = NRMSE of the truth rounded to the dtype of x

Where the truth of a whole head is inf, nan or beyond the dtype of x, there is no NRMSE (it is nan): such a head passes
if its masks agree, and is counted in `masks_only`, because that says nothing about accuracy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Callable, Sequence

import torch
from torch import Tensor

from .reference.recurrence import chunk_counts, starts

FP16_MAX = 65504.0
FP32_BAR = 2e-5  # NRMSE of a state kept in fp32
HALF_BAR = 2.3e-4  # NRMSE of an fp16 result of ordinary size: its rounding floor is about 2.1e-4
FLOOR_MARGIN = 1.1  # tiny or few values have a higher floor, and the bar follows it
RANGE = (2.0**-6, 2.0**15)  # of the largest value of a head's state; the bars are promised inside
OVERFLOWS = ("inf", "saturate", "any")
OVERFLOW_MARGIN = 1e-3  # relative distance from FP16_MAX within which rounding decides between finite and inf


@dataclass(frozen=True)
class HeadError:
    """One (sequence, v-head). `worst_index` points into the whole tensor."""

    sequence: int
    head: int
    values: int
    nrmse: float
    floor: float
    bar: float
    max_abs: float
    worst_index: tuple[int, ...]
    worst_value: float
    worst_truth: float
    largest_truth: float  # finite ones only
    mask_errors: int
    compared: int  # values that are finite in both; 0: only masks were compared, and nrmse is nan
    passed: bool

    @property
    def badness(self) -> float:
        """Sorts heads: wrong masks first, then by how much of the bar is used."""
        if self.mask_errors:
            return float("inf")
        return self.nrmse / self.bar if self.compared else -1.0


@dataclass(frozen=True)
class Comparison:
    name: str
    dtype: str
    heads: tuple[HeadError, ...]  # worst first

    @property
    def passed(self) -> bool:
        return all(h.passed for h in self.heads)

    @property
    def masks_only(self) -> int:
        """Heads that agree in inf and nan and have no finite value to compare."""
        return sum(h.passed and not h.compared for h in self.heads)

    @property
    def worst(self) -> HeadError | None:
        return self.heads[0] if self.heads else None

    def to_dict(self, all_heads: bool = False) -> dict:
        """The worst head under `nrmse`, `bar`, ...; a result with no values is exact."""
        worst = self.worst
        result = {
            "dtype": self.dtype,
            "passed": self.passed,
            "heads": len(self.heads),
            "nrmse": worst.nrmse if worst else 0.0,
            "floor": worst.floor if worst else 0.0,
            "bar": worst.bar if worst else bar_of(self.dtype, 0.0),
            "max_abs": max((h.max_abs for h in self.heads), default=0.0),
            "mask_errors": sum(h.mask_errors for h in self.heads),
            "masks_only": self.masks_only,
            "worst": asdict(worst) if worst else None,
        }
        if all_heads:
            result["per_head"] = [asdict(h) for h in self.heads]
        return result

    def table(self, top: int | None = None) -> str:
        """The `top` worst heads (None = all) as text."""
        failed = sum(not h.passed for h in self.heads)
        verdict = "all within the bar" if not failed else f"{failed} MISS THE BAR"
        if self.masks_only:
            without = f"{self.masks_only} with no finite value to compare"
            verdict = without if self.masks_only == len(self.heads) else f"{verdict}, {without}"
            verdict = verdict.replace("all within", "the others within")
        lines = [f"{self.name} ({self.dtype}): {len(self.heads)} heads, {verdict}"]
        if self.heads:
            lines.append("   seq head      nrmse      floor        bar    max abs  worst element: got / truth")
        for h in self.heads[:top]:
            index = ",".join(map(str, h.worst_index))
            line = (
                f"{h.sequence:6d} {h.head:4d} {h.nrmse:10.3e} {h.floor:10.3e} {h.bar:10.3e} {h.max_abs:10.3e}"
                f"  [{index}]: {h.worst_value:.6g} / {h.worst_truth:.6g}"
            )
            if h.mask_errors:
                line += f"  ({h.mask_errors} wrong inf/nan)"
            if not h.compared:
                line += "  no finite value to compare"
            if not h.passed:
                line += "  MISSED"
                if self.name != "out" and not RANGE[0] <= h.largest_truth <= RANGE[1]:
                    line += f" (largest value {h.largest_truth:.1e}: outside the range of the bars)"
            lines.append(line)
        if top is not None and len(self.heads) > top:
            lines.append(f"  ... and {len(self.heads) - top} more heads, each using less of its bar")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table(top=5)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def bar_of(dtype: str, floor: float) -> float:
    """The accuracy bar for a result stored as `dtype` with this rounding floor."""
    return FP32_BAR if dtype in ("float32", "float64") else max(HALF_BAR, FLOOR_MARGIN * floor)


def mask_errors(x: Tensor, truth: Tensor, half: bool, overflow: str) -> tuple[Tensor, Tensor]:
    """(where x is inf, nan or finite and must not be, where both are ordinary numbers to be compared).

    A truth beyond the range of fp16 is inf or saturated in x, by the chip's overflow mode: `overflow` is one of
    OVERFLOWS.
    """
    ordinary = truth.isfinite()
    wrong = (truth.isnan() != x.isnan()) | (truth.isinf() & (x != truth))
    if half:
        beyond = ordinary & (truth.abs() > FP16_MAX)
        border = ordinary & ((truth.abs() - FP16_MAX).abs() <= OVERFLOW_MARGIN * FP16_MAX)
        same_sign = torch.signbit(truth) == torch.signbit(x)
        is_inf = x.isinf() & same_sign
        is_largest = (x.abs() == FP16_MAX) & same_sign
        accepted = {"inf": is_inf, "saturate": is_largest, "any": is_inf | is_largest}[overflow]
        near = (x.isinf() | (x.abs() >= (1 - 2 * OVERFLOW_MARGIN) * FP16_MAX)) & same_sign
        wrong |= (beyond & ~border & ~accepted) | (border & ~near)
        # An overflowed state makes the truth's own inf saturate too.
        wrong &= ~(truth.isinf() & accepted)
        ordinary &= ~beyond & ~border
    return wrong | (ordinary & ~x.isfinite()), ordinary & x.isfinite()


def head_error(
    x: Tensor, truth: Tensor, sequence: int, head: int, index_of: Callable, dtype: torch.dtype, overflow: str
) -> HeadError:
    """x, truth: the values of one (sequence, v-head) in any shape, truth in fp64; index_of maps a position in them to
    one in the whole tensor; dtype: that of the result, which decides its floor and bar."""
    half = dtype == torch.float16
    x64 = x.double()
    wrong, ordinary = mask_errors(x64, truth, half, overflow)
    difference = torch.where(ordinary, x64 - truth, 0.0)
    kept = torch.where(ordinary, truth, 0.0)
    norm = kept.norm().item()

    def nrmse(d: Tensor) -> float:
        size = d.norm().item()
        return 0.0 if size == 0 else (size / norm if norm else float("inf"))

    floor = nrmse(kept.to(dtype).double() - kept)
    bar = bar_of(dtype_name(dtype), floor)
    compared = int(ordinary.sum())
    error = nrmse(difference) if compared else float("nan")
    # The element to show: a wrong mask if there is one, else the largest difference.
    position = int((wrong.double() if wrong.any() else difference.abs()).argmax())
    local = tuple(int(i) for i in torch.unravel_index(torch.tensor(position), x.shape))
    return HeadError(
        sequence=sequence,
        head=head,
        values=x.numel(),
        nrmse=error,
        floor=floor,
        bar=bar,
        max_abs=difference.abs().max().item(),
        worst_index=index_of(local),
        worst_value=x64[local].item(),
        worst_truth=truth[local].item(),
        largest_truth=torch.where(truth.isfinite(), truth, 0.0).abs().max().item(),
        mask_errors=int(wrong.sum()),
        compared=compared,
        passed=not wrong.any() and (compared == 0 or error <= bar),
    )


def check_arguments(name: str, x: Tensor, truth: Tensor, counts: Sequence[int], overflow: str) -> None:
    def require(condition: bool, argument: str, expected: str, got) -> None:
        if not condition:
            raise ValueError(f"chunk_gdr.compare, {name}: argument '{argument}': expected {expected}, got {got}")

    shape = list(truth.shape)
    require(truth.dim() >= 2, "truth", "shape [rows, heads, ...]", shape)
    require(list(x.shape) == shape, "x", f"shape {shape} (that of 'truth')", list(x.shape))
    require(x.is_floating_point(), "x", "a floating-point dtype", dtype_name(x.dtype))
    require(min(counts, default=0) >= 0, "lengths", "lengths >= 0", list(counts))
    require(sum(counts) == shape[0], "lengths", f"lengths of {shape[0]} rows (those of 'truth')", f"{sum(counts)} rows")
    require(overflow in OVERFLOWS, "overflow", f"one of {', '.join(OVERFLOWS)}", repr(overflow))


def compare_rows(name: str, x: Tensor, truth: Tensor, counts: Sequence[int], overflow: str = "any") -> Comparison:
    """x, truth [rows, heads, ...], where sequence b owns the next counts[b] rows.

    Raises:
        ValueError: shapes that differ, rows that nobody owns, no floating-point dtype, an unknown overflow mode.
    """
    check_arguments(name, x, truth, counts, overflow)
    truth = truth.double()
    heads = []
    for sequence, (begin, count) in enumerate(zip(starts(counts), counts)):
        rows = slice(begin, begin + count)
        for head in range(x.shape[1]):
            part, true_part = x[rows, head], truth[rows, head]
            if part.numel() == 0:
                continue

            def index_of(local, begin=begin, head=head):
                return (begin + local[0], head, *local[1:])

            heads.append(head_error(part, true_part, sequence, head, index_of, x.dtype, overflow))
    heads.sort(key=lambda h: -h.badness)
    return Comparison(name, dtype_name(x.dtype), tuple(heads))


def compare_out(x: Tensor, truth: Tensor, lengths: Sequence[int], overflow: str = "any") -> Comparison:
    """out [T, Nv, Dv]."""
    return compare_rows("out", x, truth, lengths, overflow)


def compare_state(x: Tensor, truth: Tensor, name: str = "final_state", overflow: str = "any") -> Comparison:
    """final_state [B, Nv, Dv, Dk]."""
    return compare_rows(name, x, truth, [1] * truth.shape[0], overflow)


def compare_chunk_state(x: Tensor, truth: Tensor, lengths: Sequence[int], overflow: str = "any") -> Comparison:
    """chunk_state [>= sum ceil(len / 64), Nv, Dv, Dk]; rows of x beyond that sum are not looked at."""
    return compare_rows("chunk_state", x[: truth.shape[0]], truth, chunk_counts(lengths), overflow)
