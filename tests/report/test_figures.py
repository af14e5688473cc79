"""Figures as specifications."""

from __future__ import annotations

from pathlib import Path

from altair.utils import schemapi

from hopmeter.analysis.groups import groups
from hopmeter.analysis.run_results import read
from hopmeter.report import figures
from hopmeter.report.drawing import Style
from tests.report.rows import cell, run_of


def test_every_figure_is_as_the_schema_of_vega_lite_has_it(run: Path, objects: Path) -> None:
    """Reports are made without this check, for it takes long."""
    assert schemapi.DEBUG_MODE, "nothing would be checked"
    for folder in (run, objects):
        runs = [read(folder)]
        found, style = groups(runs), Style.of(runs)
        drawn = [*figures.across(found, style), *(figure for group in found for figure in figures.draw(group, style))]
        assert all(figure.chart.to_dict() for figure in drawn)
        assert {figure.name for figure in drawn} >= {"ranking", "cpu"}


def test_settings_have_their_dashes_by_name_and_not_by_chance() -> None:
    kinds = [f"kind={name}" for name in ("pipe", "queue", "shared_memory", "simple_queue")]
    run = run_of(*(cell("queue", 1.0, language="python", profile=kind) for kind in reversed(kinds)))
    assert [profile for _, profile in Style.of([run]).variants] == kinds


def test_the_same_object_is_compared_also_where_another_version_pickles_it_in_fewer_bytes() -> None:
    asked = {"codec": "pickle-in-band", "payload": "image:800x600", "language": "python"}
    rows = [cell(name, 1.0, payload_bytes=size, **asked) for name, size in (("ros1", 1_440_163), ("tcp", 1_440_164))]
    plain = [cell(name, 1.0, payload_bytes=size) for name, size in (("unix", 64), ("zenoh", 65))]
    found = groups([run_of(*rows, *plain)])
    assert [[str(row["transport"]) for row in group.rows] for group in found] == [["unix"], ["zenoh"], ["ros1", "tcp"]]
    assert found[-1].conditions["payload_bytes"] == 1_440_164
