# SPDX-License-Identifier: Apache-2.0
"""The NPU kernels below the real torch_npu, with fakes for the libraries of CANN.

Slow and large, so by request: CHUNK_GDR_REAL_TORCH_NPU=1.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import toolbox

from chunk_gdr import model

pytestmark = pytest.mark.skipif(
    os.environ.get("CHUNK_GDR_REAL_TORCH_NPU") != "1", reason="by request: CHUNK_GDR_REAL_TORCH_NPU=1"
)

HERE = Path(__file__).parent
CANN = ("acl_op_compiler", "ge_runner", "graph", "hccl", "acl_tdt_channel")
# What torch_npu looks up by name on the way to a tensor on the device.
LOOKED_UP = (
    "aclSetCompileopt",
    "aclrtDestroyStreamForce",
    "aclrtSetDeviceSatMode",
    "aclrtSetOpExecuteTimeOut",
    "aclrtSetStreamOverflowSwitch",
)


def run(*command, **environment):
    done = subprocess.run(list(map(str, command)), env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def undefined_functions(package):
    """Names of CANN's functions that torch_npu's libraries lack."""
    names = set()
    for library in (package / "lib" / "libtorch_npu.so", *package.glob("_C*.so")):
        names |= {line.split()[-1].partition("@")[0] for line in run("nm", "-D", "-u", library).splitlines()}
    return {name for name in names if name.startswith(("acl", "Hccl", "hccl", "Msprof", "rt"))}


def fake_cann(package, headers, folder):
    """Libraries of CANN: ours, and functions that return 0 for the rest."""
    library = folder / "libascendcl.so"
    package_libs = model.library_path().parent
    link = [f"-L{package_libs}", f"-Wl,-rpath,{package_libs}", "-lchunk_gdr_model", "-ldl"]
    includes = [*(f"-I{folder}" for folder in model.include_dirs()), f"-isystem{headers}"]
    compiler = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", *includes]
    source = HERE / "fake" / "ascendcl.cpp"
    run(*compiler, source, "-o", library, *link)
    ours = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    stubs = folder / "stubs.c"
    rest = sorted((undefined_functions(package) | set(LOOKED_UP)) - ours)
    stubs.write_text("".join(f"long {name}(void) {{ return 0; }}\n" for name in rest))
    run("gcc", "-fPIC", "-c", stubs, "-o", folder / "stubs.o")
    run(*compiler, source, folder / "stubs.o", "-o", library, "-Wl,-soname,libascendcl.so", *link)
    (folder / "empty.c").write_text("")
    for name in CANN:  # looked up in these, found in ours
        target = folder / f"lib{name}.so"
        flags = [f"-Wl,-soname,{target.name}", "-Wl,--no-as-needed", f"-L{folder}", "-lascendcl"]
        run("gcc", "-shared", "-fPIC", folder / "empty.c", "-o", target, *flags)


def npu_library(package, headers, folder):
    """The NPU kernels as CMake builds them: with the real libtorch_npu."""
    torch_libs, package_libs = toolbox.torch_libs(), model.library_path().parent
    target = folder / "libchunk_gdr_npu.so"
    command = ["g++", *toolbox.flags(headers), "-O0", "-g0", "-fPIC", "-shared", *toolbox.GLUE, "-o", target]
    libraries = [f"-L{package / 'lib'}", "-ltorch_npu", f"-L{torch_libs}", "-ltorch_cpu", "-lc10"]
    libraries += [f"-L{package_libs}", f"-Wl,-rpath,{package_libs}", "-lchunk_gdr_ops", "-Wl,--allow-shlib-undefined"]
    done = subprocess.run(list(map(str, [*command, *libraries])), cwd=toolbox.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def test_the_whole_path_below_the_real_torch_npu(tmp_path):
    try:
        package = toolbox.torch_npu_package(everything=True)
    except toolbox.NoHeaders as reason:
        pytest.skip(str(reason))
    headers = package / "include"
    fake_cann(package, headers, tmp_path)
    kernels = model.build(toolbox.ROOT / "op_kernel/chunk_gated_delta_rule/direct.cpp")
    path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    program = (sys.executable, HERE / "real_torch_npu.py", npu_library(package, headers, tmp_path), kernels)
    seen = json.loads(run(*program, PYTHONPATH=path, LD_LIBRARY_PATH=str(tmp_path)).splitlines()[-1])
    assert seen["device"] == "npu:0" and all("not this package" not in row for row in seen["registration"])
    assert seen["passed"] == [True, True] and seen["bits"] == [True, True] and seen["compiled"]
    launches = [line for line in seen["events"] if line.startswith("launch ")]
    assert len(launches) == 1 and f" stream={seen['stream'] - 0x1000} " in launches[0]
    assert not [line for line in seen["events"] if line.startswith("copy ")]
    assert "model errors=0 auto_sync=0" in seen["events"]
    failure = "chunk_gated_delta_rule on npu:0: aclrtLaunchKernelWithConfig failed with code 507899"
    assert seen["error"].startswith(failure)
