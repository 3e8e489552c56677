# SPDX-License-Identifier: Apache-2.0
"""Where a kernel's time goes, on the host model and on a card, in one table.

    report = model.run(lib, "vector_add", arrays, tiling=..., block_num=8, trace=True)
    report.write_profile("prof")                        # trace.json and CSV tables
    trace = profile.read_trace("prof/trace.json")
    print(profile.table(profile.of_model(report.to_dict(), trace)))
    profile.draw(trace.cores[0], "prof/pipeline.png")   # needs matplotlib
    print(profile.table(profile.read_msprof("OPPROF_...")))  # CSVs of msprof on a card
"""

from ..plotting import PlotUnavailable
from .msprof import read_msprof
from .pipeline import draw, steady_window
from .tables import side_by_side, table
from .trace import Trace, read_trace
from .usage import CoreUse, Profile, ProfileError, QueueUse, StageUse, of_model

__all__ = [
    "CoreUse",
    "PlotUnavailable",
    "Profile",
    "ProfileError",
    "QueueUse",
    "StageUse",
    "Trace",
    "draw",
    "of_model",
    "read_msprof",
    "read_trace",
    "side_by_side",
    "steady_window",
    "table",
]
