"""Write a report as a self-contained HTML file, and the figures as separate files next to the HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import jinja2
from markupsafe import Markup

from hopmeter.analysis.results.run_results import Run, read
from hopmeter.report import by_hand, run_page
from hopmeter.report.by_hand import folder as hand_folder
from hopmeter.report.drawing import svg, theme
from hopmeter.report.drawing.charts import Figure
from hopmeter.report.sections.section import Page
from hopmeter.report.tables.page import on_page
from hopmeter.report.words import formatting
from hopmeter.store.disk import replacing, writing


def write(run_folders: list[Path], out: Path, figure_folder: Path | None = None) -> Path:
    """Read runs, write their report to `out`, and return `out`.

    Figures are also written as SVG and PNG to `figure_folder`, by default `<out>.figures`. Temporary files ensure that
    the report and the figures appear either complete or not at all.
    """
    is_by_hand = hand_folder.are_by_hand(run_folders)
    runs = [] if is_by_hand else [read(folder) for folder in run_folders]
    folder = figure_folder or out.with_name(f"{out.name}.figures")
    with svg.replacing_figures(folder) as fresh, svg.skip_schema_check():
        text = render(by_hand.page(run_folders), fresh) if is_by_hand else render_runs(runs, fresh)
        with writing(out):
            out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as partly:
            partly.write_text(text, encoding="utf-8", errors="backslashreplace")
    return out


def render_runs(runs: Sequence[Run], figure_folder: Path | None = None) -> str:
    """Return the HTML report of the given runs. If `figure_folder` is given, the figures are also written to this
    directory."""
    with svg.skip_schema_check():
        return render(run_page.page(runs), figure_folder)


def render(page: Page, figure_folder: Path | None = None) -> str:
    """Return the HTML of a page. If `figure_folder` is given, the figures are also written to this directory."""
    template = templates().get_template("page.html.j2")
    with svg.skip_schema_check():
        return template.render(page=page, theme=theme, draw=partial(_draw, figure_folder), on_page=on_page)


@cache
def templates() -> jinja2.Environment:
    """Return the shared Jinja environment, so that each template is compiled only once."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hopmeter.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["code"] = formatting.code
    return environment


def _draw(folder: Path | None, figure: Figure) -> Markup:
    whole = svg.draw(figure)
    if folder is not None:
        with writing(folder / figure.name):
            svg.write_files(whole, folder, figure.name)
    return Markup(svg.inline(figure, whole))
