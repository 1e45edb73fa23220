"""Tests the console in a real browser: no errors, no other hosts, keyboard, colours, phone width, live updates."""

from __future__ import annotations

import dataclasses
import json
import os
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from sparkfuse_contracts import links
from tests.browser import accessibility_problems, chromium, contrast, see
from tests.integration.console.rows import (
    ADVISED_JOB,
    APPLIED_JOB,
    HOST,
    HOSTILE_APP,
    HOSTILE_FINDING,
    LIVE,
    SLOW_APP,
    STARTED_MS,
    store,
)
from tests.integration.dashboards.scenario import APP
from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
PAGES = {
    "inbox": "/",
    "empty inbox": "/?team=nobody",
    "finding": links.finding_url("", "a1b2c3d4e5f60718"),
    "hostile finding": links.finding_url("", HOSTILE_FINDING),
    "search": "/search?q=hostile",
    "empty search": "/search?q=nothing%20at%20all",
    "comparison": f"/compare?{urlencode({'before': APP, 'after': HOSTILE_APP})}",
    "choices of a comparison": f"/compare?{urlencode({'after': APP})}",
    "advice": f"/advice?{urlencode({'job': ADVISED_JOB})}",
    "applied advice": f"/advice?{urlencode({'job': APPLIED_JOB})}",
    "costs": "/costs?period=90d",
    "costs of jobs": "/costs?period=90d&by=job",
    "explanation of a slow run": f"/explain?{urlencode({'run': SLOW_APP})}",
    "hostile explanation": f"/explain?{urlencode({'run': HOSTILE_APP})}",
    "runs": "/runs?period=90d",
    "run": links.run_url("", APP),
    "slow run": links.run_url("", SLOW_APP),
    "hostile run": links.run_url("", HOSTILE_APP),
    "job": links.job_url("", "nightly_orders"),
    "job with findings": links.job_url("", "prod-eu/orders/nightly_orders"),
    "host": links.host_url("", HOST),
    "documentation": "/docs",
    "rule": "/docs/rules/stage_skew.md#runbook",
    "runbook": "/docs/runbooks/pipeline.md#sparkfusewindowssilent",
    "contract": "/docs/contract/live.md",
    "not found": "/runs/nothing",
}
PICTURES = {"explanation of a slow run": "console_explanation.png", "slow run": "console_run.png"}
"""Pictures of the tutorial; ``SPARKFUSE_WRITE_GOLDEN=1`` with the tests of this file writes them again."""
# What axe-core does not check.
STRUCTURE = """
const all = (place) => [...document.querySelectorAll(place)];
return {
  titles: all("h1").length,
  landmarks: ["header", "nav[aria-label]", "main", "footer"].map((each) => all(`body ${each}`).length),
  headless_tables: all("table").filter((each) => !each.querySelector("thead th[scope=col]")).length,
  regions: all("[role=region]").filter((each) => !each.getAttribute("aria-label") || each.tabIndex !== 0).length,
  inline: all("[style], [onclick], script:not([src]), style").length,
};
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """Return headless Chromium."""
    with chromium() as driver:
        yield driver


def resize(browser, width: int, height: int = 900) -> None:
    """Emulate a screen of this size."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def opened(browser, console, path: str, status: int = 200) -> list[str]:
    """Open a page, check that the console of the browser is empty, and return the requested addresses.

    A page with an error status is itself one message of the console.
    """
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(f"{console.url}{path}")
    messages = [each["message"] for each in browser.get_log("browser")]
    assert len(messages) == (status != 200), messages
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]


def status_of(name: str) -> int:
    return 404 if name == "not found" else 200


@dataclasses.dataclass(frozen=True)
class Visit:
    """One page as the browser shows it; each page is opened once for all tests of pages.

    ``problems`` has what axe-core reports, by colour scheme; ``scroll_widths`` is by width of the screen, in pixels.
    """

    asked: list[str]
    structure: dict[str, Any]
    grounds: dict[str, str]
    problems: dict[str, list[str]]
    scroll_widths: dict[int, int]


@pytest.fixture(scope="module", params=PAGES)
def visit(browser, console, request) -> Visit:
    """Open a page, and measure it in both colour schemes and at the widths of phones and tablets."""
    name = request.param
    resize(browser, 1200)
    see(browser, prefers_color_scheme="light")
    asked = opened(browser, console, PAGES[name], status_of(name))
    structure = browser.execute_script(STRUCTURE)
    grounds, problems, widths = {}, {}, {}
    for scheme in ("dark", "light"):
        see(browser, prefers_color_scheme=scheme)
        problems[scheme] = accessibility_problems(browser)
        grounds[scheme] = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    if name in PICTURES and os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        write_picture(browser, PICTURES[name])
    for width in (320, 390, 768):
        resize(browser, width)
        widths[width] = browser.execute_script("return document.documentElement.scrollWidth")
    resize(browser, 1200)
    return Visit(asked, structure, grounds, problems, widths)


def write_picture(browser, name: str) -> None:
    """Write the upper part of the page as a picture of the documentation."""
    height = min(1000, browser.execute_script("return document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": 1200, "height": height, "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    (ROOT / "docs/images" / name).write_bytes(b64decode(shot["data"]))


def test_page_has_no_errors_and_a_clear_structure(visit, console) -> None:
    """The browser reports no error and no violation of the policy; landmarks, tables and regions are right."""
    assert [url for url in visit.asked if not url.startswith(f"{console.url}/")] == []
    assert f"{console.url}/static/console.css" in visit.asked
    assert visit.structure == {
        "titles": 1,
        "landmarks": [1, 1, 1, 1],
        "headless_tables": 0,
        "regions": 0,
        "inline": 0,
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_accessible(visit, scheme) -> None:
    """In both colour schemes, axe-core reports nothing: WCAG 2.2 A and AA, and best practices."""
    assert visit.problems[scheme] == []
    assert visit.grounds[scheme] == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(14, 18, 23)")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screen_does_not_scroll_sideways(visit, width) -> None:
    """On a phone and a tablet, only tables and code scroll sideways, not the page."""
    assert visit.scroll_widths[width] <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chart_has_enough_contrast(browser, console, scheme) -> None:
    """Bars and labels of the chart are visible on the background (WCAG AA: 3:1 and 4.5:1)."""
    see(browser, prefers_color_scheme=scheme)
    opened(browser, console, PAGES["job"])
    label, shape, ground = browser.execute_script("""
        const of = (place, name) => getComputedStyle(document.querySelector(place))[name].match(/\\d+/g).map(Number);
        return [of(".chart text", "fill"), of(".chart .bar", "stroke"), of("body", "backgroundColor")];
    """)

    assert contrast(label, ground) >= 4.5
    assert contrast(shape, ground) >= 3


def test_keyboard_reaches_the_content(browser, console) -> None:
    """The first stop of the Tab key skips to the content; filters and tables can be reached, with a visible focus."""
    opened(browser, console, "/")
    seen = []
    for _ in range(18):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(browser.execute_script("""
            const at = document.activeElement;
            return [at.getAttribute("href") || at.name || at.getAttribute("aria-label") || at.textContent.trim(),
                    getComputedStyle(at).outlineStyle];
        """))  # fmt: skip

    names = [name for name, _ in seen]
    assert names[:9] == ["#main", "/", "/runs", "/costs", "/compare", "/rules", "/docs", "q", "Search"]
    assert names[9:14] == ["severity", "team", "job", "Filter", "Open findings"]
    assert {outline for _, outline in seen} == {"solid"}


def test_filter_form_works(browser, console) -> None:
    """A reader filters the findings with the form, without JavaScript of the page."""
    opened(browser, console, "/")
    browser.find_element(By.NAME, "job").send_keys("注文", Keys.ENTER)
    wait_for(lambda: "job=" in browser.current_url, 30, "the filtered list")
    rows = browser.find_elements(By.CSS_SELECTOR, "[aria-label='Open findings'] tbody tr")

    assert len(rows) == 1
    assert "注文" in rows[0].text


def test_hostile_text_runs_no_script(browser, console) -> None:
    """Markup in the text of a job is shown as text, and no script of it runs."""
    for name in ("inbox", "hostile finding", "hostile run", "runs"):
        opened(browser, console, PAGES[name])
        body = browser.find_element(By.TAG_NAME, "body")

        assert "<script>window.hacked=1</script>" in body.text
        assert "{{7*7}}" in body.text
        assert browser.execute_script("return window.hacked") is None


def test_policy_blocks_inline_scripts_and_markup(browser, console) -> None:
    """The policy blocks an inline script and the conversion of text to markup."""
    opened(browser, console, "/docs")
    browser.execute_script("""
        const script = document.createElement("script");
        try { script.text = "window.injected = 1"; document.body.append(script); } catch { window.refused = 1; }
        try { document.body.innerHTML = "<b>markup</b>"; } catch { window.refused += 1; }
    """)

    assert browser.execute_script("return [window.injected, window.refused]") == [None, 2]


def test_page_of_a_running_run_updates_itself(browser, console, fleet) -> None:
    """New rows appear on the open page; a reader who has opened the evidence is not disturbed; the end stops it."""
    row = type(LIVE["app_live"])()
    row.CopyFrom(LIVE["app_live"])
    row.app_id, row.app_start_ms, row.app_attempt, row.row_seq = "app-live-1", STARTED_MS, 0, 1
    row.application.finished_tasks = 111
    store(fleet, "live", [row])
    opened(browser, console, "/runs/app-live-1")
    page = browser.find_element(By.TAG_NAME, "main")
    before = page.text
    row.row_seq, row.application.finished_tasks, row.application.status = 2, 222, "succeeded"
    row.application.ended_ms = STARTED_MS + 60_000
    store(fleet, "live", [row])
    wait_for(lambda: "222 finished" in page.text, 60, "the new row on the page")

    assert "111 finished" in before
    assert "succeeded" in page.text
    assert "Reload now" not in page.text
    assert browser.get_log("browser") == []


def test_scripts_are_not_needed(browser, console) -> None:
    """Without JavaScript, the page of a run has the same content and a link that reloads it."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{console.url}{PAGES['run']}")
        link = browser.find_element(By.LINK_TEXT, "Reload now").get_attribute("href")
        heading = browser.find_element(By.TAG_NAME, "h1").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    assert link == f"{console.url}{PAGES['run']}"
    assert heading == "nightly_orders 2026-11-21"
