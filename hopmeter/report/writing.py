"""Writes the report: one HTML file that needs nothing else, and its figures as files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from hopmeter.report import (
    answer,
    byhand,
    facts,
    figures,
    formatting,
    hands,
    hosts,
    machines,
    page,
    processes,
    rendering,
    repeat,
    theme,
)
from hopmeter.report.drawing import Figure, Style
from hopmeter.report.grouping import Group, groups
from hopmeter.report.limits import echoes
from hopmeter.report.searches import searches
from hopmeter.report.source import Run, read
from hopmeter.report.studies.page import parts
from hopmeter.report.warnings import warnings
from hopmeter.store.disk import replacing, writing


@dataclass(frozen=True)
class Drawn:
    """A figure as the page holds it."""

    figure: Figure
    svg: Markup
    stem: str


def write(run_folders: list[Path], out: Path, figure_folder: Path | None = None) -> Path:
    """Reads runs and writes `out`; figures go as SVG and PNG to `figure_folder`, by default `<out>.figures`.

    Report and figures appear at once or not at all: they are written beside their places and moved there.
    """
    told = byhand.are(run_folders)
    runs = [] if told else [read(folder) for folder in run_folders]
    folder = figure_folder or out.with_name(f"{out.name}.figures")
    with rendering.renewing(folder) as fresh:
        text = render_by_hand(run_folders, fresh) if told else render(runs, fresh)
        with writing(out):
            out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as partial:
            partial.write_text(text, encoding="utf-8", errors="backslashreplace")
    return out


def render(runs: Sequence[Run], figure_folder: Path | None = None) -> str:
    """The page; figures are also written as files where a folder is named."""
    with rendering.unchecked():
        return _rendered(runs, figure_folder)


def _rendered(runs: Sequence[Run], figure_folder: Path | None) -> str:
    found = groups(runs)
    style = Style.of(runs)
    template = _environment().get_template("report.html.j2")
    return template.render(
        runs=runs,
        title=page.title(runs),
        question=page.question(runs),
        quick=any(run.quick for run in runs),
        masthead=page.masthead(runs),
        answer=answer.answer(runs, found),
        sweeps=[_drawn(figure, figure.name, figure_folder) for figure in figures.across(found, style)],
        sections=[(page.section(group), _figures(group, style, figure_folder)) for group in found],
        searches=searches(runs),
        echoes=echoes(runs),
        several=machines.about(runs) if hosts.names(runs) else [],
        side_by_side=machines.side_by_side(found),
        studies=parts(runs),
        missing=page.missing(runs),
        warnings=warnings(runs),
        facts=facts,
        machines=machines,
        processes=processes,
        repeat=repeat,
        theme=theme,
        words=formatting,
    )


def render_by_hand(folders: Sequence[Path], figure_folder: Path) -> str:
    """The page of what was measured by hand, a section for each participant's folder."""
    parts = [hands.read(folder, number) for number, folder in enumerate(folders, 1)]
    drawn = [[_drawn(figure, figure.name, figure_folder) for figure in each.figures] for each in parts]
    template = _environment().get_template("byhand.html.j2")
    return template.render(
        parts=list(zip(parts, drawn, strict=True)),
        question=hands.question(parts),
        times=formatting.distinct(page.when(each.run) for each in parts),
        machines=byhand.machines(parts),
        repeat=repeat,
        theme=theme,
        words=formatting,
    )


def _figures(group: Group, style: Style, folder: Path | None) -> list[Drawn]:
    return [_drawn(figure, f"{group.id}-{figure.name}", folder) for figure in figures.draw(group, style)]


def _drawn(figure: Figure, stem: str, folder: Path | None) -> Drawn:
    whole = rendering.svg(figure)
    if folder is not None:
        with writing(folder / stem):
            rendering.write_files(whole, folder, stem)
    return Drawn(figure, Markup(rendering.inline(figure, whole, stem)), stem)


def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("hopmeter.report")
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
