"""Tests the HTML report without a browser: its content, its limits, and its safety against hostile logs."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import escape

from sparkfuse_contracts.assets import asset
from sparkfuse_dashboards.report import distributions, timeline, worst_stages, write_report
from sparkfuse_dashboards.report.findings import steps
from sparkfuse_dashboards.report.page import interpreter
from sparkfuse_dashboards.report.text import clean, number, script_json
from sparkfuse_dashboards.report.timeline import Bar, Window
from sparkfuse_dashboards.report.write import report_html
from tests.unit.dashboards import report_scenario

MEGABYTE = 1_000_000
# No deadline: a busy machine can be slow.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_vendored_files_have_published_checksums(repository) -> None:
    """Each vendored file has the checksum in the list beside it, so manual changes are detected."""
    folder = repository / "dashboards" / "vendor"
    named = re.findall(r"^\| `([^`]+)` .* `([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.MULTILINE)

    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name, _ in named} == dict(named)
    assert {path.name for path in folder.glob("*.js")} == {name for name, _ in named}


def test_report_contains_the_texts_of_the_examples() -> None:
    """The report shows names, findings with evidence, files and malformed lines of each example analysis."""
    folder = asset("sparkfuse_contracts", "examples", "analysis")
    for analysis in (json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))):
        html = report_html(analysis, None)
        texts = [analysis["application"]["name"], analysis["application"]["job_key"]]
        texts += [text for finding in analysis["findings"] for text in (finding["summary"], *finding["evidence"])]
        texts += [file["name"] for file in analysis["evidence"]["files"]]
        texts += [line["reason"] for line in analysis["evidence"]["malformed_lines"]]
        texts += [rule["rule"] for rule in analysis["not_decidable"]]

        assert [text for text in texts if str(escape(text)) not in html] == []
        assert "The finding has no runbook" not in html


def test_symptom_is_listed_below_its_cause() -> None:
    """A symptom is listed directly after its cause, even if another finding is more severe.

    Several matches of a rule are shown once.
    """
    cause = report_scenario.finding(1, "warning", summary="An executor was lost", count=40)
    symptom = report_scenario.finding(2, "warning", summary="The stage is run again", inhibited_by="executor_lost")
    worst = report_scenario.finding(3, "critical", summary="The stage spills")
    html = report_html(report_scenario.analysis([], [cause, symptom, worst]), None)
    places = [
        html.index(f"<bdi>{each}</bdi>")
        for each in ("The stage spills", "An executor was lost", "The stage is run again")
    ]

    assert places == sorted(places)
    assert html.count("A symptom of <bdi>executor_lost</bdi>, which is listed above.") == 1
    assert html.count("The worst match is shown; the rule matches 39 more times.") == 1


def test_report_contains_licences() -> None:
    """Each report contains the licences of Vega and D3, because each copy of their code must contain their notices."""
    html = report_html(report_scenario.empty(), None)

    assert "University of Washington Interactive Data Lab" in html
    assert "Mike Bostock" in html


def test_worst_finding_and_its_runbook_come_first() -> None:
    """The critical finding and its runbook are the first content of the report."""
    analysis = report_scenario.ordinary()
    analysis["findings"] = [report_scenario.finding(0, "info"), report_scenario.finding(1, "critical", summary="Worst")]
    html = report_html(analysis, None)

    assert html.index("Worst") < html.index("One task of the stage has far more")
    assert (
        html.index("What to do") < html.index('id="timeline"') < html.index('id="stages"') < html.index('id="evidence"')
    )


@pytest.mark.parametrize("name", ["ordinary", "hostile", "empty", "without_metrics"])
def test_policy_allows_only_own_scripts_and_style(name) -> None:
    """The content security policy lists each script and style by its hash.

    The policy contains neither an address nor an 'unsafe' keyword.
    """
    html = report_html(getattr(report_scenario, name)(), None)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)[1].replace("&#39;", "'")
    code = re.findall(r"<script>(.*?)</script>", html, re.DOTALL) + re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    sums = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in code}

    assert set(re.findall(r"sha256-([^']+)'", policy)) == sums
    assert "unsafe" not in policy
    assert "http" not in policy.lower()
    assert policy.startswith("default-src 'none'")


def test_hostile_text_does_not_become_markup() -> None:
    """A log whose texts contain markup adds no element and no invisible character to the page."""
    calm, wild = (report_html(getattr(report_scenario, name)(), None) for name in ("ordinary", "hostile"))

    assert wild.count("</script>") == calm.count("</script>") == 4
    assert wild.count("<img") == calm.count("<img") == 0
    assert not {"\u2028", "\u202e", "\x00"} & set(wild)
    assert "window.hacked=1&lt;/script&gt;" in wild


@UNHURRIED
@given(st.text(), st.integers(min_value=1, max_value=50))
def test_cleaned_text_can_be_written_and_has_an_end(text, longest) -> None:
    """A cleaned text is valid UTF-8 for any input.

    The length of a cleaned text is at most the requested length plus one ellipsis.
    """
    cleaned = clean(text, longest)

    assert len(cleaned.encode("utf-8").decode("utf-8")) <= longest + 1


@UNHURRIED
@given(st.recursive(st.none() | st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))  # fmt: skip
def test_json_in_a_script_says_the_same_and_cannot_end_it(value) -> None:
    """JSON in a script element is parsed to the same value.

    The JSON contains no character that HTML or an old script parser could interpret, so it cannot end the element.
    """
    text = script_json({"value": value})

    assert json.loads(text) == {"value": value}
    assert not set("<>&\u2028\u2029") & set(text)


@pytest.mark.parametrize("value", [None, "7", True, math.nan, math.inf, 10**400, [1]])
def test_what_is_no_number_is_unknown(value) -> None:
    """If a text, boolean, NaN or number beyond 63 bits is in place of a number, it is neither drawn nor summed."""
    assert number(value) is None


def test_huge_run_fits_a_small_page_that_states_the_omissions(tmp_path) -> None:
    """The report of 10,000 stages and 10^6 tasks is below 3 MB.

    The report states how many stages and tasks it omits.
    """
    analysis = report_scenario.huge()
    worst = worst_stages(analysis)
    path = tmp_path / "report.html"
    write_report(analysis, report_scenario.tasks(worst, 125_000), path)
    text = path.read_text(encoding="utf-8")

    assert path.stat().st_size < 3 * MEGABYTE
    assert "9700 more stages are not shown" in text
    assert "150 more findings are not shown" in text
    assert "of 2000 jobs are not drawn" in text
    assert "of 125000 task attempts are drawn as points" in text


def test_an_empty_log_claims_nothing() -> None:
    """The report of an empty log has no chart and no cost, and one sentence explains why."""
    html = report_html(report_scenario.empty(), None)

    assert "The log has no event, so nothing is known about the application." in html
    assert '<script type="application/json" id="charts">{}</script>' in html


def test_a_document_without_any_key_is_a_page_too() -> None:
    """If the analysis has no keys at all, the report shows its values as unknown."""
    assert "Application without a name" in report_html({}, None)


def test_without_metrics_the_page_says_so() -> None:
    """If tasks have no metrics, the report draws times but no bytes, and one sentence names what is unknown."""
    analysis = report_scenario.without_metrics()
    html = report_html(analysis, report_scenario.tasks([(0, 0)], 16, measured=False))
    charts = json.loads(re.search(r'id="charts">(.*?)</script>', html, re.DOTALL)[1])

    assert "No task has metrics" in html
    assert {name for name in charts if name.endswith("-0")} == {"durations-0"}


def test_stages_with_findings_precede_the_most_expensive_ones() -> None:
    """The list of stages starts with critical findings, then warnings, then the highest cost.

    Each stage is listed once, and only stages of the analysis are listed.
    """
    stages = [report_scenario.stage(each, [100.0 * (each + 1)]) for each in range(5)]
    findings = [report_scenario.finding(2), report_scenario.finding(0, "critical"), report_scenario.finding(99)]

    assert worst_stages(report_scenario.analysis(stages, findings), 4) == [(0, 0), (2, 0), (4, 0), (3, 0)]


@UNHURRIED
@given(st.lists(st.floats(min_value=0, max_value=1e15, allow_subnormal=False)))
def test_every_value_is_in_one_bin(values) -> None:
    """The bins of a histogram have no gaps between them, and each value is counted in the bin that contains it."""
    found = distributions.bins(np.asarray(values, dtype=np.float64))
    positive = [each for each in found if each["to"] > 0]

    assert sum(each["count"] for each in found) == len(values)
    assert all(one["to"] == other["from"] for one, other in itertools.pairwise(positive))


@UNHURRIED
@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1), st.integers(min_value=8, max_value=40))
def test_points_are_few_and_hold_the_longest(tasks, most) -> None:
    """The chart has at most the requested number of tasks, each task once, and always includes the longest task."""
    durations = np.asarray([each for each, _ in tasks])
    places = distributions.chosen(durations, np.asarray([bad for _, bad in tasks]), most)

    assert len(places) == len(set(places)) <= most
    assert durations.max() in durations[places]


@UNHURRIED
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100))), st.integers(1, 5))
def test_bars_of_one_line_never_cover_each_other(spans, most) -> None:
    """Bars in one line do not overlap, and no bar is omitted if there are enough lines."""
    bars = [Bar("", "", start, start + length, "") for start, length in spans]
    lanes = timeline.pack(bars, most)

    assert all(one.end <= other.start for lane in lanes for one, other in itertools.pairwise(lane))
    assert len(lanes) <= most
    assert sum(map(len, timeline.pack(bars, len(bars) or 1))) == len(bars)


def test_executors_alive_counts_joins_and_leaves() -> None:
    """The number of executors starts at zero and changes at each join and leave.

    An executor that never left is included until the end.
    """
    executors = [{"executor_id": "1", "added_ms": 1000, "removed_ms": 3000}, {"executor_id": "2", "added_ms": 2000}]

    assert [(each["at"], each["count"]) for each in timeline.alive(executors, Window(1000, 5000))] == [
        (0.0, 0), (0.0, 1), (1.0, 2), (2.0, 1), (4.0, 1)
    ]  # fmt: skip


def test_stages_outside_the_time_range_are_counted_not_drawn() -> None:
    """A stage whose times come from a wrong clock is counted but not drawn, because it would distort the time axis."""
    analysis = report_scenario.ordinary()
    analysis["stages"][0] |= {"submitted_ms": 1, "completed_ms": 2}
    drawn = timeline.rows(analysis, timeline.window(analysis))

    assert drawn["left_out"] == ["1 of 3 stages are not drawn (shortest, or outside)."]


def test_steps_of_a_runbook() -> None:
    """Numbered lines of a runbook become steps.

    Lines below a step belong to that step, and code is marked as code.
    """
    assert steps("1. Look at `a_b`\n   twice.\n2. Stop.") == [
        [(False, "Look at "), (True, "a_b"), (False, " twice.")],
        [(False, "Stop.")],
    ]


def test_another_interpreter_is_refused() -> None:
    """Vendored code with unexpected imports raises ValueError in Python, instead of failing in the reader's browser."""
    with pytest.raises(ValueError):
        interpreter("import { other } from 'vega-util';")


def test_queries_come_after_findings_with_their_stages() -> None:
    """In the report, queries follow the findings.

    Each query shows its name, call site and sources, and the display names of its stages.
    """
    folder = asset("sparkfuse_contracts", "examples", "analysis")
    analysis = json.loads((folder / "query_call_site.json").read_text())
    html = report_html(analysis, None)
    section = html[html.index('id="queries"') : html.index('id="timeline"')]
    (query,) = analysis["queries"]
    names = [each["stage_name"] for each in analysis["stages"] if each["sql_execution_id"] == query["query_id"]]

    assert html.index('id="findings"') < html.index('id="queries"') < html.index('id="stages"')
    assert [text for text in (query["name"], query["call_site"], *names) if str(escape(text)) not in section] == []
