"""Tests for the report file in a real browser."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.report.browser import needs_browser, open_page, requested_urls

pytestmark = [pytest.mark.slow, *needs_browser]


@pytest.fixture
def page(browser: webdriver.Chrome, report: Path) -> webdriver.Chrome:
    return open_page(browser, report.as_uri())


@pytest.fixture(params=["report", "objects_report", "hands_report"])
def each_page(browser: webdriver.Chrome, request: pytest.FixtureRequest) -> webdriver.Chrome:
    return open_page(browser, request.getfixturevalue(request.param).as_uri())


def names(browser: webdriver.Chrome) -> list[str]:
    cells = browser.find_elements(By.CSS_SELECTOR, "#group-1 .ranking tbody th")
    return [cell.text.splitlines()[0] for cell in cells]


def test_it_asks_the_network_for_nothing_and_complains_about_nothing(page: webdriver.Chrome) -> None:
    asked = requested_urls(page)
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    assert page.get_log("browser") == []


def test_every_cell_that_was_measured_has_a_row(page: webdriver.Chrome) -> None:
    assert len(page.find_elements(By.CSS_SELECTOR, "table.ranking tbody tr")) == 12 + 3 + 6
    assert names(page)[0] == "shm (Rust)"
    assert names(page)[-2:] == ["tcp (Python)", "zeromq (Python) defaults"]


def test_every_figure_is_drawn_and_told_in_words(page: webdriver.Chrome) -> None:
    found = {figure.get_attribute("id") for figure in page.find_elements(By.CSS_SELECTOR, "figure")}
    kinds = ("ranking", "percentiles", "distribution", "course", "cpu")
    assert found == {f"group-{group}-{kind}" for group in (1, 2, 3) for kind in kinds} | {"group-2-hops"}
    for figure in page.find_elements(By.CSS_SELECTOR, "svg.figure"):
        assert figure.size["height"] > 40
        assert len(figure.get_attribute("aria-label") or "") > 20


def test_text_of_a_figure_lies_inside_it(each_page: webdriver.Chrome) -> None:
    outside = each_page.execute_script("""
        return [...document.querySelectorAll('svg.figure')].flatMap(svg => {
            const box = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].filter(text => {
                const own = text.getBoundingClientRect();
                return own.left < box.left - 2 || own.right > box.right + 2
                    || own.top < box.top - 2 || own.bottom > box.bottom + 2;
            }).map(text => svg.parentElement.id + ': ' + text.textContent);
        });""")
    assert outside == []


def test_labels_of_an_axis_do_not_overlap(each_page: webdriver.Chrome) -> None:
    overlapping = each_page.execute_script("""
        const found = [];
        for (const svg of document.querySelectorAll('svg.figure')) {
            const texts = [...svg.querySelectorAll('text')];
            const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
            boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
                const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (one !== other && wide > 1 && high > 4) found.push(`${svg.parentElement.id}: ${one} / ${other}`);
            }));
        }
        return found;""")
    assert overlapping == []


def test_objects_have_a_box_for_each_codec_and_transport(browser: webdriver.Chrome, objects_report: Path) -> None:
    open_page(browser, objects_report.as_uri())
    told = browser.execute_script("""
        const marks = document.querySelectorAll('#across-codecs-1 [aria-label*="middle half"]');
        return [...new Set([...marks].map(mark => mark.getAttribute('aria-label').split(':')[0]))];""")
    assert len(told) == 15
    assert {"numpy over shm", "json-base64 over zeromq"} <= set(told)
    shares = browser.find_element(By.CSS_SELECTOR, "#across-shares-1 svg").get_attribute("aria-label") or ""
    assert "json-base64 over shm" in shares
    assert all(f"{part} " in shares for part in ("encode", "transport", "decode"))


def test_a_heading_sorts_both_ways_and_keeps_the_empty_last(page: webdriver.Chrome) -> None:
    heading = page.find_element(By.XPATH, "//*[@id='group-1']//thead//th[contains(., 'CPU')]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", heading)
    heading.find_element(By.TAG_NAME, "button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page)[0] == "unix (Rust)"
    assert names(page)[-1] == "zeromq (Python) defaults"
    heading.find_element(By.TAG_NAME, "button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert names(page)[0] == "zenoh (Python)"
    assert names(page)[-1] == "zeromq (Python) defaults"


def test_groups_fold_and_open_again(page: webdriver.Chrome) -> None:
    button = page.find_element(By.ID, "fold")
    button.click()
    assert page.find_elements(By.CSS_SELECTOR, "details[open]") == []
    page.find_element(By.CSS_SELECTOR, "nav a").click()
    assert len(page.find_elements(By.CSS_SELECTOR, "details[open]")) == 1


def test_a_mark_tells_its_figures(page: webdriver.Chrome) -> None:
    page.execute_script("""
        const mark = document.querySelector('#group-1-ranking [aria-label*="p50"]');
        mark.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 50, clientY: 50}));""")
    tip = page.find_element(By.ID, "tip")
    assert tip.is_displayed()
    assert "p50" in tip.text


@pytest.mark.parametrize("width", [390, 768, 1160])
def test_the_page_never_scrolls_sideways(browser: webdriver.Chrome, report: Path, width: int) -> None:
    open_page(browser, report.as_uri(), width)
    scrolled, visible = browser.execute_script(
        "const page = document.documentElement; return [page.scrollWidth, page.clientWidth];"
    )
    assert scrolled <= visible <= width


def test_dark_mode_darkens_page_and_figures(browser: webdriver.Chrome, report: Path) -> None:
    seen = []
    for scheme in ("light", "dark"):
        open_page(browser, report.as_uri(), scheme=scheme)
        seen.append(
            browser.execute_script("""
            const of = (query, name) => getComputedStyle(document.querySelector(query))[name];
            return [of('body', 'backgroundColor'), of('svg.figure > rect', 'fill'), of('svg.figure text', 'fill')];""")
        )
    (page, paper, letters), (dark_page, dark_paper, dark_letters) = seen
    assert page == paper == "rgb(251, 250, 247)"
    assert dark_page == dark_paper == "rgb(20, 24, 29)"
    assert letters != dark_letters


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_words_stand_out_from_the_paper(browser: webdriver.Chrome, report: Path, scheme: str) -> None:
    open_page(browser, report.as_uri(), scheme=scheme)
    faint = browser.execute_script("""
        const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = colour => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(linear);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const contrast = own => (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05);
        const colour = e => getComputedStyle(e)[e.closest('svg') ? 'fill' : 'color'];
        const halo = e => getComputedStyle(e).stroke !== 'none';
        return [...document.querySelectorAll('main *')]
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
            .filter(e => !e.closest('pre') && !(e.closest('svg') && halo(e)))
            .map(e => [e.textContent.trim().slice(0, 30), contrast(light(colour(e)))])
            .filter(([, ratio]) => ratio < 4.5);""")
    assert faint == []


def test_what_each_process_used_opens_and_has_a_row_for_each(page: webdriver.Chrome) -> None:
    used = page.find_element(By.CSS_SELECTOR, "#group-2 details.processes")
    assert used.get_attribute("open") is None, "nobody sampled CPU"
    page.execute_script("arguments[0].click()", used.find_element(By.TAG_NAME, "summary"))
    rows = used.find_elements(By.CSS_SELECTOR, "table.used tbody:first-of-type .name")
    assert [row.text.split()[0] for row in rows[:2]] == ["source", "8"]


def test_no_word_is_broken_into_letters(page: webdriver.Chrome) -> None:
    narrow = page.execute_script("""
        return [...document.querySelectorAll('dd')].filter(e => e.textContent.length > 12 && e.clientWidth < 60)
            .map(e => e.textContent);""")
    assert narrow == []


def test_a_table_keeps_a_distance_from_the_text_above_it(each_page: webdriver.Chrome) -> None:
    gaps = each_page.execute_script("""
        return [...document.querySelectorAll('p + .scroll')].map(
            e => e.getBoundingClientRect().top - e.previousElementSibling.getBoundingClientRect().bottom);""")
    assert min(gaps, default=14) >= 8, gaps


def test_it_prints_on_paper(page: webdriver.Chrome, tmp_path: Path) -> None:
    printed = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    (tmp_path / "report.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF")
    assert 2 <= printed.count(b"/Type /Page\n") <= 12
