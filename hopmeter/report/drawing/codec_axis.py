"""The vertical axis of codec figures, with the name of each codec next to the codec's boxes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt

from hopmeter.report.drawing import theme
from hopmeter.report.words.codec_rows import PlacedBox


def vertical(stands: Sequence[PlacedBox]) -> alt.Y:
    """Return the vertical channel for a column `y` of positions."""
    scale = alt.Scale(domain=[-0.7, stands[-1].place + 0.7], reverse=True, nice=False)
    return alt.Y("y:Q", axis=_axis(stands), scale=scale)


def _axis(stands: Sequence[PlacedBox]) -> alt.Axis:
    """Return an axis with a label at the middle of each codec's boxes. If there is only one codec, the labels name the
    series."""
    by_codec = len({each.codec for each in stands}) > 1
    places: dict[str, list[float]] = {}
    for each in stands:
        places.setdefault(each.codec if by_codec else each.series, []).append(each.place)
    names = {f"{sum(at) / len(at):.2f}": name for name, at in places.items()}
    return alt.Axis(
        values=[float(at) for at in names],
        labelExpr=f"{json.dumps(names)}[format(datum.value, '.2f')]",
        labelColor=theme.INK,
        title=None,
        grid=False,
    )
