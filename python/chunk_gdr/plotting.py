# SPDX-License-Identifier: Apache-2.0
"""matplotlib, which only drawings need and not everybody has."""

from __future__ import annotations


class PlotUnavailable(RuntimeError):
    """matplotlib is not installed; the message says how to get it."""


def new_figure(width: float, height: float):
    """A figure to be saved, in inches; no window and no global state of pyplot is involved."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        how = "pip install matplotlib, or this package with its extra [plot]"
        raise PlotUnavailable(f"drawing needs matplotlib: {how}") from None
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
