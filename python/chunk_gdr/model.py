# SPDX-License-Identifier: Apache-2.0
"""Build and run AscendC kernels on the host model of dav_m200 (Ascend 310P).

    from chunk_gdr import model
    lib = model.build("vector_add.cpp")
    report = model.run(lib, "vector_add", {"x": x, "y": y, "z": z}, tiling=struct.pack("<I", n), block_num=8)
    print(report.cycles, report.errors, report.text)

Cycles are model cycles (csrc/npu_model/README.md says how far to trust them).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .model_build import BuildError, build, include_dirs, library_path

__all__ = ["BuildError", "Report", "build", "include_dirs", "last_report", "library_path", "options", "run"]

SYSTEM_WORKSPACE_BYTES = 2 * 1024 * 1024  # GetUserWorkspace skips it


def run(
    lib: str | os.PathLike,
    entry: str,
    args: Mapping[str, np.ndarray | None] | Sequence[np.ndarray | None],
    tiling: bytes | bytearray | memoryview | np.ndarray = b"",
    block_num: int = 1,
    workspace_bytes: int = 0,
    tiling_key: int = 0,
    workspace: np.ndarray | None = None,
    **options: Any,
) -> Report:
    """Run `entry` of a library made by `build` on the host model.

    args: the GM arguments in the kernel's order, as {name: array} or a list; worked on in place. Arrays must be
    C-contiguous; a read-only array is an input the kernel must not write; None is an absent optional. The workspace (2
    MiB system part + workspace_bytes, uninitialised, or the given array) and the tiling bytes are appended.

    options: execution="program"|"adversarial", seed=0, threads=0 (all), cores=8, params="pessimistic"|"optimistic",
    overflow="saturate"|"inf", permute_cube=False, checked=True, trace=False, progress=callable(done, total),
    buffers=[(name, memory, offset_bytes, bytes, first_stage, last_stage)], stages={id: name}, redundant_sync=True in
    checked program order (judge which flags and barriers could go), sync_sites=False (report every flag and barrier
    with its identity), drop_sync=[identity] (leave these out).

    What the kernel does wrong is in the report, not an exception.
    """
    from chunk_gdr import _C

    named = dict(args) if isinstance(args, Mapping) else {f"arg{i}": array for i, array in enumerate(args)}
    gm = [_gm_argument(name, array) for name, array in named.items()]
    if workspace is None:
        workspace = np.full(SYSTEM_WORKSPACE_BYTES + workspace_bytes, 0xFF, dtype=np.uint8)
        gm.append((workspace, "workspace", True, False))
    else:
        gm.append(_gm_argument("workspace", workspace))
    in_order = options.get("checked", True) and options.get("execution", "program") == "program"
    options.setdefault("redundant_sync", in_order)
    report = _C.model_launch(
        str(Path(lib).resolve()), entry, gm, bytes(tiling), block_num=block_num, tiling_key=tiling_key, **options
    )
    return Report(report)


# Blocks of several threads may end in any order, so each takes only its own changes out.
_options_lock = threading.Lock()
_changes: list[dict[str, Any]] = []  # of every options() block that has not ended, oldest first

_WHOLE_OPTIONS = {"cores": (1, 8), "seed": (0, 2**64 - 1), "threads": (0, 2**31 - 1)}


@contextlib.contextmanager
def options(**changes: Any) -> Iterator[None]:
    """Launch options of the torch operators' "model" backend inside the block; process-wide, nested blocks add up.

    Names and values as for `run`, without buffers, stages, block_num and tiling_key, which the operator's plan sets.
    Of the blocks that have not ended, in whatever thread, the one entered last decides about an option.

    Raises:
        ValueError: a value is out of range; the message names the option, the limits and the value.
    """
    _check_options(changes)
    with _options_lock:
        _set_options([*_changes, changes])
    try:
        yield
    finally:
        with _options_lock:
            _set_options([other for other in _changes if other is not changes])


def _set_options(blocks: list[dict[str, Any]]) -> None:
    from chunk_gdr import _C

    merged: dict[str, Any] = {}
    for block in blocks:
        merged |= block
    _C.model_set_default_options(**merged)
    _changes[:] = blocks


def _check_options(changes: Mapping[str, Any]) -> None:
    """What a launch would refuse later, or in other words; names and the values of the others are checked when set."""
    for name, (low, high) in _WHOLE_OPTIONS.items():
        value = changes.get(name, low)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
            raise ValueError(f"model.options: '{name}' must be a whole number in {low}..{high}, got {value!r}")
    for name in ("permute_cube", "checked", "trace", "sync_sites", "redundant_sync"):
        if not isinstance(changes.get(name, False), (bool, np.bool_)):
            raise ValueError(f"model.options: '{name}' must be True or False, got {changes[name]!r}")
    progress = changes.get("progress")
    if progress is not None and not callable(progress):
        raise ValueError(f"model.options: 'progress' must be a callable, got {progress!r}")


def last_report() -> Report | None:
    """The report of the latest kernel this process ran on the host model, by `run` or by the "model" backend.

    It has hazards, cycles and traffic. Accuracy needs the truth beside the results: chunk_gdr.compare.
    """
    from chunk_gdr import _C

    report = _C.model_last_report()
    return None if report is None else Report(report)


class Report:
    """What a launch tells about itself."""

    def __init__(self, report: Any):
        self._report = report

    def __reduce__(self):
        raise TypeError("a model report cannot be pickled or deep-copied: take report.to_dict() or report.to_json()")

    def __copy__(self) -> Report:
        return Report(self._report)

    def __getitem__(self, key: str) -> Any:
        return self._dict[key]

    @property
    def errors(self) -> int:
        """Hazards of grade error, repetitions included."""
        return self._report.errors

    @property
    def auto_sync(self) -> int:
        """Missing edges that only the compiler's --cce-auto-sync would insert."""
        return self._report.auto_sync

    @property
    def error(self) -> str:
        """Why the kernel was abandoned (deadlock, illegal use); empty if every block ran to its end."""
        return self._report.error

    @property
    def cycles(self) -> float:
        """Model cycles of the slowest core."""
        return self._report.cycles

    @property
    def text(self) -> str:
        """The hazard reports, worst grade first, and the flags and barriers that could go; empty without either."""
        redundant = self._report.redundant_sync_text if self.redundant_sync else ""
        return self._report.hazard_text() + redundant

    @property
    def hazards(self) -> list[dict[str, Any]]:
        """One dict per distinct hazard: rule, grade, count, text, access, earlier, missing, fix, report."""
        return self.to_dict()["hazards"]["reports"]

    @property
    def redundant_sync(self) -> list[dict[str, Any]]:
        """Flag pairs and barriers without which, one at a time, all that was ordered still is; with what each costs.

        Empty also where nothing was judged: `to_dict()["redundant_sync"]`, if there, says why.
        """
        return [group for group in self._dict.get("redundant_sync", {}).get("groups", []) if group["redundant"]]

    @functools.cached_property
    def _dict(self) -> dict[str, Any]:
        return json.loads(self._report.to_json())

    def to_dict(self) -> dict[str, Any]:
        """The whole report: hazards, traffic, model_cycles, stages (busy cycles), blocks (queues, prints)."""
        return self._dict

    def to_json(self) -> str:
        return self._report.to_json()

    def write_profile(self, directory: str | os.PathLike) -> Path:
        """Write trace.json (for a trace viewer; needs run(..., trace=True)) and CSV tables of each core."""
        self._report.write_profile(str(directory))
        return Path(directory)

    def __repr__(self) -> str:
        hazards = f"{self.errors} errors, {self.auto_sync} relying on auto-sync"
        return f"<model report: {self.cycles:.0f} model cycles, {hazards}>"


def _gm_argument(name: str, array: np.ndarray | None) -> tuple[np.ndarray | None, str, bool, bool]:
    if array is None:
        return None, name, False, True
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        got = f"one with strides {array.strides}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"GM argument '{name}': expected a C-contiguous numpy array, got {got}")
    return array, name, bool(array.flags.writeable), True
