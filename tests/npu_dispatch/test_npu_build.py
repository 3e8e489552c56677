# SPDX-License-Identifier: Apache-2.0
"""csrc/npu/CMakeLists.txt with and without torch_npu and CANN.

CANN's own CMake files are replaced by ones that note what they are asked for.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).parent / "fake" / "cann"
OPERATOR = "chunk_gated_delta_rule"

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("make") is None, reason="cmake and make are not both here"
)

PROJECT = f"""
cmake_minimum_required(VERSION 3.20)
project(npu LANGUAGES CXX)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_library(chunk_gdr_ops INTERFACE)
add_library(torch_headers_and_libs INTERFACE)
add_subdirectory({ROOT}/csrc/npu csrc/npu)
"""


def run(*command, **environment):
    clean = {name: x for name, x in os.environ.items() if not name.startswith("ASCEND")}
    done = subprocess.run(
        [str(word) for word in command], env=clean | environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def configure(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)

    def run_cmake(*flags, **environment):
        generator = ["-G", "Unix Makefiles", f"-DPython3_EXECUTABLE={sys.executable}"]
        prefix = f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}"
        return run("cmake", "-S", tmp_path, "-B", tmp_path / "build", *generator, prefix, *flags, **environment)

    return run_cmake


@pytest.fixture
def cann(tmp_path):
    home = tmp_path / "cann"
    shutil.copytree(FAKE, home / "compiler" / "tikcpp" / "ascendc_kernel_cmake")
    return home


def test_without_anything(configure, tmp_path):
    text = configure(f"-DTORCH_NPU_DIR={tmp_path / 'nowhere'}")
    lines = [line for line in text.splitlines() if line.startswith(("-- torch_npu", "-- CANN"))]
    assert len(lines) == 2 and "kernels for its tensors are left out" in lines[0]
    assert lines[1].startswith("-- CANN: not found (ASCEND_HOME_PATH is not set); device kernels and operator package")
    run("cmake", "--build", tmp_path / "build")


def test_a_runtime_without_the_toolkit(configure, tmp_path):
    text = configure(ASCEND_HOME_PATH=str(tmp_path))
    assert f"CANN: no ascendc.cmake below {tmp_path}" in " ".join(text.split())


def test_torch_npu_is_found(configure, tmp_path):
    header = tmp_path / "torch_npu" / "include" / "torch_npu" / "csrc" / "core" / "npu" / "NPUStream.h"
    header.parent.mkdir(parents=True)
    header.write_text("")
    assert f"-- torch_npu: {tmp_path / 'torch_npu'}" in configure(f"-DTORCH_NPU_DIR={tmp_path / 'torch_npu'}")
    assert "chunk_gdr_npu" in run("cmake", "--build", tmp_path / "build", "--target", "help")


def test_device_binary(configure, cann, tmp_path):
    text = configure("-DCHUNK_GDR_SOC_VERSION=Ascend310P1", ASCEND_HOME_PATH=str(cann))
    assert f"-- CANN: {cann}; device kernels for Ascend310P1" in text
    run("cmake", "--build", tmp_path / "build")
    run("cmake", "--install", tmp_path / "build")
    binary = (tmp_path / "installed" / "lib" / "device" / f"{OPERATOR}.o").read_text().splitlines()
    assert binary[0].split() == [str(ROOT / "op_kernel" / OPERATOR / "direct.cpp"), "Ascend310P1", str(cann)]
    assert binary[1:] == [
        "definitions HAVE_WORKSPACE;HAVE_TILING",
        "options SHELL:-mllvm -cce-aicore-jump-expand=true",
    ]


def test_a_toolkit_without_operator_packages(configure, cann, tmp_path):
    next(cann.rglob("asc-config.cmake")).unlink()
    text = " ".join(configure(ASCEND_HOME_PATH=str(cann)).split())
    assert "CANN: no CMake package ASC below" in text and "the operator package is left out" in text
    run("cmake", "--build", tmp_path / "build")
    assert not (tmp_path / "build" / "csrc" / "npu" / "op_package").exists()


def test_operator_package(configure, cann, tmp_path):
    configure(ASCEND_HOME_PATH=str(cann))
    run("cmake", "--build", tmp_path / "build")
    folder = tmp_path / "build" / "csrc" / "npu" / "op_package"
    assert (folder / "custom_opp.run").exists()
    calls = [line.split(" ", 1) for line in (folder / "calls.txt").read_text().splitlines()]
    arguments = {name: words.split(";") for name, words in calls}
    sources = {str(path) for path in (ROOT / "op_host" / OPERATOR).glob("*.cpp")}
    assert {name for name, _ in calls} == {
        "npu_op_package", "npu_op_code_gen", "npu_op_library", "npu_op_kernel_sources", "npu_op_kernel_library",
        "npu_op_package_add",
    }  # fmt: skip
    assert sources <= set(arguments["npu_op_code_gen"])
    assert arguments["npu_op_kernel_sources"] == [
        "ascendc_kernels", "OP_TYPE", "ChunkGatedDeltaRule", "KERNEL_DIR", OPERATOR, "KERNEL_FILE", "entry.cpp",
    ]  # fmt: skip
    assert str(ROOT / "op_kernel") in arguments["npu_op_kernel_library"]
