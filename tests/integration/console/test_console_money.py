"""Tests what the console shows about money: costs and waste, advice, and what applied advice gained."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

from sparkfuse_contracts import links
from tests.console_server import part
from tests.integration.console.rows import ADVISED_JOB, APPLIED_JOB, WASTING_TEAM


def test_advice_shows_evidence_and_reasons(console):
    """A skewed job gets advice with the prediction for each run; a job with too few runs gets the reason for none."""
    shown = console.get(f"/advice?job={quote(ADVISED_JOB)}").text
    address = links.job_url("", ADVISED_JOB)

    assert "salting" in part(shown, "skew")
    assert part(shown, "skew").count('href="/runs/skewed-') == 5
    assert "Advice needs 5 successful runs" in console.get("/advice?job=named-queries").text
    assert f'href="/advice?job={quote(ADVISED_JOB, safe="")}"' in console.get(address).text
    assert console.get("/advice?job=nothing").status_code == 404


def test_costs_lead_from_the_fleet_to_the_advice(console):
    """The owner of the platform goes from the team that wastes most to its jobs, and from there to the advice."""
    fleet = console.get("/").text
    teams = console.get(next(iter(re.findall(r'href="(/costs)"', fleet)))).text
    rows = re.findall(r"<tr>.*?</tr>", teams[teams.index("<tbody>") :], re.DOTALL)
    jobs = console.get(html.unescape(re.findall(r'href="(/costs[^"]+)"', rows[0])[0])).text
    job = html.unescape(re.findall(r'href="(/jobs/[^"]+)"', jobs)[-1])

    assert html.escape(WASTING_TEAM) in rows[0]
    assert "8.09 USD" in rows[0]
    assert next(each for each in rows if "unpriced" in each).count("unknown") == 5
    assert jobs.count("/jobs/") == 2
    assert job == links.job_url("", ADVISED_JOB)
    assert f'href="/advice?job={quote(ADVISED_JOB, safe="")}"' in jobs
    assert "Advice for the next runs" in console.get(job).text
    assert "choose a longer period" in console.get("/costs?team=nobody").text


def test_outcomes_lead_from_a_slow_job_to_a_verified_gain(console):
    """An engineer goes from the page of a job to its advice, and sees that applied advice has brought a gain."""
    job = console.get(links.job_url("", APPLIED_JOB)).text
    address = html.unescape(re.findall(r'href="(/advice[^"]+)"', job)[0])
    shown = part(console.get(address).text, "outcomes")
    found = console.get(f"/api/v1/jobs/{quote(APPLIED_JOB, safe='')}/advice/outcomes").json()

    assert "verified" in shown
    assert "spark.executor.instances=4" in shown
    assert "-50 %" in shown
    assert 'href="/runs/applied-5"' in shown
    assert "<b>" not in shown
    (entry,) = [each for each in found["entries"] if each["state"] != "proposed"]
    assert (entry["state"], entry["runs_after"], entry["as_predicted"]) == ("verified", 5, True)
    assert entry["saved_cost"] > 0
    assert "No setting has changed" in console.get(f"/advice?job={quote(ADVISED_JOB)}").text
