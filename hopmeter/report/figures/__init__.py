"""One module a figure, found by listing this folder.

Each has `ORDER`, its place in the report, and one of: `draw(group, style)`, which answers a `Figure`, or None where the
group has nothing for it; `across(groups, style)`, which yields figures over all groups.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from types import ModuleType

from hopmeter.report.drawing import Figure, Style
from hopmeter.report.grouping import Group


def modules(offering: str) -> list[ModuleType]:
    """The figures that have such a function, in the order of the report."""
    found = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return sorted((module for module in found if hasattr(module, offering)), key=lambda module: int(module.ORDER))


def draw(group: Group, style: Style) -> Iterator[Figure]:
    """Every figure that this group has something for."""
    for module in modules("draw"):
        figure = module.draw(group, style)
        if figure is not None:
            yield figure


def across(groups: Sequence[Group], style: Style) -> Iterator[Figure]:
    """Every figure that compares groups."""
    for module in modules("across"):
        yield from module.across(groups, style)
