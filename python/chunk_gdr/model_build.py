# SPDX-License-Identifier: Apache-2.0
"""Builds of kernel sources for the host model, kept while the sources and all they include are unchanged."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

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
