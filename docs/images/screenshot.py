"""Takes a screenshot of a report with headless Chromium: `python docs/images/screenshot.py REPORT.html PICTURE.png`."""

from __future__ import annotations

import argparse
import base64
import shutil
import tempfile
from pathlib import Path

from selenium import webdriver

SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def arguments() -> argparse.Namespace:
    """Parse the command line, which names the report, the picture file and the view."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1160)
    parser.add_argument("--height", type=int, default=1000, help="0: the whole page")
    parser.add_argument("--section", help="the id of the element at the top, such as group-1")
    parser.add_argument("--scale", type=float, default=2)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--print", action="store_true", help="as it is printed: PICTURE is a PDF")
    return parser.parse_args()


def browser(profile: str, **capabilities: object) -> webdriver.Chrome:
    """Start Debian's Chromium, with the empty folder `profile` as its profile, and return its driver."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for name, value in capabilities.items():
        options.set_capability(f"goog:{name}", value)
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def looks(driver: webdriver.Chrome, width: int, height: int, scale: float = 1, dark: bool = False) -> None:
    """Set the screen size and the colour scheme. A screen that is narrower than 600 pixels emulates a phone."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def photograph(driver: webdriver.Chrome, asked: argparse.Namespace) -> bytes:
    """Return a PNG of the upper part of the report, a PNG of the whole report, or a PDF."""
    looks(driver, asked.width, asked.height or 1000, asked.scale, asked.dark)
    driver.get(asked.report.resolve().as_uri())
    if asked.print:
        return base64.b64decode(
            driver.execute_cdp_cmd(
                "Page.printToPDF", {"preferCSSPageSize": True, "paperWidth": 8.27, "paperHeight": 11.69}
            )["data"]
        )
    if asked.section:
        driver.execute_script(
            "arguments[0].scrollIntoView({behavior: 'instant'})", driver.find_element("id", asked.section)
        )
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": not asked.height})
    return base64.b64decode(shot["data"])


def main() -> None:
    """Open the report in a browser, write a screenshot to the picture file, and close the browser."""
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="hopmeter-picture-") as profile:
        driver = browser(profile)
        try:
            asked.picture.write_bytes(photograph(driver, asked))
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
