"""Draw docs/images/report.png: the HTML report of one of the repository's logs, as Chromium shows it.

Run this script after a change of the report: .venv/bin/python build_support/report_image.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[1]
LOG = ROOT / "tests/logs/detection/skewed.zstd"
HISTORY = sorted((ROOT / "tests/logs/detection").glob("history-*.zstd"))
IMAGE = ROOT / "docs/images/report.png"
WIDTH = 1100
"""Pixels; the report adapts to this width."""
MAX_HEIGHT = 1780
"""Pixels; this height is enough for the heading, the findings, the query and the timeline."""
DRAWN_SECONDS = 60


def main() -> None:
    """Analyze the log, draw its report and write the image."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        sparkfuse = Path(sys.executable).with_name("sparkfuse")
        command: list[str | Path] = [
            sparkfuse,
            "analyze",
            LOG,
            "--html",
            report,
            "--fail-on",
            "never",
            "--history",
            *HISTORY,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        IMAGE.write_bytes(_drawn(report))
    print(f"{IMAGE.relative_to(ROOT)}: {IMAGE.stat().st_size} bytes, from {LOG.relative_to(ROOT)}")


def _drawn(report: Path) -> bytes:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or sys.exit("report_image: chromium is not installed")
    # In a container Chromium's own sandbox refuses to start, and /dev/shm is small.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={WIDTH},900"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"))) as browser:
        browser.get(report.as_uri())
        WebDriverWait(browser, DRAWN_SECONDS).until(
            lambda driver: driver.execute_script("return 'drawn' in document.documentElement.dataset")
        )
        height = min(MAX_HEIGHT, browser.execute_script("return document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        return b64decode(shot["data"])


if __name__ == "__main__":
    main()
