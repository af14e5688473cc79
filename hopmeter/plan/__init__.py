"""From a scenario to cells, and from a cell to what its nodes are told."""

from hopmeter.model.cell import Cell
from hopmeter.plan.make import Plan, make

__all__ = ["Cell", "Plan", "make"]
