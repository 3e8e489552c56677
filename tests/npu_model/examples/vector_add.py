# SPDX-License-Identifier: Apache-2.0
"""Runs vector_add.cpp on the host model: python vector_add.py vector_add.so"""

import struct
import sys

import numpy as np
from chunk_gdr import model

rng = np.random.default_rng(0)
n = 100_000
x, y = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
z = np.full(n, np.nan, np.float32)
for array in (x, y):
    array.flags.writeable = False  # a write to it is reported

arguments = {"x": x, "y": y, "z": z}  # in the kernel's order; workspace and tiling follow by themselves
report = model.run(sys.argv[1], "vector_add", arguments, tiling=struct.pack("<I", n), block_num=8)
print(report.error or report.text or "no hazards")
np.testing.assert_array_equal(z, x + y)
print(f"{n} sums are right, {report.cycles:,.0f} model cycles on the slowest of 8 cores")
assert not report.error and report.errors == report.auto_sync == 0
