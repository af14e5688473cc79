"""The style of all figures, and the only place that defines the figure colours. For dark mode, the page replaces the
colours with CSS variables."""

from __future__ import annotations

from typing import Any

WIDTH = 430
"""The width of a figure in pixels. Two figures of this width fit side by side on a desktop, and one figure fills a
phone screen."""

FONT = "'Source Sans 3','Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"

INK = "#1b2430"
SOFT = "#5a6673"
LINE = "#c5ccd4"
GRID = "#e6e9ed"
PAPER = "#ffffff"

# Eight hues based on Okabe and Ito, darkened to a contrast of at least 3:1 on white. The colours remain distinguishable
# with all common types of colour blindness.
SERIES = ("#0067a5", "#c8510a", "#00795a", "#a4508b", "#3b8fc4", "#9a6b00", "#5b4fa2", "#6b7680")
SERIES_DARK = ("#56b4e9", "#f0883e", "#3fbf97", "#dd8fc0", "#9ad3f5", "#e0b040", "#a79df0", "#a9b4be")
MISSED, MISSED_DARK = "#b3261e", "#ff8f85"
"""The red of missed deadlines and lost messages, in light and dark mode."""
DASHES = ([1, 0], [6, 3], [2, 2], [10, 3, 2, 3], [12, 4], [5, 2, 1, 2, 1, 2])

VARIABLES = {
    INK: "--ink",
    SOFT: "--soft",
    LINE: "--line",
    GRID: "--grid",
    PAPER: "--paper",
    MISSED: "--missed",
    **{colour: f"--series-{place}" for place, colour in enumerate(SERIES)},
}


def config() -> dict[str, Any]:
    """Return the Vega-Lite configuration shared by all figures."""
    return {
        "background": PAPER,
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            "labelColor": SOFT,
            "titleColor": SOFT,
            "labelFontSize": 11.5,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "gridColor": GRID,
            "domainColor": LINE,
            "tickColor": LINE,
            "tickSize": 4,
            "labelPadding": 4,
            "titlePadding": 8,
            "labelLimit": 220,
        },
        "axisY": {"domain": False, "ticks": False},
        "axisX": {"grid": False},
        "legend": {
            "labelColor": INK,
            "labelFontSize": 11.5,
            "symbolSize": 420,
            "symbolStrokeWidth": 2,
            "orient": "top",
            "title": None,
            "columnPadding": 14,
            "rowPadding": 3,
            "offset": 12,
        },
        "header": {"labelColor": INK, "labelFontSize": 11.5, "title": None, "labelPadding": 3},
        "line": {"strokeWidth": 2, "strokeJoin": "round"},
        "text": {"fontSize": 11.5, "color": INK},
    }
