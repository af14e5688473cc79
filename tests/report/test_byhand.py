"""What was measured by hand is drawn as the study draws it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hopmeter.byhand.moments import COLUMNS
from hopmeter.byhand.results import Outcome, Results
from hopmeter.errors import HopmeterError, UsageError
from hopmeter.report import byhand, write

ASKED = {"width": 200, "height": 100, "rate": 50.0, "command": ["hopmeter", "listen"], "machine": {"cores": 2}}
DELAYS_US = {"numpy": 100, "pillow": 400}


def measured(folder: Path, many: int = 300, side: str = "listener") -> Path:
    """A folder as the command leaves it, of delays that are known."""
    from rich.console import Console

    results = Results(side, folder, Console(quiet=True), ASKED)
    for plugin, us in DELAYS_US.items():
        rows = np.zeros((many, len(COLUMNS)), np.int64)
        rows[:, COLUMNS.index("seq")] = np.arange(many)
        for last in ("decoded_ns", "handed_ns"):
            rows[:, COLUMNS.index(last)] = us * 1000 + 10 * np.arange(many)
        results.add(Outcome("zeromq", plugin, "zeromq", plugin, "ok", rows=rows))
    return folder


def test_the_boxes_are_those_of_the_log(tmp_path: Path) -> None:
    found = byhand.read(measured(tmp_path / "l"), 1)
    assert [(line.plugin, line.messages, line.p99) for line in found.lines] == [
        ("numpy", 300, None),
        ("pillow", 300, None),
    ]
    assert found.lines[0].p50 == pytest.approx(101.495)
    assert found.title.startswith("Listener: object 200×100 at 50")
    assert found.figure is not None
    assert "numpy over zeromq 101" in found.figure.alternative
    low, high = (found.run.rows[0].figure(f"p50_{end}") or 0 for end in ("low", "high"))
    assert high - low == pytest.approx(2 * 1.57 * 1.495 / 300**0.5, rel=0.01), "McGill's notch"


@pytest.mark.parametrize("side", ["listener", "publisher"])
def test_the_page_shows_table_figure_and_command(tmp_path: Path, side: str) -> None:
    page = write([measured(tmp_path / "l", side=side)], tmp_path / "page.html").read_text()
    assert all(said in page for said in ("Plugin by plugin", "pillow", "hopmeter listen", ">Cores<"))
    assert byhand.MEANS[side] in page
    assert (tmp_path / "page.html.figures/across-by-hand-1.svg").exists()


def test_a_log_of_an_older_hopmeter_is_drawn_too(tmp_path: Path) -> None:
    folder = measured(tmp_path / "l")
    (folder / byhand.TOLD).unlink()
    assert byhand.read(folder, 1).title == "Listener"


def test_what_was_asked_lies_beside_the_log(tmp_path: Path) -> None:
    assert json.loads((measured(tmp_path / "l") / byhand.TOLD).read_text()) == ASKED


def test_runs_and_what_was_measured_by_hand_are_not_mixed(made: ModuleType, run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not go into one report"):
        write([run, measured(tmp_path / "l")], tmp_path / "page.html")


@pytest.mark.parametrize(
    ("text", "says"),
    [("middleware,plugin,timestamp,count,delay\n", "no message"), ("middleware,plugin\na\n", "damaged")],
)
def test_a_log_that_cannot_be_drawn_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "listener.csv").write_text(text)
    with pytest.raises(HopmeterError, match=says):
        write([tmp_path], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
