"""Tests the pages of the console over a real store: their facts, filters, pages, hostile text and errors."""

from __future__ import annotations

import html
import re
import shlex
from urllib.parse import quote, urlsplit

import pytest
from markupsafe import escape

from sparkfuse_contracts import links
from sparkfuse_native_analytics.queries.cursor import encode
from tests.console_server import part, serving
from tests.integration.console.rows import (
    HOST,
    HOSTILE,
    HOSTILE_APP,
    HOSTILE_FINDING,
    MANY,
    SECRET,
    TEAM,
)
from tests.integration.dashboards.scenario import APP

FINDING_LINK = re.compile(r'<td class="text"><a href="/findings/([^"]+)">')
RUN_LINK = re.compile(r'<th scope="row" class="text"><a href="/runs/([^"]+)">')


def test_inbox_shows_the_most_severe_first(console):
    """Open findings are sorted by severity and age; resolved ones are below; the counts cover all pages."""
    text = console.get("/").text
    opened, _, _ = text.partition("Resolved in the last seven days")
    severities = re.findall(r'<td><span class="severity (\w+)">', opened)

    assert severities == sorted(severities, key=["critical", "warning", "info"].index)
    assert severities.count("critical") == 2
    assert f"<dd>{MANY + 1}</dd>" in opened
    assert "A running task has stood still" in opened
    assert ">resolved</span>" not in opened
    assert 'href="/findings/5be0c7a91d3f2208"' not in opened


def test_inbox_pages_have_each_finding_once(console):
    """Following the links to the next page shows each finding once, in order, with at most 100 on a page."""
    path, seen, sizes = f"/?team={TEAM}", [], []
    while path:
        text = console.get(path).text.partition("Resolved in the last")[0]
        found = FINDING_LINK.findall(text)
        seen += found
        sizes.append(len(found))
        more = re.search(r'<a href="([^"]+)" rel="next">', text)
        path = more[1].replace("&amp;", "&") if more else ""

    assert sizes == [100, 100, 30]
    assert seen == sorted(seen, key=lambda each: (int(each[5:]) // 2, each))
    assert len(set(seen)) == MANY


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (f"team={TEAM}&job=JOB-1", 77),
        (f"team={TEAM}&severity=critical", 0),
        ("severity=critical&team=hostile-team", 1),
        ("job=%25", 0),
        ("job='%20OR%201=1%20--", 0),
        ("team=nobody", 0),
    ],
)
def test_inbox_filters(console, query, count):
    """Filters by team, severity and a part of the job key select findings; quotes have no special meaning."""
    opened = console.get(f"/?{query}").text.partition("Resolved in the last")[0]

    assert len(FINDING_LINK.findall(opened)) == count
    assert ("No open finding matches" in opened) is (count == 0)


def test_finding_shows_everything(console):
    """The page of a finding has its text, place, evidence, cost, runs, the steps of its runbook and all links."""
    text = console.get("/findings/a1b2c3d4e5f60718").text

    assert "<title>task_stuck - Sparkfuse</title>" in text
    assert str(escape("<b>it's</b> 100 % `spilled`")) in text
    assert '<td class="text">→ 数 🚒</td>' in text
    assert 'href="/runs/app-20261121020000-0042"' in text
    assert f'href="{links.job_url("", "prod-eu/Größe/注文 🧮")}"' in text
    assert 'href="/docs/rules/task_stuck.md#runbook"' in text
    assert "Kill the attempt" in part(text, "steps")
    assert "12.50 USD" in console.get("/findings/many-0000").text


def test_finding_asks_for_a_verdict(console):
    """The page has commands for a verdict with the quoted id, the verdicts as text, and the reason of a demotion."""
    judged = console.get("/findings/many-0000").text
    hostile = html.unescape(console.get(f"/findings/{quote(HOSTILE_FINDING, safe='')}").text)

    assert "sparkfuse feedback many-0000 not-useful" in part(judged, "feedback")
    assert str(escape("ada: not-useful")) in part(judged, "feedback")
    assert str(escape("<script>window.hacked=1")) in part(judged, "feedback")
    assert "Demoted to info: 0 of 6 judged findings of stage_spill in team many-findings were useful" in judged
    assert f"sparkfuse feedback {shlex.quote(HOSTILE_FINDING)} useful" in hostile
    assert "Demoted to info" not in hostile


def test_run_shows_its_facts(console):
    """The page of a live run has its state, findings with evidence, queries, stages, executors and fuse steps."""
    text = console.get(f"/runs/{APP}").text

    assert "<h1>nightly_orders 2026-11-21</h1>" in text
    assert "920 finished, 16 running, 1 failed" in text
    assert '<th scope="row">stalled_ms</th><td class="text">48000</td>' in part(text, "findings")
    assert "write_orders at orders.py:88" in part(text, "queries")
    assert "1.3 GiB" in part(text, "stages")
    assert f'<a href="/hosts/{HOST}">{HOST}</a>' in part(text, "executors")
    assert "Container killed by YARN" in part(text, "executors")
    assert "<td>hook</td>" in part(text, "fuse")
    assert 'data-refresh-seconds="5"' in text
    assert f'<a href="/runs/{APP}">Reload now</a>' in text


def test_real_run_has_its_queries_and_stages(console, real_run):
    """The page of a run from a real event log has all its queries and stages, and does not refresh."""
    text = console.get(links.run_url("", real_run.app_id)).text
    names = [name.name for name in real_run.names.queries.values()]

    assert len(names) > 20
    assert [name for name in names if str(escape(name)) not in part(text, "queries")] == []
    assert part(text, "stages").count("<tr>") > 20
    assert "data-refresh-seconds" not in text
    assert "backfill" in part(text, "executors")


def test_expected_durations_come_from_earlier_runs(console, real_run):
    """The run and its stages have the expected duration and p95 from six earlier runs with the same work."""
    text = console.get(links.run_url("", real_run.app_id)).text
    job = console.get(links.job_url("", real_run.job_key)).text
    rows = [re.findall(r"<t[dh][^>]*>([^<]*)", row) for row in part(text, "stages").split("<tr>")[2:]]
    expected = {row[0]: (row[5], row[6].partition(", ")[0]) for row in rows if row[6] != "-"}

    assert "<dt>Expected, p95</dt>" in text
    assert len(expected) > 50
    assert any(took == usual for took, usual in expected.values())
    assert "(6 earlier runs)" in job
    assert "whole application" in part(job, "baselines")


def test_job_shows_runs_findings_and_baselines(console):
    """The page of a job has a chart with a text alternative, its runs, open and resolved findings, and baselines."""
    text = console.get(links.job_url("", "nightly_orders")).text
    other = console.get(links.job_url("", "prod-eu/orders/nightly_orders")).text

    assert "A stage is slower than its history" in part(other, "findings")
    assert "/findings/5be0c7a91d3f2208" in part(other, "resolved")
    assert "save at orders.py:88" in part(other, "baselines")
    assert "<svg" not in part(other, "runs")
    assert text.count("<h1>") == 1


def test_host_shows_findings_and_runs(console):
    """The page of a host has the findings that name it, and the runs whose executors it had."""
    text = console.get(links.host_url("", HOST)).text

    assert 'href="/findings/many-0000"' in part(text, "findings")
    assert 'href="/findings/many-0001"' not in text
    assert f'href="/runs/{APP}"' in part(text, "runs")
    assert console.get(links.host_url("", HOST[:-1])).status_code == 404, "a part of the name is another host"


def test_runs_are_listed_with_filters(console):
    """The list of runs selects by status, job, user, owner or team, and a part of the name or id."""
    hostile = quote(HOSTILE_APP, safe="")
    found = {
        query: RUN_LINK.findall(console.get(f"/runs?{query}").text)
        for query in ("", "job=HOSTILE/", "job=other", "who=nobody", f"who={quote(HOSTILE)}", "status=failed",
                      "text=APP-%3Cb", "text='")
    }  # fmt: skip

    assert hostile in found[""]
    assert [hostile] == found["job=HOSTILE/"] == found[f"who={quote(HOSTILE)}"] == found["text=APP-%3Cb"]
    assert found["job=other"] == found["who=nobody"] == found["status=failed"] == []
    assert found["text='"] == [hostile]


def test_run_pages_have_each_run_once(console, monkeypatch):
    """Following the links shows each run once."""
    monkeypatch.setattr("sparkfuse_console.pages.runs.PAGE_SIZE", 2)
    path, seen = "/runs?period=90d&job=o", []
    while path:
        text = console.get(path).text
        seen += RUN_LINK.findall(text)
        more = re.search(r'<a href="([^"]+)" rel="next">', text)
        path = more[1].replace("&amp;", "&") if more else ""

    assert len(seen) == len(set(seen)) > 0
    assert quote(HOSTILE_APP, safe="") in seen


@pytest.mark.parametrize(
    ("text", "links_to"),
    [
        (HOST, f"/hosts/{HOST}"),
        ("many-0007", "/findings/many-0007"),
        (APP[4:], f"/runs/{APP}"),
        ("hostile/", links.job_url("", "hostile/job")),
    ],
)
def test_search_finds_each_kind(console, text, links_to):
    """One field finds a host by its name, a finding by its id, an application and a job by a part."""
    assert f'href="{links_to}"' in console.get(f"/search?q={quote(text)}").text


@pytest.mark.parametrize("text", ["%", "' OR 1=1 --", "x<script>", "x\u202e"])
def test_search_for_hostile_text_finds_nothing(console, text):
    """Wildcards, quotes and markup have no special meaning."""
    shown = console.get(f"/search?q={quote(text)}").text

    assert "Nothing matches" in shown
    assert "<script>" not in shown


def test_comparison_shows_the_difference(console, real_run):
    """Two runs are compared by causes, stages and limits; a run offers other runs of its job."""
    shown = console.get(f"/compare?before={APP}&after={real_run.app_id}").text
    same = console.get(f"/compare?before={real_run.app_id}&after={real_run.app_id}").text

    assert "add up to the difference" in part(shown, "causes")
    assert part(shown, "stages").count("<tr>") == 51
    assert "times of single tasks" in part(shown, "limits")
    assert "The runs do not differ" in same
    assert f"/compare?before=app-before-1&amp;after={APP}" in console.get(f"/compare?after={APP}").text
    assert f'href="/compare?after={APP}"' in console.get(f"/runs/{APP}").text
    assert console.get(f"/compare?before=nothing&after={APP}").status_code == 404


def test_explanation_shows_causes_predictions_and_findings(console, real_run, slow_run):
    """A run is explained by the causes of its excess, by predictions and by findings; the page of the run links it."""
    usual, slow = slow_run
    shown = console.get(f"/explain?run={slow.app_id}").text

    assert "The run took as long as expected" in console.get(f"/explain?run={real_run.app_id}").text
    assert f'href="/runs/{usual.app_id}"' in part(shown, "causes")
    assert "cost" in part(shown, "causes")
    assert "no stragglers" in part(shown, "predictions")
    assert "/findings/" in part(console.get(f"/explain?run={APP}").text, "findings")
    assert f'href="/explain?run={APP}"' in console.get(f"/runs/{APP}").text
    assert console.get("/explain?run=nothing").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/",
        f"/explain?run={quote(HOSTILE_APP)}",
        "/search?q=hostile",
        "/costs",
        "/costs?by=job",
        f"/costs?team={quote(HOSTILE)}",
        "/runs",
        links.run_url("", HOSTILE_APP),
        links.job_url("", "hostile/job"),
        links.job_url("", f"team/{HOSTILE}?x#y"),
        links.host_url("", HOSTILE),
        links.finding_url("", HOSTILE_FINDING),
    ],
)
def test_hostile_text_stays_text(console, path):
    """Text from jobs has no markup, no hidden characters and no secrets on any page, and links to no script."""
    reply = console.get(path)

    assert reply.status_code == 200
    assert "&lt;script&gt;window.hacked=1" in reply.text or path == links.job_url("", "hostile/job")
    assert "<script>" not in reply.text
    assert "<img" not in reply.text
    assert "<b>" not in reply.text
    assert "\u202e" not in reply.text
    assert SECRET not in reply.text
    assert 'href="javascript:' not in reply.text


@pytest.mark.parametrize(
    "path",
    [
        "/findings/nothing",
        "/runs/nothing",
        "/jobs/nothing",
        "/hosts/unknown-host",
        "/findings/",
        "/findings/'%20OR%201=1",
    ],
)
def test_unknown_things_are_a_clear_404(console, path):
    """An unknown id has status 404 and a sentence that says where to look."""
    reply = console.get(path)

    assert reply.status_code == 404
    assert "<h1>Not found</h1>" in reply.text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/?severity=bad", "severity must be one of critical, warning, info"),
        ("/?after=1", "not one of findings"),
        ("/?after=x&after=y", "must not be repeated"),
        (f"/?after={encode('runs', (1, 'a', 1))}", "not one of findings"),
        (f"/?after={encode('findings', (0, 1, 'a'))}", "not one of findings"),
        (f"/?after={encode('findings', (1, 1 << 70, 'a'))}", "number that is too large"),
        ("/?job=" + "x" * 400, "at most 300 characters"),
        ("/runs?status=dead", "status must be one of running, succeeded, failed"),
        (f"/runs?after={encode('runs', (1, 'a', -1))}", "not one of runs"),
        ("/runs?after=" + "A" * 2_000, "not one of runs"),
        ("/runs?period=9d", "period must be one of"),
    ],
)
def test_wrong_parameters_are_a_clear_400(console, path, message):
    """A wrong parameter has status 400 and a sentence that names it."""
    reply = console.get(path)

    assert reply.status_code == 400
    assert message in reply.text


def test_every_link_resolves(console):
    """Each link of the pages about things leads to an existing page; none leads to another host."""
    start = ["/", "/runs?period=90d", "/costs", links.run_url("", HOSTILE_APP), f"/runs/{APP}",
             links.host_url("", HOST), links.finding_url("", HOSTILE_FINDING), "/findings/a1b2c3d4e5f60718",
             links.job_url("", "prod-eu/orders/nightly_orders")]  # fmt: skip
    shown = "".join(console.get(path).text for path in start)
    targets = {html.unescape(each).partition("#")[0] for each in re.findall(r'(?:href|src)="([^"]+)"', shown)}
    targets = {each for each in targets if not re.match(r"/(findings|runs|jobs)/many", each)}
    broken = {target: status for target in targets if target and (status := console.get(target).status_code) != 200}

    assert len(targets) > 20
    assert [target for target in targets if urlsplit(target).netloc] == []
    assert broken == {}


def test_store_without_tables_is_a_clear_page(store_url):
    """If no loader has run on the store, the page has status 503 and says so."""
    with serving(f"{store_url}/default") as empty:
        reply = empty.get("/")

    assert reply.status_code == 503
    assert "The store is empty" in reply.text
