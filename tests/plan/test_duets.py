"""Cells run as duets only if their nodes are idle during the other side's turn."""

from __future__ import annotations

from typing import Any

import pytest

from hopmeter.manifest import Manifest
from hopmeter.manifest.tables.broker import BrokerTable
from hopmeter.model.cell import Cell
from hopmeter.plan.duets import TURN_S, turn_s
from tests.cells import cell

from .capabilities import transport

BROKER = BrokerTable(title="Broker", command=["broker"], version=["broker", "--version"], ready="port")


def of(broker: BrokerTable | None = None, **values: Any) -> float | None:
    usual = {"side": "new", "pace": "open", "rate_hz": 1000.0, "wait": "block"}
    made: Cell = cell(**{**usual, **values})
    manifest: Manifest = transport("bus", **({"broker": broker} if broker else {}))
    return turn_s(made, manifest)


@pytest.mark.parametrize(
    "values", [{}, {"wait": "callback"}, {"pattern": "rpc"}, {"rate_hz": 500.0}, {"spin_us": 50.0}]
)
def test_a_cell_that_is_idle_between_its_messages_has_turns(values: dict[str, Any]) -> None:
    assert of(**values) == TURN_S


@pytest.mark.parametrize(
    "values",
    [
        {"side": ""},
        {"pace": "poisson"},
        {"pace": "closed", "rate_hz": None},
        {"pace": "max", "rate_hz": None},
        {"pace": "burst", "burst": 10},
        {"wait": "spin"},
        {"wait": "block+spin"},
        {"spin_us": 5000.0},
        {"work": "spin:1ms"},
        {"rate_hz": 499.0},
        {"broker": BROKER},
    ],
)
def test_every_other_cell_is_measured_alone(values: dict[str, Any]) -> None:
    assert of(**values) is None
