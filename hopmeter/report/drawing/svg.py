"""Save charts as files, and convert charts to compact SVG in the page's colours."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import vl_convert
from altair.utils import schemapi

from hopmeter.report.drawing import theme
from hopmeter.report.drawing.charts import Figure
from hopmeter.store.disk import writing

PNG_SCALE = 3
"""A 430-pixel figure becomes 1290 pixels wide, which is sharp in print too."""

NOISE = (
    (re.compile(r' (?:aria-roledescription|pointer-events|stroke-miterlimit|xmlns:xlink|version)="[^"]*"'), ""),
    (re.compile(r' aria-hidden="true"| role="graphics-(?:object|symbol|document)"| opacity="1"'), ""),
    (re.compile(r'<path class="(?:background|foreground)"(?: d="[^"]*"| display="none")*/>'), ""),
    (re.compile(r' aria-label="[^"]*(?:axis titled|legend titled)[^"]*"'), ""),
    (re.compile(r' class="[^"]*"'), ""),
    (re.compile(r' font-family="[^"]*"'), ""),
)
"""Patterns that match the SVG attributes and paths that Vega writes but the page does not use."""
FILE_NAMES = re.compile(r"(?:group-\d+|sweep|across)-[a-z0-9-]+\.(?:svg|png)")
"""The pattern of the figures' file names."""
GEOMETRY = re.compile(r' (?:d|transform|points|x|y|[xyr][12]?|c[xy]|width|height|stroke-width)="[^"]*"')
"""SVG attributes with values that are rounded to a tenth of a pixel. The digits in texts and labels are not rounded."""
DECIMALS = re.compile(r"(\d+\.\d)\d+")
EMPTY_GROUP = re.compile(r"<g(?: transform=\"translate\([^)]*\)\")?></g>|<g></g>")
OPENING = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"([^>]*)>')


def skip_schema_check() -> AbstractContextManager[None]:
    """Turn off Altair's schema validation, which takes half of the report time. The tests validate all
    figures."""
    return schemapi.debug_mode(False)


def specification(figure: Figure) -> dict[str, Any]:
    """Return the complete Vega-Lite specification of a figure."""
    with skip_schema_check():
        chart: dict[str, Any] = figure.chart.to_dict(validate=False)
    return {**chart, "config": theme.config()}


def draw(figure: Figure) -> str:
    """Return the figure as a standalone SVG with light colours on white."""
    return str(vl_convert.vegalite_to_svg(specification(figure)))


def inline(figure: Figure, whole: str) -> str:
    """Convert a figure's SVG for use within the page. All ids in the SVG start with the figure's name, which makes the
    ids unique on the page."""
    for pattern, instead in NOISE:
        whole = pattern.sub(instead, whole)
    whole = GEOMETRY.sub(lambda found: DECIMALS.sub(r"\1", found[0]), whole)
    while EMPTY_GROUP.search(whole):
        whole = EMPTY_GROUP.sub("", whole)
    whole = re.sub(r'(id="|url\(#)clip', rf"\1{figure.name}-clip", whole)
    for colour, variable in theme.VARIABLES.items():
        whole = re.sub(rf'"{colour}"', f'"var({variable})"', whole, flags=re.IGNORECASE)
    whole = whole.replace('fill="white"', 'fill="var(--paper)"')
    label = f'role="img" aria-label="{_escape(figure.alternative)}"'
    return OPENING.sub(rf'<svg {label} class="figure" \4 style="--width:\2px">', whole, count=1)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace("\\", "")


def write_files(whole: str, folder: Path, stem: str) -> None:
    """Write `STEM.svg` and `STEM.png` to the directory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.svg").write_text(whole, encoding="utf-8", errors="backslashreplace")
    (folder / f"{stem}.png").write_bytes(vl_convert.svg_to_png(whole, scale=PNG_SCALE))


@contextmanager
def replacing_figures(folder: Path) -> Iterator[Path]:
    """Yield a temporary directory. When the `with` block ends, the files in the temporary directory replace the figures
    in `folder`."""
    folder = folder.resolve()
    fresh = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        yield fresh
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            clear_files(folder)
            for path in fresh.glob("*"):
                path.replace(folder / path.name)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def clear_files(folder: Path) -> None:
    """Remove only the figure files of a previous report."""
    for path in folder.glob("*"):
        if FILE_NAMES.fullmatch(path.name):
            path.unlink()
