"""The documentation builds as a site without external resources; a broken link fails the build."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^\"' >]*")


def build(tree: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site)]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True)


def test_the_site_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = build(ROOT, tmp_path)
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert {"index.html", "api.html", "contract.html", "ARCHITECTURE.html"} <= {page.name for page in pages}
    assert [found for page in pages for found in LOADED.findall(page.read_text())] == []
    assert 'href="docs/' not in (tmp_path / "index.html").read_text()


def test_a_link_to_nothing_fails(tmp_path: Path) -> None:
    shared = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml"]
    for name in shared:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "setup").mkdir()
    shutil.copy(ROOT / "setup/site.py", tmp_path / "setup")
    for folder in ("docs", "cpp", "hopmeter", "transports", "scenarios", "instrument"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "SECURITY.md").write_text("[nothing](docs/no-such-page.md)\n")
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert "no-such-page.md" in built.stderr
