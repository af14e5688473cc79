"""Fixtures for tests of pages, with one Chromium per test file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver

from docs.images import screenshot

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")), reason="Debian's chromium-driver is missing"
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """A browser that records its console log and its network requests."""
    logs = {"browser": "ALL", "performance": "ALL"}
    driver = screenshot.browser(str(tmp_path_factory.mktemp("profile")), loggingPrefs=logs)
    yield driver
    driver.quit()


def open_page(browser: webdriver.Chrome, page: str, width: int = 1160, scheme: str = "light") -> webdriver.Chrome:
    """Open the page at this URI, and clear the logs."""
    screenshot.looks(browser, width, 900, dark=scheme == "dark")
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(page)
    return browser


def requested_urls(browser: webdriver.Chrome) -> list[str]:
    """The URLs that the page has requested since it was opened."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
