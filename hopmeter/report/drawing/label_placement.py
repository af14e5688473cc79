"""Place labels next to dots so that no label covers another label or a dot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hopmeter.report.drawing.folding import LETTER, LINE

DOT = 6.0
"""Half the width of a dot including its margin, in pixels."""

Side = Literal["left", "right", "center"]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Plot:
    """A plot area with two logarithmic axes, in axis units and in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel position of a point, relative to the upper left corner."""
        return _share(x, self.x) * self.width, (1 - _share(y, self.y)) * self.height

    def value(self, across: float, down: float) -> tuple[float, float]:
        """Return the point, in axis units, at a pixel position."""
        return _at(across / self.width, self.x), _at(1 - down / self.height, self.y)


def _at(share: float, ends: tuple[float, float]) -> float:
    return float(ends[0] * (ends[1] / ends[0]) ** share)


def _share(value: float, ends: tuple[float, float]) -> float:
    return math.log(value / ends[0]) / math.log(ends[1] / ends[0])


@dataclass(frozen=True)
class Label:
    """A label with the position of its dot and its offset from the dot."""

    text: str
    x: float
    y: float
    align: Side
    dx: float
    dy: float
    covers: float = 0.0
    """The weighted area in which the label covers other labels and dots, or extends beyond the plot."""

    def leader(self, plot: Plot) -> tuple[float, float] | None:
        """Return the label end of the line from the dot to its label, or None if the label touches the dot."""
        far = math.hypot(self.dx, self.dy)
        if far < RINGS[0]:
            return None
        across, down = plot.pixel(self.x, self.y)
        share = 1 - LINE / 2 / far
        return plot.value(across + self.dx * share, down + self.dy * share)


CHOICES: tuple[tuple[Side, float, float], ...] = (
    ("left", 10.0, 0.0),
    ("right", -10.0, 0.0),
    ("center", 0.0, -14.0),
    ("center", 0.0, 15.0),
    ("left", 8.0, -12.0),
    ("left", 8.0, 13.0),
    ("right", -8.0, -12.0),
    ("right", -8.0, 13.0),
)
"""The preferred offsets of a label, best first. At these offsets, a label is so close to its dot that no connecting
line is needed."""
NUMBER = 0.7
"""The factor by which the offset of a label with one or two digits is reduced."""
RINGS = (20.0, 28.0, 37.0, 47.0, 58.0, 70.0)
"""The distances at which a numeric label is tried if it does not fit next to its dot."""
AROUND: tuple[tuple[Side, float, float], ...] = tuple(
    ("center", ring * math.cos(turn * math.pi / 10), ring * math.sin(turn * math.pi / 10))
    for ring in RINGS
    for turn in range(20)
)


def place(dots: Sequence[tuple[str, float, float]], plot: Plot) -> list[Label]:
    """Return a label for each dot, in the order of the dots. Each label takes the first free position. If no position
    is free, the label takes the position where it covers the smallest area of other labels and dots."""
    taken = [_around(*plot.pixel(x, y)) for _, x, y in dots]
    labels = []
    for text, x, y in dots:
        tries = [(label, box, _cost(box, taken, plot)) for label, box in _tries(text, x, y, plot)]
        label, box, covers = min(tries, key=lambda each: each[2])
        taken.append(box)
        labels.append(replace(label, covers=covers))
    return labels


def _around(x: float, y: float) -> Box:
    return x - DOT, y - DOT, x + DOT, y + DOT


def _tries(text: str, x: float, y: float, plot: Plot) -> list[tuple[Label, Box]]:
    across, down = plot.pixel(x, y)
    wide = len(text) * LETTER
    starts = {"left": 0.0, "right": -wide, "center": -wide / 2}
    found = []
    is_number = len(text) <= 2
    near = NUMBER if is_number else 1.0
    choices = [(align, dx * near, dy) for align, dx, dy in CHOICES]
    for align, dx, dy in [*choices, *(AROUND if is_number else ())]:
        left, middle = across + dx + starts[align], down + dy
        found.append((Label(text, x, y, align, dx, dy), (left, middle - LINE / 2, left + wide, middle + LINE / 2)))
    return found


def _cost(box: Box, taken: Sequence[Box], plot: Plot) -> float:
    inside = _common(box, (0, 0, plot.width, plot.height))
    whole = (box[2] - box[0]) * (box[3] - box[1])
    return sum(_common(box, other) for other in taken) + 3 * (whole - inside)


def _common(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
