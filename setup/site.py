"""Hooks for mkdocs: pages from outside docs/, folders in the navigation, and links between all pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

TREE = Path(__file__).resolve().parents[1]
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"(?P<text>\[[^\]]*\])\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")


def sources() -> dict[str, str]:
    """Return the pages from outside docs/: the path of each page in the site, and its file in the source tree."""
    readmes = sorted(TREE.glob("transports/*/README.md"))
    shown = [file for file in readmes if file.parent.name != "_template"]
    return {
        "index.md": "README.md",
        **{name: name for name in ROOT_PAGES},
        **{f"transports/{file.parent.name}.md": str(file.relative_to(TREE)) for file in shown},
    }


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace folders in the navigation by their pages."""
    config.nav = [_fill_in(entry) for entry in config.nav or []]
    return config


def _fill_in(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_fill_in(each) for each in entry]
    if isinstance(entry, dict):
        return {title: _fill_in(value) for title, value in entry.items()}
    return _pages(entry) if entry.endswith("/") else entry


def _pages(folder: str) -> list[str]:
    """Return the pages of a folder: transports in alphabetical order, dated notes with the newest first."""
    own = [f"{folder}{file.name}" for file in (TREE / "docs" / folder).glob("*.md")]
    return sorted(page for page in sources() if page.startswith(folder)) + sorted(own, reverse=True)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for page, source in sources().items():
        files.append(File.generated(config, page, content=(TREE / source).read_text()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Convert links that are valid in the source tree to links within the site."""
    here = page.file.src_uri
    source = sources().get(here, f"docs/{here}")
    return LINK.sub(lambda found: _link(found, here, posixpath.dirname(source)), markdown)


def _link(found: re.Match[str], here: str, folder: str) -> str:
    target = posixpath.normpath(posixpath.join(folder, found["path"]))
    places = {source: page for page, source in sources().items()}
    place = places.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
    if place:
        return f"{found['text']}({posixpath.relpath(place, posixpath.dirname(here))}{found['anchor'] or ''})"
    # The link leads to a file of the source tree that is not a page. A broken link stays unchanged, so that mkdocs
    # reports it.
    return found["text"][1:-1] if (TREE / target).exists() else found[0]
