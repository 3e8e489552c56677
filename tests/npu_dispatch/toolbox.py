# SPDX-License-Identifier: Apache-2.0
"""torch_npu's headers, and what is built with them: the NPU kernels, and a fake of the device and the runtime below."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import scenarios
import torch

from chunk_gdr import model

ROOT = Path(__file__).resolve().parents[2]
VERSION = "2.13.0"  # of torch and of torch_npu
GLUE = ("csrc/npu/device_kernel.cpp", "csrc/npu/library.cpp", "csrc/ops/chunk_gated_delta_rule/npu.cpp")
FAKE = "tests/npu_dispatch/fake/fake.cpp"


class NoHeaders(Exception):
    """Why torch_npu's headers cannot be had."""


def torch_npu_headers() -> Path:
    return torch_npu_package() / "include"


def torch_npu_package(everything: bool = False) -> Path:
    """The package in torch_npu's wheel, or its headers alone: in the cache, downloaded once and never installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "chunk_gdr"
    target = cache / f"torch_npu-{VERSION}{'' if everything else '-headers'}"
    if target.is_dir():
        return target / "torch_npu"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        wheel = download(Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            wanted = [x for x in archive.namelist() if everything or x.startswith("torch_npu/include/")]
            archive.extractall(unpacked, wanted)
        os.replace(unpacked, target)
    return target / "torch_npu"


def download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--retries", "0", "--timeout", "15"]
    try:
        done = subprocess.run(
            [*command, "-d", str(folder), f"torch_npu=={VERSION}"], capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        raise NoHeaders(f"downloading the wheel of torch_npu {VERSION} took more than 120 s") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip gives no reason"])[-1]
        raise NoHeaders(f"the wheel of torch_npu {VERSION} cannot be had: {reason}")
    return wheels[0]


def torch_libs() -> Path:
    return Path(torch.__file__).parent / "lib"


def flags(headers: Path) -> list[str]:
    torch_include = Path(torch.__file__).parent / "include"
    system = [torch_include, torch_include / "torch/csrc/api/include", headers, headers / "third_party/acl/inc"]
    own = [ROOT, ROOT / "csrc", *model.include_dirs()]
    return ["-std=c++17", "-Wall", "-Wextra", "-Werror", *(f"-I{x}" for x in own), *(f"-isystem{x}" for x in system)]


def run_all(commands: list[list[str]]) -> None:
    """Two at a time."""

    def run(command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, " ".join(command) + "\n" + done.stderr

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, commands))


def build(headers: Path, folder: Path) -> dict[str, Path]:
    """Builds the libraries: 'fake', 'npu' and 'kernels' (direct.cpp for the host model)."""
    package_libs = model.library_path().parent
    compiler = [os.environ.get("CXX", "g++"), *flags(headers), "-O0", "-g0", "-fPIC", "-shared"]
    link = [f"-L{torch_libs()}", "-ltorch_cpu", "-lc10", f"-L{package_libs}", f"-Wl,-rpath,{package_libs}", "-ldl"]
    fake, npu = folder / "libfake.so", folder / "libchunk_gdr_npu.so"
    run_all(
        [
            [*compiler, FAKE, "-o", str(fake), *link, "-lchunk_gdr_model"],
            [*compiler, *GLUE, "-o", str(npu), *link, "-lchunk_gdr_ops"],
        ]
    )
    kernels = model.build(ROOT / "op_kernel/chunk_gated_delta_rule/direct.cpp")
    return {"fake": fake, "npu": npu, "kernels": kernels}


@contextlib.contextmanager
def process_with_device(libraries):
    """Runs a function of scenarios.py where the fake device is; this process stays without it."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, scenarios.start, (libraries,)) as pool:
        with mock.patch.dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0"):  # not the torch_npu of this machine
            pool.submit(os.getpid).result(timeout=120)
        yield lambda function, *args, **kwargs: pool.submit(function, *args, **kwargs).result(timeout=120)
