"""Tests for figures as Vega-Lite specifications."""

from __future__ import annotations

from pathlib import Path

from altair.utils import schemapi

from hopmeter.analysis.results.groups import groups
from hopmeter.analysis.results.run_results import read
from hopmeter.report import figures
from hopmeter.report.drawing.charts import Style
from tests.report.rows import cell, run_of


def test_every_figure_is_as_the_schema_of_vega_lite_has_it(run: Path, objects: Path) -> None:
    """Reports are written without validating the figures, because validation is slow."""
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
