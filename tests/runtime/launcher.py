"""A separate launcher for tests that kill or interrupt a launcher; it runs the fake node in the given folder."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[2]))

from hopmeter.runtime.executor import Executor
from hopmeter.store.run_folder import RunFolder
from tests.runtime.conftest import fake_capabilities, fake_plan, with_equal_sides

DUET = " in a duet"


def main(breaks: str, trials: int, out: Path) -> int:
    made = fake_plan(settings={"fake": {"breaks": breaks.removesuffix(DUET)}}, trials=trials, timeout="30s")
    made = with_equal_sides(made) if breaks.endswith(DUET) else made
    folder = RunFolder.create(out.parent, out.name, {"cells": [cell.as_json() for cell in made.cells]})
    print("running", flush=True)
    complete = Executor(made, fake_capabilities(), folder, Console(stderr=True)).run(folder.trials)
    return 0 if complete else 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
