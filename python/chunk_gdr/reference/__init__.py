# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule, twice: as the truth and as the algebra of the kernel.

`recurrence` is the fp64 token recurrence, the truth every other implementation is compared with. `chunked` is the fp32
chunked form, stage by stage as the kernel computes it, with the kernel's fp16 roundings on request.

The formula is that of Yang, Kautz, Hatamizadeh, "Gated Delta Networks" (2024).
"""

from .chunked import COMPENSATED, FP32, Policy, Terms, chunked
from .recurrence import CHUNK, Result, l2norm, recurrence

__all__ = ["CHUNK", "COMPENSATED", "FP32", "Policy", "Result", "Terms", "chunked", "l2norm", "recurrence"]
