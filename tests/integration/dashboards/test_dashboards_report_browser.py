"""Tests the report in a real browser: charts, no network requests, keyboard, colour schemes, print."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from sparkfuse_dashboards.report import worst_stages, write_report
from tests.browser import chromium, contrast, see
from tests.unit.dashboards import report_scenario
from tests.waiting import wait_for

DRAWN = "return Number(document.documentElement.dataset.drawn)"
FOCUSED = """
const at = document.activeElement;
return at === document.body ? null : (at.dataset.zoom || at.dataset.sort && "sort " + at.textContent
  || at.getAttribute("href") || at.getAttribute("aria-label") || at.textContent.trim().slice(0, 40));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """Return headless Chromium, which records its console and its network requests."""
    with chromium() as driver:
        yield driver


@pytest.fixture
def opened(browser, tmp_path) -> Callable[..., list[str]]:
    """Return a function that opens a report, waits for its charts and returns the requested addresses."""

    def opens(analysis: dict[str, Any], *, each: int = 16, measured: bool = True) -> list[str]:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        browser.get("about:blank")
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        worst = worst_stages(analysis)
        path: Path = tmp_path / "report.html"
        write_report(analysis, report_scenario.tasks(worst, each, measured=measured) if worst else None, path)
        browser.get(path.as_uri())
        wait_for(lambda: browser.execute_script("return 'drawn' in document.documentElement.dataset"), 60, "the charts")
        messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
        asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if url != path.as_uri()]

    return opens


@pytest.mark.parametrize("name", ["ordinary", "hostile", "empty", "without_metrics", "huge"])
def test_charts_are_drawn_without_network(browser, opened, name) -> None:
    """All charts are drawn, no request is sent, and the console has no messages, not even policy violations."""
    asked = opened(getattr(report_scenario, name)(), measured=name != "without_metrics")
    places = browser.find_elements(By.CSS_SELECTOR, "[data-chart]")

    assert asked == []
    assert browser.get_log("browser") == []
    assert browser.execute_script(DRAWN) == len(places)
    assert all(place.find_elements(By.CSS_SELECTOR, "svg [aria-label], svg[aria-label]") for place in places)
    assert browser.execute_script(
        "return document.querySelectorAll('.chart svg path').length >= arguments[0]", len(places)
    )


def test_hostile_text_stays_text(browser, opened) -> None:
    """Names that contain script or image tags are shown as text.

    No script in a name runs, and no tag in a name creates an element.
    """
    opened(report_scenario.hostile())

    assert "</script><script>window.hacked=1</script>" in browser.find_element(By.TAG_NAME, "h1").text
    assert "{{7*7}}" in browser.find_element(By.CSS_SELECTOR, ".finding h3").text
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements(By.TAG_NAME, "img") == []


def test_policy_blocks_injected_scripts(browser, opened) -> None:
    """The security policy blocks a script that is not part of the report, and the conversion of text to markup."""
    opened(report_scenario.ordinary())
    browser.execute_script("""
        const script = document.createElement("script");
        try { script.text = "window.hacked = 1"; document.body.append(script); } catch (refused) { window.refused = 1; }
        try { document.body.innerHTML = "<b>markup</b>"; } catch (refused) { window.refused += 1; }
    """)

    assert browser.execute_script("return [window.hacked, window.refused]") == [None, 2]


def test_keyboard_reaches_all_controls(browser, opened) -> None:
    """Tab reaches the skip link, links, details, the buttons of the timeline and of the table; Enter activates them."""
    opened(report_scenario.ordinary())
    seen: list[str | None] = []
    for _ in range(60):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(browser.execute_script(FOCUSED))
        if seen[-1] == "in":
            browser.switch_to.active_element.send_keys(Keys.ENTER)
        if seen[-1] == "sort Elapsed":
            browser.switch_to.active_element.send_keys(Keys.SPACE)
            break

    assert seen[:4] == ["#main", "#findings", "#queries", "#timeline"]
    assert {"in", "out", "earlier", "later", "all"} <= set(seen)
    assert any(str(each).startswith("Evidence: rule") for each in seen)
    assert browser.find_element(By.CSS_SELECTOR, "th[aria-sort]").text == "Elapsed"
    assert browser.find_element(By.ID, "sorted").get_attribute("textContent") == "Sorted by Elapsed, largest first"
    assert browser.get_log("browser") == []


def test_zoom_changes_the_timeline(browser, opened) -> None:
    """The zoom button shows a part of the run; the button for the whole run shows the whole run again."""
    opened(report_scenario.ordinary())
    labels = "[...document.querySelectorAll('[data-chart=timeline] .role-axis-label text')]"
    ticks = f"return {labels}.map(label => label.textContent).sort()"
    whole = browser.execute_script(ticks)
    browser.find_element(By.CSS_SELECTOR, "[data-zoom=in]").click()
    part = wait_for(lambda: (now := browser.execute_script(ticks)) != whole and now, 60, "the part")
    browser.find_element(By.CSS_SELECTOR, "[data-zoom=all]").click()

    assert part != whole
    assert wait_for(lambda: browser.execute_script(ticks) == whole, 60, "the whole run")


def test_sorting_keeps_all_rows(browser, opened) -> None:
    """The first click on a heading sorts in descending order, the second in ascending order; no row is lost."""
    opened(report_scenario.ordinary())
    first = "return [...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[0].textContent)"
    button = browser.find_element(By.XPATH, "//button[text()='Tasks']")
    orders = []
    for _ in range(2):
        button.click()
        orders.append(browser.execute_script(first))

    assert orders == [["stage 1", "stage 0", "stage 2"], ["stage 2", "stage 0", "stage 1"]]


def test_dark_mode_changes_page_and_charts(browser, opened) -> None:
    """After a switch to dark mode, background, text and bars change their colours without a reload."""
    opened(report_scenario.ordinary())
    colours = """
        const of = (place, name) => getComputedStyle(document.querySelector(place))[name];
        return [of("body", "backgroundColor"), of("body", "color"), of("[data-chart=timeline] .mark-rect path", "fill"),
                of("[data-chart=timeline] .role-axis-label text", "fill")];
    """
    see(browser, prefers_color_scheme="light")
    light = browser.execute_script(colours)
    see(browser, prefers_color_scheme="dark")
    dark = browser.execute_script(colours)

    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] == "rgb(13, 17, 23)"
    assert all(one != other for one, other in zip(light, dark, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_meets_wcag_aa(browser, opened, scheme) -> None:
    """In both colour schemes, text has a contrast of 4.5:1 and shapes have 3:1 (WCAG AA)."""
    opened(report_scenario.ordinary())
    see(browser, prefers_color_scheme=scheme)
    colours = browser.execute_script(
        """
        const all = {};
        const probe = document.body.appendChild(document.createElement("i"));
        for (const name of arguments[0]) {
          probe.style.color = `var(--${name})`;
          all[name] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
        }
        return all;
    """,
        [
            "paper",
            "raised",
            "ink",
            "dim",
            "link",
            "critical",
            "warning",
            "info",
            "accent",
            "good",
            "bad",
            "open",
            "quiet",
        ],
    )
    texts = {name: contrast(colours[name], colours["raised"]) for name in ("ink", "dim", "critical", "warning", "info")}
    shapes = {name: contrast(colours[name], colours["paper"]) for name in ("accent", "good", "bad", "open", "quiet")}

    assert {name: ratio for name, ratio in texts.items() if ratio < 4.5} == {}
    assert {name: ratio for name, ratio in shapes.items() if ratio < 3} == {}


def test_print_is_black_on_white_and_complete(browser, opened) -> None:
    """Print uses the light scheme, hides the buttons and shows the whole content of scrolling boxes."""
    opened(report_scenario.ordinary())
    see(browser, media="print", prefers_color_scheme="dark")
    found = browser.execute_script("""
        const of = (place, name) => getComputedStyle(document.querySelector(place))[name];
        return [of("body", "backgroundColor"), of(".controls", "display"), of(".scroll", "overflowX")];
    """)

    assert found == ["rgb(255, 255, 255)", "none", "visible"]


def test_page_has_landmarks_headings_and_names(browser, opened) -> None:
    """The page has one main, one h1, table headers, and a name for each button and chart."""
    opened(report_scenario.ordinary())
    found = browser.execute_script("""
        const all = (place) => [...document.querySelectorAll(place)];
        return {
          language: document.documentElement.lang,
          levels: all("h1, h2, h3, h4").map((each) => Number(each.tagName[1])),
          mains: all("main").length,
          bare: all("table").filter((each) => !each.querySelector("thead th[scope=col]")).length,
          nameless: all("button, summary, a").filter((each) => !each.textContent.trim()).length,
          uncaptioned: all(".chart").filter((each) => !each.closest("figure").querySelector("figcaption")).length,
          wide: document.documentElement.scrollWidth > window.innerWidth,
        };
    """)

    assert found.pop("levels")[0] == 1
    assert found == {"language": "en", "mains": 1, "bare": 0, "nameless": 0, "uncaptioned": 0, "wide": False}
