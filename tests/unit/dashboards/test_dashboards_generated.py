"""The checked-in dashboards are up to date, laid out and linked, with one panel and one page per rule."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.links import fleet_url, running_job_url
from sparkfuse_dashboards.fleet import fleet
from sparkfuse_dashboards.generate import ROOT, differences, generated, main, write
from sparkfuse_dashboards.push import dashboards
from sparkfuse_dashboards.query import DATASOURCE_UID, PLUGIN
from sparkfuse_dashboards.running_job import running_job
from sparkfuse_rules.catalog import load_catalog


def test_generated_files_are_up_to_date() -> None:
    """Generating again changes no file: `make check` compares the same way."""
    assert main(["--check"]) == 0


def test_write_adds_changes_and_removes_files(tmp_path) -> None:
    """Missing files are added, changed files are replaced, and superfluous files are removed."""
    write({"docs/rules/a.md": "a", "docs/rules/old.md": "old"}, tmp_path)
    made = {"docs/rules/a.md": "b", "docs/rules/c.md": "c"}
    write(made, tmp_path)

    assert differences(made, tmp_path) == []
    assert not (tmp_path / "docs/rules/old.md").exists()


@pytest.mark.parametrize("name", ["running_job.json", "fleet.json"])
def test_panels_do_not_overlap(name) -> None:
    """Panels have unique ids and do not overlap on Grafana's 24-column grid."""
    content = dashboards()[name]
    cells: set[tuple[int, int]] = set()
    for panel in content["panels"]:
        place = panel["gridPos"]
        taken = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not taken & cells, f"{panel['title']} overlaps another panel"
        cells |= taken
    ids = [panel["id"] for panel in content["panels"]]

    assert len(ids) == len(set(ids))
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize("name", ["running_job.json", "fleet.json"])
def test_every_panel_uses_the_provisioned_source(name) -> None:
    """Each panel has a description and one query for the provisioned data source."""
    provisioned = yaml.safe_load(asset("sparkfuse_dashboards", "provisioning/datasources/clickhouse.yaml").read_text())
    source = provisioned["datasources"][0]
    assert (source["type"], source["uid"]) == (PLUGIN, DATASOURCE_UID)
    for panel in dashboards()[name]["panels"]:
        if panel["type"] == "row":
            continue
        (target,) = panel["targets"]
        assert panel["description"]
        assert target["datasource"] == {"type": PLUGIN, "uid": DATASOURCE_UID}
        assert target["rawSql"].startswith("--")


def test_provisioning_contains_no_secret() -> None:
    """Address, user and password of the store come from the environment, the password as a secret field."""
    text = asset("sparkfuse_dashboards", "provisioning/datasources/clickhouse.yaml").read_text()
    source = yaml.safe_load(text)["datasources"][0]

    assert source["secureJsonData"] == {"password": "$SPARKFUSE_CLICKHOUSE_PASSWORD"}
    assert all(source["jsonData"][key].startswith("$SPARKFUSE_CLICKHOUSE_") for key in ("host", "port", "username"))


def test_every_query_file_is_used() -> None:
    """Each SQL file belongs to a panel or a variable of a dashboard."""
    shown = {target["rawSql"] for content in dashboards().values() for panel in content["panels"] for target in
             panel.get("targets", [])}  # fmt: skip
    shown |= {variable.sql for variable in running_job().variables}
    first_rule = next(iter(load_catalog()))
    unused = [
        str(path)
        for path in asset("sparkfuse_dashboards", "queries").rglob("*.sql")
        if path.read_text().strip().replace("{rule}", first_rule) not in shown
    ]

    assert unused == []


def test_every_rule_has_a_panel_and_a_page() -> None:
    """Every rule has a panel and a page, and the page has the runbook anchor of the alert's link."""
    titles = {panel.title for panel in fleet(load_catalog()).panels}
    for rule in load_catalog().values():
        page = (ROOT / "docs/rules" / f"{rule.id}.md").read_text()
        assert rule.id in titles
        assert "\n## Runbook\n" in page
        assert rule.runbook.strip() in page
        assert all(f"| {case.name} |" in page for case in rule.cases)


def test_links_open_the_dashboards() -> None:
    """The link of a finding opens the dashboard of the finding's application, with the application as its variable."""
    (variable,) = running_job().variables
    url = running_job_url("http://grafana:3000", "app 1/2")

    assert url == f"http://grafana:3000/d/{running_job().uid}?var-{variable.name}=app%201%2F2"
    assert fleet_url("http://grafana:3000") == f"http://grafana:3000/d/{fleet(load_catalog()).uid}"
    content = json.dumps(dashboards()["fleet.json"])
    assert re.search(rf"/d/{running_job().uid}\?var-{variable.name}=", content)


def test_generation_is_deterministic() -> None:
    """Two runs of the generator give the same bytes."""
    assert generated() == generated()
