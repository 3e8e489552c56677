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
import hashlib
import json
import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BuildError", "Report", "build", "include_dirs", "last_report", "library_path", "options", "run"]

SYSTEM_WORKSPACE_BYTES = 2 * 1024 * 1024  # GetUserWorkspace skips it
_PACKAGE_DIR = Path(__file__).resolve().parent
_LIBRARY = "libchunk_gdr_model.so"


class BuildError(RuntimeError):
    """A kernel source does not compile for the host model; the message ends with the compiler's output."""


def include_dirs() -> list[Path]:
    """Include folders of the drop-in AscendC headers: of the installed package, else of the source checkout."""
    for root in (_PACKAGE_DIR / "include" / "npu_model", _PACKAGE_DIR.parents[1] / "csrc" / "npu_model"):
        if (root / "launch.h").is_file():
            return [root / "api", root]
    raise FileNotFoundError(f"host model headers not found beside {_PACKAGE_DIR}")


def library_path() -> Path:
    """The host model's shared library, which kernel libraries link to."""
    # An editable install keeps the libraries beside the extension module, not beside this file.
    from chunk_gdr import _C

    for root in (_PACKAGE_DIR, Path(_C.__file__).parent):
        path = root / "lib" / _LIBRARY
        if path.is_file():
            return path
    raise FileNotFoundError(f"{_LIBRARY} not found in {_PACKAGE_DIR / 'lib'}; is the package installed?")


def build(
    source: str | os.PathLike | Sequence[str | os.PathLike],
    out: str | os.PathLike | None = None,
    include: Iterable[str | os.PathLike] = (),
    defines: Mapping[str, Any] | None = None,
    flags: Iterable[str] = (),
    optimize: str = "-O1",
) -> Path:
    """Compile kernel source(s) into a shared library for `run`.

    source: one .cpp or several; out: where to put the library (default: a cache entry, reused while the sources and
    every header they include are unchanged); include: further include folders; defines: macros; flags: further compiler
    flags.
    The compiler is $CXX, else g++. Raises BuildError: the compiler cannot be run, or its output; FileNotFoundError: no
    such source.
    """
    sources = [Path(source)] if isinstance(source, (str, os.PathLike)) else [Path(item) for item in source]
    for path in sources:
        if not path.is_file():
            raise FileNotFoundError(f"kernel source {path} does not exist")
    library = library_path()
    command = _compile_command(sources, library, include, defines or {}, flags, optimize)
    key = hashlib.sha256(json.dumps([command, _compiler_version(command[0]), os.getcwd()]).encode()).hexdigest()[:32]
    target = Path(out) if out is not None else _cache_dir() / f"{sources[0].stem}-{key}.so"
    stamp = target.with_suffix(".deps.json")
    if out is None and target.is_file() and _is_current(stamp):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / "kernel.so"
        deps = _compile(command, built, sources, Path(scratch))
        if out is None:
            deps[str(library)] = _digest(library)
            (Path(scratch) / "deps.json").write_text(json.dumps(deps))
            os.replace(Path(scratch) / "deps.json", stamp)
        os.replace(built, target)
    return target


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


def host_compiler() -> list[str]:
    """What builds kernels for the host model, $CXX or g++, with what comes before and behind it (ccache, flags)."""
    return shlex.split(os.environ.get("CXX", "")) or ["g++"]


def _compile_command(
    sources: list[Path],
    library: Path,
    include: Iterable[Any],
    defines: Mapping[str, Any],
    flags: Iterable[str],
    optimize: str,
) -> list[str]:
    command = host_compiler()
    # -fno-gnu-unique: template statics of different kernels must not be merged across libraries.
    command += ["-std=c++17", optimize, "-fPIC", "-shared", "-fno-gnu-unique", "-ffp-contract=off"]
    # For the call paths in reports.
    command += ["-g1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    command += [f"-I{Path(folder).resolve()}" for folder in include]
    for folder in include_dirs():
        command += ["-isystem", str(folder)]
    command += [f"-D{name}={value}" if value is not None else f"-D{name}" for name, value in defines.items()]
    command += list(flags)
    command += [str(path.resolve()) for path in sources]
    command += [f"-L{library.parent}", f"-l{library.stem.removeprefix('lib')}", f"-Wl,-rpath,{library.parent}"]
    return command


def _compile(command: list[str], built: Path, sources: list[Path], scratch: Path) -> dict[str, str]:
    """Runs the compiler; returns {file: digest} of everything it read."""
    depfile = scratch / "kernel.d"
    process = subprocess.run(
        [*command, "-o", str(built), "-MD", "-MF", str(depfile)], capture_output=True, text=True, check=False
    )
    if process.returncode != 0:
        names = ", ".join(str(path) for path in sources)
        raise BuildError(f"{names} does not compile for the host model:\n{process.stderr}")
    files = _files_of_rule(depfile.read_text()) if len(sources) == 1 else _all_headers(command, sources)
    return {name: _digest(Path(name)) for name in files if Path(name).is_file()}


def _all_headers(command: list[str], sources: list[Path]) -> set[str]:
    """With several sources one depfile is not enough: the compiler overwrites it for each."""
    options = [item for item in command if item.startswith(("-I", "-D", "-std"))]
    systems = [part for folder in include_dirs() for part in ("-isystem", str(folder))]
    files: set[str] = set()
    for path in sources:
        process = subprocess.run(
            [command[0], *options, *systems, "-M", str(path)], capture_output=True, text=True, check=True
        )
        files |= _files_of_rule(process.stdout)
    return files


def _files_of_rule(rule: str) -> set[str]:
    """The words of a rule for make; its target and colon are no files."""
    return set(rule.replace("\\\n", " ").split())


def _is_current(stamp: Path) -> bool:
    try:
        deps = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return False
    return all(Path(name).is_file() and _digest(Path(name)) == digest for name, digest in deps.items())


def _digest(path: Path) -> str:
    return _digest_of(str(path), path.stat().st_mtime_ns, path.stat().st_size)


@functools.lru_cache(maxsize=4096)
def _digest_of(name: str, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


@functools.lru_cache(maxsize=8)
def _compiler_version(compiler: str) -> str:
    try:
        done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"C++ compiler '{compiler}' ($CXX, else g++): expected one that runs, got: {error}") from None
    return done.stdout.partition("\n")[0]


def _cache_dir() -> Path:
    root = os.environ.get("CHUNK_GDR_CACHE")
    if not root:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chunk_gdr"
    return Path(root) / "kernels"
