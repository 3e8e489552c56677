# SPDX-License-Identifier: Apache-2.0
"""Builds the native parts with CMake and installs them inside the package. All metadata is in pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    """Runs configure, build and install with the package directory as prefix: in the sources for editable installs."""

    def run(self):
        for extension in self.extensions:
            self.build_extension(extension)

    def build_extension(self, ext):
        package_dir = Path(self.get_ext_fullpath(ext.name)).resolve().parent
        build_dir = Path(self.build_temp).resolve() / "cmake"
        build_dir.mkdir(parents=True, exist_ok=True)
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(self.parallel or os.cpu_count() or 1)
        configure = [
            "cmake",
            "--fresh",  # paths of an earlier, isolated build environment are gone
            "-S", str(ROOT),
            "-B", str(build_dir),
            "-G", "Ninja",
            "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_INSTALL_PREFIX={package_dir}",
            f"-DPython3_EXECUTABLE={sys.executable}",
        ]  # fmt: skip
        configure += os.environ.get("CMAKE_ARGS", "").split()
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", str(build_dir), "--parallel", jobs], check=True)
        subprocess.run(["cmake", "--install", str(build_dir)], check=True)


setup(ext_modules=[Extension("chunk_gdr._C", sources=[])], cmdclass={"build_ext": CMakeBuild})
