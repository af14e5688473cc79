"""Write a site: a page that filters all runs, and a page for each run. The site needs no server or network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

import hopmeter
from hopmeter.analysis.history.cell_history import History, history
from hopmeter.analysis.results.run_results import Run, read
from hopmeter.errors import UsageError
from hopmeter.report import report_file, run_page
from hopmeter.report.drawing import theme
from hopmeter.report.site.site_data import site_data
from hopmeter.report.words import formatting
from hopmeter.report.words.history_words import summary
from hopmeter.store.disk import replacing, write_json, writing
from hopmeter.store.names import NAMES
from hopmeter.system.input_files import read_text
from hopmeter.system.untrusted_json import parse

MARKER = "hopmeter-site.json"
"""The name of the file that marks a directory as a site. The file records hopmeter's version and the run directory of
each page."""
PAGES = "runs"


def write(runs: Sequence[Run], out: Path) -> Path:
    """Write or update the site in `out`, and return the path of its start page.

    Pages of unchanged runs are not rewritten. Raises UsageError if `out` contains files that do not belong to a site.
    """
    old = _stored_pages(out)
    found = history(runs)
    pages = dict(_page_names(runs))
    with writing(out):
        (out / PAGES).mkdir(parents=True, exist_ok=True)
    write_json(out / MARKER, _marker(old))  # if this command is interrupted, the next command can still update the site
    for run in runs:
        _write_page(run, out / PAGES / pages[id(run)], old)
    _write_text(out / "index.html", _index(found, {key: f"{PAGES}/{name}" for key, name in pages.items()}))
    new = {pages[id(run)]: str(run.folder.resolve()) for run in runs}
    for name in old.keys() - new.keys():
        (out / PAGES / name).unlink(missing_ok=True)
    write_json(out / MARKER, _marker(new))
    return out / "index.html"


def _marker(pages: dict[str, str]) -> dict[str, Any]:
    return {"hopmeter": hopmeter.__version__, "pages": pages}


def _stored_pages(out: Path) -> dict[str, str]:
    """Return the page names of the site that already exists in the directory, each with the directory of its run.
    Return an empty dict if the directory contains no site yet. Raises UsageError if the directory contains other files
    than a site."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return {}
    try:
        stored = parse(read_text(out / MARKER))
        pages = {str(name): str(run) for name, run in stored["pages"].items() if NAMES.fullmatch(name)}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as cause:
        raise UsageError(
            "E-NO-SITE",
            f"{out} exists and is not a site: it has no valid {MARKER}",
            "name a new folder, an empty one, or one that `hopmeter site` wrote",
        ) from cause
    return pages if stored.get("hopmeter") == hopmeter.__version__ else dict.fromkeys(pages, "")


def _page_names(runs: Sequence[Run]) -> Iterator[tuple[int, str]]:
    """Yield the page name of each run. If several runs have one name, a number is added to the page name."""
    used: dict[str, int] = {}
    for run in runs:
        name = run.name if NAMES.fullmatch(run.name) else "run"
        used[name] = used.get(name, 0) + 1
        yield id(run), f"{name}{f'+{used[name]}' if used[name] > 1 else ''}.html"


def _write_page(run: Run, page: Path, old: dict[str, str]) -> None:
    """Copy the report of a run to the site. If the run has no report, render a report without figures. Pages that are
    up to date are skipped."""
    report = run.folder / "report.html"
    is_same = old.get(page.name) == str(run.folder.resolve())
    if is_same and page.exists() and page.stat().st_mtime_ns > _changed_ns(run.folder):
        return
    if report.is_file() and not report.is_symlink():
        with replacing(page) as partly:
            shutil.copyfile(report, partly)
    else:
        _write_text(page, report_file.render(run_page.page([read(run.folder)], with_figures=False)))


def _changed_ns(folder: Path) -> int:
    names = ("run.json", "cells.parquet", "report.html")
    return max((folder / name).stat().st_mtime_ns for name in names if (folder / name).exists())


def _index(found: History, pages: dict[int, str]) -> str:
    days = formatting.distinct(found.runs[place].text("started")[:10] for place in (0, -1))
    data = json.dumps(site_data(found, pages), separators=(",", ":"))
    return (
        report_file.templates()
        .get_template("site.html.j2")
        .render(
            theme=theme,
            runs=formatting.plural(len(found.runs), "run"),
            days=" to ".join(days),
            sentences=summary(found),
            data=Markup(data.replace("<", "\\u003c")),
        )
    )


def _write_text(path: Path, text: str) -> None:
    with replacing(path) as partly:
        partly.write_text(text, encoding="utf-8", errors="backslashreplace")
