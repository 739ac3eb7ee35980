"""Small inline SVG charts: text in, text out, no drawing library.

Colours and type come from the page through CSS classes, so that a chart follows light, dark and
print. Every chart has a title and a description for those who cannot see it, and says with shape
or dash whatever it says with colour.
"""

from efface.report.charts.curves import angles, det, energy, roc
from efface.report.charts.distances import distances
from efface.report.charts.intervals import before_after, usefulness
from efface.report.charts.scatter import scatter
from efface.report.charts.sweeps import sweep

__all__ = [
    "angles",
    "before_after",
    "det",
    "distances",
    "energy",
    "roc",
    "scatter",
    "sweep",
    "usefulness",
]
