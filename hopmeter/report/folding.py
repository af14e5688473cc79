"""Names that are too long for one line of a figure stand on several, whole: a name that is cut is nobody's."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

LETTER, WIDE, LINE = 6.3, 7.5, 13.0
"""Pixels: the mean width of a letter, that of a wide one in the font that stands in where none of ours is installed,
and the height of a line."""
AXIS = int(220 / WIDE)
"""Letters of a line beside an axis."""


def folded(name: str, room: int) -> list[str]:
    """Its lines, of so many letters at most, broken between words where that goes."""
    return textwrap.wrap(name, room, break_on_hyphens=False) or [""]


def told(names: Sequence[str], room: int) -> dict[str, Any]:
    """What an axis or a legend of names is given so that it folds those that are too long."""
    lines = {name: each for name in names if len(each := folded(name, room)) > 1}
    return {"labelLimit": 0} | ({"labelExpr": f"{json.dumps(lines)}[datum.label] || datum.label"} if lines else {})


def beside(names: Sequence[str], key: str = "label", above: float = 0.5) -> dict[str, Any]:
    """What an axis of names is given; `above` says how much of a name is above its mark, `key` by what.

    Every name gets as many lines as the longest, for an axis moves all its names alike.
    """
    most = height(names)
    lines = [_filled(folded(name, AXIS), most, above) for name in names]
    looked_up = dict(zip(names, lines, strict=True)) if key == "label" else lines
    moved = {"labelOffset": -LINE * (most - 1) * above} if most > 1 else {}
    return {"labelLimit": 0, "labelExpr": f"{json.dumps(looked_up)}[datum.{key}]", "labelLineHeight": LINE, **moved}


def _filled(lines: list[str], most: int, above: float) -> list[str]:
    empty = int((most - len(lines)) * above)
    return [*[""] * empty, *lines, *[""] * (most - len(lines) - empty)]


def height(names: Sequence[str]) -> int:
    """Lines of the name that has most beside an axis."""
    return max((len(folded(name, AXIS)) for name in names), default=1)


def row(names: Sequence[str], least: float) -> float:
    """Pixels that a row takes, so that the names beside the axis have room."""
    return max(least, LINE * height(names) + 8)
