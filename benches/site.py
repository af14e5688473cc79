"""Open and filter a site of 1000 runs in headless Chromium; fail if opening takes 2 s or filtering takes 0.2 s.

`python benches/site.py` generates one synthetic run, then copies it with altered numbers, as if five machines had
measured it 200 times each.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from ending import Run, orderly

sys.path.append(str(Path(__file__).resolve().parent.parent))

from docs.images import screenshot
from tests.altered_runs import alter
from tests.report import fixture

RUNS = 1000
MACHINES = 5
OPEN_S = 2.0
FILTER_S = 0.2
TIMES = 5
PATIENCE_S = 900.0

FILTERING = """
const [name, value, done] = arguments;
const select = document.querySelector(`[name=${name}]`);
const began = performance.now();
select.value = value;
select.dispatchEvent(new Event("change", { bubbles: true }));
requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
"""
"""A script that returns the time from selecting a filter until the browser has drawn the rows."""
CHOICES = """
return [...document.querySelectorAll("#filters select")].flatMap(
  (select) => [...select.options].map((option) => [select.name, option.value]));
"""


def make_runs(folder: Path) -> Path:
    """Write the synthetic runs, and return their folder."""
    source, results, chance = fixture.build(folder / "made-up"), folder / "results", random.Random(7)
    levels = [1.0 + 0.2 * machine for machine in range(MACHINES)]
    for number in range(RUNS):
        machine = number % MACHINES

        def factor(row: dict[str, Any], level: float = levels[machine], late: bool = number > RUNS // 2) -> float:
            shift = 1.3 if late and row["transport"] == "zeromq" else 1.0
            return level * shift * chance.lognormvariate(0, 0.03)

        alter(source, results, number, factor, cpu_model=f"A made-up processor {machine}")
    return results


def write_site(results: Path, out: Path) -> float:
    """Write the site with `hopmeter site`, and return the time in seconds."""
    began = time.monotonic()
    with Run() as programs:
        command = [sys.executable, "-m", "hopmeter", "site", str(results), "-o", str(out)]
        done = programs.capture(command, PATIENCE_S)
    if done.returncode != 0:
        raise RuntimeError(f"hopmeter site failed: {done.stderr.strip()[-400:]}")
    return time.monotonic() - began


def opening_times(driver: Any, index: Path) -> Iterator[float]:
    """Open the page several times, and yield the time in seconds until its rows are drawn."""
    for _ in range(TIMES):
        driver.get("about:blank")
        began = time.monotonic()
        driver.get(index.as_uri())
        driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done));")
        yield time.monotonic() - began
        if not driver.find_elements("css selector", "#cells > tr"):
            raise RuntimeError("the page has no rows")


def filtering_times(driver: Any) -> Iterator[float]:
    """Yield the time in seconds to apply each option of each filter."""
    for name, value in driver.execute_script(CHOICES):
        yield driver.execute_async_script(FILTERING, name, value) / 1000
        driver.execute_async_script(FILTERING, name, "")


def line(what: str, seconds: list[float], limit_s: float) -> tuple[str, bool]:
    """Format the times with the limit, and return whether the slowest time is within the limit."""
    holds = max(seconds) < limit_s
    verdict = "holds" if holds else "MISSED"
    times = f"{len(seconds)} times, median {median(seconds):.3f} s, slowest {max(seconds):.3f} s"
    return f"{what}: {times}   limit {limit_s:g} s: {verdict}", holds


def main() -> int:
    """Return 0 if opening and filtering stay within their limits."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("not measured: apt-get install chromium chromium-driver")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        results = make_runs(folder)
        took_s = write_site(results, folder / "site")
        index = folder / "site" / "index.html"
        size = sum(path.stat().st_size for path in (folder / "site").rglob("*") if path.is_file())
        page_mb = index.stat().st_size / 1e6
        print(
            f"{RUNS} generated runs of {MACHINES} machines: written in {took_s:.0f} s, {size / 1e6:.0f} MB", flush=True
        )
        driver = screenshot.browser(str(folder / "profile"))
        try:
            screenshot.looks(driver, 1160, 900)
            opened = line(f"open a page of {page_mb:.1f} MB", list(opening_times(driver, index)), OPEN_S)
            filtered = line("filter", list(filtering_times(driver)), FILTER_S)
        finally:
            driver.quit()
    for text, _ in (opened, filtered):
        print(text, flush=True)
    return 0 if opened[1] and filtered[1] else 1


if __name__ == "__main__":
    raise SystemExit(orderly(main))
