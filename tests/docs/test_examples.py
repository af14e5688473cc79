"""The examples of the documents work as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from hopmeter.cli.parts.application import app, register_all

ROOT = Path(__file__).parents[2]


def test_the_scenario_of_the_guide_plans_all_its_cells(tmp_path: Path) -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "docs/scenarios.md").read_text(), re.DOTALL)
    assert block
    (tmp_path / "mine.toml").write_text(block[1])
    register_all()
    planned = CliRunner().invoke(app, ["run", str(tmp_path / "mine.toml"), "--dry-run"])
    assert planned.exit_code == 0, planned.output
    for part in ("image:640x480", "image:1440x1080", "shared_memory=auto", "zenoh-rust", "iceoryx2-rust", "shm-rust"):
        assert part in planned.output
