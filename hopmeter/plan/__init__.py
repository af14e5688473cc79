"""Expand a scenario to cells, and a cell to the spec files of its nodes."""

from hopmeter.model.cell import Cell
from hopmeter.plan.make import Plan, make

__all__ = ["Cell", "Plan", "make"]
