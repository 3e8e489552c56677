# SPDX-License-Identifier: Apache-2.0
"""Model cycles of fixed shapes beside the bound of the memory, with the accuracy of what was computed.

    row = bench.measure("d64", cases.BENCHES["model"]["d64"])
    print(bench.table([row]))
    row.to_dict()["cycles_per_chunk_head"]
"""

from .figures import Figures, Row, measure
from .roofline import draw
from .tables import table

__all__ = ["Figures", "Row", "draw", "measure", "table"]
