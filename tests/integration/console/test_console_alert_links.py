"""Follows every link of an alert of every rule, and of every alert about the pipeline, on a console with rows."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import requests
import yaml

from sparkfuse_alertmanager.alert import alert_of
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.render import write_prometheus
from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.links import docs_url, run_url
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.runbooks import rule_runbook_url
from tests.console_server import RunningConsole, serving
from tests.integration.console.rows import HOST, HOSTILE_APP, fill_console
from tests.integration.dashboards.scenario import arrow_rows, fill, insert

RULES = sorted(load_catalog())
# The views whose findings are about a host.
HOST_VIEWS = ("host_live",)


def example(rule: str) -> Finding:
    """Return a finding of a rule about the run that the store has."""
    found = Finding()
    found.CopyFrom(examples_of(Finding)["firing"])
    found.finding_id, found.rule, found.summary = f"link-{rule}", rule, load_catalog()[rule].summary
    if load_catalog()[rule].view in HOST_VIEWS:
        found.scope, found.runs[0].evidence["host"] = f"host:{HOST}", HOST
    return found


@pytest.fixture(scope="module")
def filled_console(store_url: str) -> Iterator[RunningConsole]:
    """Return a console over a database of its own, with a run, a host and a finding of each rule."""
    database = f"links_{uuid.uuid4().hex[:8]}"
    administrator = connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": store_url}))
    administrator.command(f"CREATE DATABASE {database}")
    client = connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": f"{store_url}/{database}"}))
    migrate(client)
    fill(client)
    fill_console(client)
    insert(client, "findings", arrow_rows("findings", map(example, RULES)))
    with serving(f"{store_url}/{database}") as running:
        yield running
    administrator.command(f"DROP DATABASE {database}")


def follow(url: str) -> str:
    """Return the content of the page of a link; fail if the page, or the part that the link names, is not there."""
    answer = requests.get(url, timeout=60)
    fragment = urlsplit(url).fragment
    main = answer.text.partition("<main")[2].partition("</main>")[0]

    assert answer.status_code == 200, url
    assert len(re.sub(r"<[^>]+>|\s+", "", main)) > 100, f"{url} is empty"
    assert not fragment or f'id="{fragment}"' in answer.text, url
    return main


@pytest.mark.parametrize("rule", RULES)
def test_every_link_of_an_alert_has_a_page(filled_console, rule):
    """The finding, its verdict, its runbook, and the page of its application or host have rows of this finding."""
    found = example(rule)
    found.runbook_url = rule_runbook_url(docs_url(filled_console.url), rule)
    annotations = alert_of(found, found.updated_ms, Links(filled_console.url)).annotations
    pages = {name: follow(url) for name, url in annotations.items() if name.endswith("_url")}
    about = HOST if found.scope.startswith("host:") else found.finding_id

    assert sorted(pages) == ["dashboard_url", "finding_url", "runbook_url"]
    assert found.finding_id in pages["finding_url"]
    assert f"sparkfuse feedback {found.finding_id} useful" in follow(annotations["finding_url"] + "#feedback")
    assert "<li>" in pages["runbook_url"].partition('id="runbook"')[2]
    assert about in pages["dashboard_url"]


def test_page_of_a_job_has_its_runs(filled_console):
    """A finding without an application links to the page of its job, which lists the runs."""
    found = examples_of(Finding)["firing"]
    of_job = Finding()
    of_job.CopyFrom(found)
    of_job.job_key, of_job.runs[0].app_id = "hostile/job", ""
    page = follow(Links(filled_console.url).dashboard(of_job))

    assert run_url("", HOSTILE_APP) in page


def test_list_of_held_back_findings_has_a_page(filled_console):
    """The list of findings beyond the page budget links to the critical findings of the team."""
    page = follow(Links(filled_console.url).inbox("orders"))

    assert page.count('<span class="severity critical">') >= len(RULES)


def test_every_runbook_of_the_pipeline_has_a_page(filled_console, tmp_path):
    """Each alert of Prometheus links to a section of a runbook that the console has."""
    write_prometheus(tmp_path, {}, [], runbook_url=docs_url(filled_console.url))
    files = sorted((tmp_path / "prometheus_rules").glob("*.yml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    urls = [rule["annotations"].get("runbook_url") for group in groups for rule in group["rules"] if "alert" in rule]

    assert len(urls) > 20
    for url in filter(None, urls):
        follow(url)
