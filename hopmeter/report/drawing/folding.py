"""Wrap long names in figures, so that no name is truncated."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

LETTER, WIDE, LINE = 6.3, 7.5, 13.0
"""In pixels: the mean letter width, the letter width in the widest fallback font, and the line height."""
AXIS = int(220 / WIDE)
"""The number of characters on one line next to an axis."""


def fold(name: str, room: int) -> list[str]:
    """Split a name into lines of at most `room` characters, between words if possible."""
    return textwrap.wrap(name, room, break_on_hyphens=False) or [""]


def fold_labels(names: Sequence[str], room: int) -> dict[str, Any]:
    """Return the arguments that make an axis or a legend wrap long names."""
    lines = {name: each for name in names if len(each := fold(name, room)) > 1}
    return {"labelLimit": 0} | ({"labelExpr": f"{json.dumps(lines)}[datum.label] || datum.label"} if lines else {})


def axis_labels(names: Sequence[str], key: str = "label", above: float = 0.5) -> dict[str, Any]:
    """Return the arguments for an axis that wraps names.

    An axis shifts all labels equally, so all names get as many lines as the longest name. `above` is the fraction of a
    label's lines that are placed above the label's tick. `key` is the Vega datum field that identifies the name.
    """
    most = line_count(names)
    lines = [_pad(fold(name, AXIS), most, above) for name in names]
    by_key = dict(zip(names, lines, strict=True)) if key == "label" else lines
    moved = {"labelOffset": -LINE * (most - 1) * above} if most > 1 else {}
    return {"labelLimit": 0, "labelExpr": f"{json.dumps(by_key)}[datum.{key}]", "labelLineHeight": LINE, **moved}


def _pad(lines: list[str], most: int, above: float) -> list[str]:
    empty = int((most - len(lines)) * above)
    return [*[""] * empty, *lines, *[""] * (most - len(lines) - empty)]


def line_count(names: Sequence[str]) -> int:
    """Return how many lines the longest name occupies next to an axis."""
    return max((len(fold(name, AXIS)) for name in names), default=1)


def row_height(names: Sequence[str], least: float) -> float:
    """Return a row height in pixels that leaves room for the wrapped axis labels."""
    return max(least, LINE * line_count(names) + 8)
