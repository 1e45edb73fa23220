"""Starts headless Chromium for tests of pages, checks their accessibility, and computes contrasts of colours."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium_axe_python.axe import Axe


@contextlib.contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """Start headless Chromium, which records its console and its network requests."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or pytest.fail("no chromium: run build_support/preflight.sh")
    # Tests may run as root in a container, where Chromium's own sandbox refuses to start and /dev/shm is small.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def see(browser: webdriver.Chrome, **features: str) -> None:
    """Emulate the browser preferences of a reader; ``media`` is screen or print."""
    media = features.pop("media", "")
    wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": wanted})


def accessibility_problems(browser: webdriver.Chrome) -> list[str]:
    """Return what axe-core reports about the open page: WCAG 2.2 A and AA, and axe's best practices."""
    axe = Axe(browser)
    axe.inject()
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in axe.run()["violations"]
        for node in each["nodes"]
    ]


def contrast(one: list[int], other: list[int]) -> float:
    """Return the contrast ratio of two colours as defined by WCAG 2."""
    lights = sorted((_luminance(one), _luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: list[int]) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
