"""A command starts quickly because it imports only the libraries that it uses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

STORED_RUN = Path(__file__).parents[1] / "store/format1"
OF_REPORTS = {"altair", "jinja2", "vl_convert"}
OF_PROGRAMS = {"duckdb", "pandas", "polars"}
OF_RESULTS = {"numpy", "pyarrow"}
OF_CLUSTERS = {"asyncio", "dask", "distributed"}


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--help"], OF_REPORTS | OF_PROGRAMS | OF_RESULTS | {"scipy"}),
        (["run", "--help"], OF_CLUSTERS | OF_REPORTS | OF_PROGRAMS | OF_RESULTS | {"scipy"}),
        (["run", "quick", "--dry-run"], OF_CLUSTERS | OF_REPORTS | OF_PROGRAMS | OF_RESULTS | {"scipy"}),
        (["scenarios"], OF_REPORTS | OF_PROGRAMS | {"pyarrow", "scipy"}),
        (["show", str(STORED_RUN)], OF_REPORTS | OF_PROGRAMS | {"scipy"}),
        (["report", str(STORED_RUN), "--out", "report.html"], {"scipy.stats", *OF_PROGRAMS}),
    ],
    ids=lambda each: " ".join(each[:2]) if isinstance(each, list) else "",
)
def test_a_command_does_not_load_what_it_does_not_use(words: list[str], unused: set[str], tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hopmeter", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "hopmeter.cli.main" in loaded
    assert not loaded & unused
