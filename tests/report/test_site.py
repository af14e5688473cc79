"""Tests for the site of synthetic runs: its data, its pages, and its filters in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from hopmeter.analysis.history.run_collection import read_runs
from hopmeter.errors import UsageError
from hopmeter.report.site import site_folder
from hopmeter.store.run_folder import RunFolder
from tests.altered_runs import alter
from tests.report import fixture
from tests.report.browser import needs_browser, open_page, requested_urls

MACHINES = ("processor 0", "processor 1")
RUNS = 6


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    cells = (*fixture.SMALL[:6], *fixture.LARGE[:2])
    source = fixture.build(tmp_path_factory.mktemp("source") / "quick", cells, trials=3, messages=800)
    for number in range(RUNS):
        alter(source, folder, number, lambda _, at=number: 1.0 + 0.01 * at, cpu_model=MACHINES[number % 2])
    return folder


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(results, tmp_path_factory.mktemp("out") / "site")


def make(results: Path, out: Path) -> Path:
    return site_folder.write(read_runs([results], trials=False), out)


def data(index: Path) -> dict[str, list[dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', index.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def pages(index: Path) -> set[str]:
    return {path.name for path in (index.parent / "runs").iterdir()}


def test_every_run_has_a_page_and_every_cell_its_values(site: Path) -> None:
    found = data(site)
    assert len(found["runs"]) == RUNS
    assert {Path(str(run["page"])).name for run in found["runs"]} == pages(site)
    assert len(found["cells"]) == 8 * len(MACHINES)
    assert {len(cell["runs"]) for cell in found["cells"]} == {RUNS // 2}
    assert {cell["machine"] for cell in found["cells"]} == set(MACHINES)


def test_a_cell_has_the_rank_and_the_intervals_of_its_newest_run(site: Path) -> None:
    cells = {(cell["transport"], cell["machine"]): cell for cell in data(site)["cells"] if cell["rank"]}
    assert cells
    for cell in cells.values():
        assert re.fullmatch(r"\d+(–\d+)?", str(cell["rank"]))
        low, high = str(cell["intervals"]["p50"]).replace(",", "").split(" to ")
        assert float(low) <= float(cell["p50"][-1]) * 1.01 and float(cell["p50"][-1]) <= float(high) * 1.01


def test_the_same_cell_of_another_scenario_is_another_series(results: Path, tmp_path: Path) -> None:
    first, second = (shutil.copytree(run, tmp_path / run.name) for run in sorted(results.iterdir())[:4:2])
    about = json.loads((second / "run.json").read_text())
    (second / "run.json").write_text(json.dumps(about | {"scenario_name": "full"}))
    found = data(site_folder.write(read_runs([first, second], trials=False), tmp_path / "site"))["cells"]
    assert len(found) == 2 * 8
    assert {len(cell["runs"]) for cell in found} == {1}
    assert {cell["scenario"] for cell in found} == {"made-up", "full"}


def test_cells_that_differ_only_in_a_condition_say_in_which(tmp_path: Path) -> None:
    source = fixture.build(tmp_path / "quick", fixture.SMALL[:2], trials=3, messages=200)
    as_it_is = alter(source, tmp_path / "results", 0, lambda _: 1.0)
    table = pq.read_table(as_it_is / "cells.parquet")
    awake = alter(source, tmp_path / "results", 1, lambda _: 1.0) / "cells.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"wait": "spin"} for row in table.to_pylist()], table.schema), awake)
    found = data(make(tmp_path / "results", tmp_path / "site"))
    assert {cell["variation"] for cell in found["cells"]} == {"wait block", "wait spin"}


def test_a_run_with_a_report_has_that_as_its_page(results: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    first, second, third = sorted(copied.iterdir())[:3]
    (first / "report.html").write_text("the whole report")
    (tmp_path / "secret").write_text("secret")
    (second / "report.html").symlink_to(tmp_path / "secret")
    index = make(copied, tmp_path / "site")
    texts = [(index.parent / "runs" / f"{run.name}.html").read_text() for run in (first, second, third)]
    assert texts[0] == "the whole report"
    assert all("shm" in text for text in texts[1:])
    assert "<figure" not in texts[2]


def test_a_second_time_only_new_pages_are_written_and_old_ones_removed(results: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(results, tmp_path / "results")
    index = make(copied, tmp_path / "site")
    runs = sorted(copied.iterdir())
    before = {path.name: path.stat().st_mtime_ns for path in (index.parent / "runs").iterdir()}
    (runs[0] / "report.html").write_text("new")
    shutil.rmtree(runs[1])
    make(copied, tmp_path / "site")
    after = {path.name: path.stat().st_mtime_ns for path in (index.parent / "runs").iterdir()}
    assert before.keys() - after.keys() == {f"{runs[1].name}.html"}
    assert {name for name in after if after[name] != before[name]} == {f"{runs[0].name}.html"}


def test_runs_of_one_name_have_pages_of_their_own(results: Path, tmp_path: Path) -> None:
    run = sorted(results.iterdir())[0]
    shutil.copytree(run, tmp_path / "results" / "a" / run.name)
    other = shutil.copytree(run, tmp_path / "results" / "b" / run.name)
    about = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(about | {"seed": 8}))
    assert pages(make(tmp_path / "results", tmp_path / "site")) == {f"{run.name}.html", f"{run.name}+2.html"}


def test_a_packed_run_has_a_page(tmp_path: Path) -> None:
    run = fixture.build(tmp_path / "quick", fixture.SMALL[:3], trials=3, messages=400)
    (tmp_path / "packed").mkdir()
    RunFolder.open(run).pack(tmp_path / "packed" / "quick.hopmeter.zip")
    index = make(tmp_path / "packed", tmp_path / "site")
    assert pages(index) == {"quick.html"}
    assert pages(make(tmp_path / "packed", tmp_path / "site")) == {"quick.html"}


@pytest.mark.parametrize("marker", [None, "", "[]", '{"pages": 3}', '{"pages": {"../../x": ""}'])
def test_a_folder_that_is_no_site_stays_as_it_is(results: Path, tmp_path: Path, marker: str | None) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    if marker is not None:
        (out / site_folder.MARKER).write_text(marker)
    with pytest.raises(UsageError, match="E-NO-SITE") as error:
        make(results, out)
    assert error.value.remedy
    assert not (out / "index.html").exists()


def test_a_file_is_no_site(results: Path, tmp_path: Path) -> None:
    (tmp_path / "site").write_text("a file")
    with pytest.raises(UsageError, match="E-NO-SITE"):
        make(results, tmp_path / "site")


def test_a_hostile_marker_removes_nothing_outside(results: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "site", tmp_path / "other.html"
    (out / "runs").mkdir(parents=True)
    other.write_text("mine")
    (out / site_folder.MARKER).write_text(json.dumps({"pages": {"../../other.html": "", "/etc/hosts": ""}}))
    make(results, out)
    assert other.read_text() == "mine"


def test_names_of_a_foreign_run_cannot_leave_the_data(results: Path, tmp_path: Path) -> None:
    run = shutil.copytree(sorted(results.iterdir())[0], tmp_path / "results" / "run")
    about = json.loads((run / "run.json").read_text())
    about["scenario_name"] = about["machine"]["cpu_model"] = "</script><script>alert(1)</script>"
    (run / "run.json").write_text(json.dumps(about))
    index = make(tmp_path / "results", tmp_path / "site")
    assert "<script>alert" not in index.read_text()
    assert data(index)["runs"][0]["scenario"] == about["scenario_name"]


def rows(browser: webdriver.Chrome) -> int:
    return len(browser.find_elements(By.CSS_SELECTOR, "#cells > tr"))


class TestInBrowser:
    pytestmark = needs_browser

    @pytest.fixture
    def page(self, browser: webdriver.Chrome, site: Path) -> webdriver.Chrome:
        return open_page(browser, site.as_uri())

    def test_it_opens_from_a_file_and_asks_for_nothing_else(self, page: webdriver.Chrome, site: Path) -> None:
        assert rows(page) == 16
        assert {url for url in requested_urls(page) if not url.startswith("data:")} <= {site.as_uri(), "about:blank"}
        assert page.get_log("browser") == []

    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            ("machine", "processor 1", 8),
            ("transport", "unix", 4),
            ("language", "python", 2),
            ("rate", "1,000\N{NARROW NO-BREAK SPACE}Hz", 12),
            ("payload", "image 1440×1080, 4.67\N{NARROW NO-BREAK SPACE}MB", 4),
        ],
    )
    def test_a_filter_leaves_its_cells(self, page: webdriver.Chrome, name: str, value: str, expected: int) -> None:
        Select(page.find_element(By.NAME, name)).select_by_value(value)
        assert rows(page) == expected
        page.refresh()
        assert rows(page) == expected

    def test_filters_combine_and_count(self, page: webdriver.Chrome) -> None:
        Select(page.find_element(By.NAME, "machine")).select_by_value("processor 0")
        Select(page.find_element(By.NAME, "transport")).select_by_value("unix")
        assert page.find_element(By.ID, "cell-count").text == "2 cells"
        assert page.find_element(By.ID, "run-count").text == "3 runs"

    def test_every_link_leads_to_the_page_of_a_run(self, page: webdriver.Chrome) -> None:
        links = {link.get_attribute("href") for link in page.find_elements(By.CSS_SELECTOR, "#cells a, #runs a")}
        assert len(links) == RUNS
        for link in links:
            page.get(link)
            assert page.find_elements(By.CSS_SELECTOR, "table.ranking")

    def test_a_cell_over_time_has_a_dot_for_each_run_that_links_to_it(self, page: webdriver.Chrome) -> None:
        button = page.find_element(By.CSS_SELECTOR, "#cells button")
        button.click()
        dots = page.find_elements(By.CSS_SELECTOR, "svg.history a circle.p50")
        assert len(dots) == RUNS // 2
        links = page.find_elements(By.CSS_SELECTOR, "svg.history a")
        assert all("runs/2026-" in (link.get_attribute("outerHTML") or "") for link in links)
        button.click()
        assert page.find_elements(By.CSS_SELECTOR, "svg.history") == []
