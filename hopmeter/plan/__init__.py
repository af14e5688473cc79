"""Expand a scenario to cells, and write the spec files of a cell's nodes."""

from hopmeter.model.cell import Cell
from hopmeter.plan.make import Plan, make

__all__ = ["Cell", "Plan", "make"]
