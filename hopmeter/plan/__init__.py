"""Turn a scenario into cells, and a cell into the spec files of its nodes."""

from hopmeter.model.cell import Cell
from hopmeter.plan.make import Plan, make

__all__ = ["Cell", "Plan", "make"]
