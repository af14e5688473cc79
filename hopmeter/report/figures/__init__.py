"""The figures of a report; each module contains one figure. The report finds the figure modules by listing this
package.

Each figure module defines its position `ORDER` and one of the functions `draw` and `across`. `draw(group, style)`
returns a `Figure`, or None if the group lacks the data for the figure. `across(groups, style)` yields figures, each of
which compares several groups.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from types import ModuleType

from hopmeter.analysis.results.groups import Group
from hopmeter.report.drawing.charts import Figure, Style


def modules(function: str) -> list[ModuleType]:
    """Return the figure modules that define the function named `function`, in report order."""
    found = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return sorted((module for module in found if hasattr(module, function)), key=lambda module: int(module.ORDER))


def draw(group: Group, style: Style) -> list[Figure]:
    """Return all figures that the data of `group` allows."""
    figures = (module.draw(group, style) for module in modules("draw"))
    return [figure for figure in figures if figure is not None]


def across(groups: Sequence[Group], style: Style) -> Iterator[Figure]:
    """Yield the figures that show several groups of rows."""
    for module in modules("across"):
        yield from module.across(groups, style)
