"""The examples in the documentation work as printed."""

from __future__ import annotations

import re
from pathlib import Path

from hopmeter.manifest import every
from hopmeter.plan import make
from hopmeter.scenario import load
from tests.plan.capabilities import capabilities

ROOT = Path(__file__).parents[2]


def test_the_scenario_of_the_guide_plans_all_its_cells(tmp_path: Path) -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "docs/scenarios.md").read_text(), re.DOTALL)
    assert block
    (tmp_path / "mine.toml").write_text(block[1])
    scenario, _ = load(tmp_path / "mine.toml")
    transports = [manifest for name, manifest in every().items() if name in ("shm", "zenoh", "iceoryx2")]
    plan = make("mine", scenario, capabilities(*transports))
    planned = {
        (cell["transport"], cell["payload"], cell["profile"])
        for cell in plan.cells
        if cell["ranked"] and not cell.dropped
    }
    assert planned == {
        *((name, f"image:{size}", "") for name in ("shm", "iceoryx2") for size in ("640x480", "1440x1080")),
        ("zenoh", "image:640x480", ""),
        ("zenoh", "image:1440x1080", "shared_memory=auto"),
    }
