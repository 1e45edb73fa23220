"""The checked-in dashboards are whole: generated, laid out, linked, one panel and one page a rule."""

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


def test_checkout_is_what_the_generator_makes() -> None:
    """Generating again changes no file: `make check` compares the same way."""
    assert main(["--check"]) == 0


def test_write_brings_a_folder_to_what_is_made(tmp_path) -> None:
    """Missing files appear, changed ones are made right, left-over ones go."""
    write({"docs/rules/a.md": "a", "docs/rules/old.md": "old"}, tmp_path)
    made = {"docs/rules/a.md": "b", "docs/rules/c.md": "c"}
    write(made, tmp_path)

    assert differences(made, tmp_path) == []
    assert not (tmp_path / "docs/rules/old.md").exists()


@pytest.mark.parametrize("name", ["running_job.json", "fleet.json"])
def test_layout(name) -> None:
    """Panels have ids of their own and do not overlap on Grafana's grid of 24."""
    content = dashboards()[name]
    cells: set[tuple[int, int]] = set()
    for panel in content["panels"]:
        place = panel["gridPos"]
        taken = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not taken & cells, f"{panel['title']} lies over another panel"
        cells |= taken
    ids = [panel["id"] for panel in content["panels"]]

    assert len(ids) == len(set(ids))
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize("name", ["running_job.json", "fleet.json"])
def test_every_panel_asks_the_provisioned_source(name) -> None:
    """Each panel has a description and one statement for the data source that provisioning makes."""
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


def test_no_secret_in_provisioning() -> None:
    """Where the store is and who may read it comes from the environment; the password only as a secret."""
    text = asset("sparkfuse_dashboards", "provisioning/datasources/clickhouse.yaml").read_text()
    source = yaml.safe_load(text)["datasources"][0]

    assert source["secureJsonData"] == {"password": "$SPARKFUSE_CLICKHOUSE_PASSWORD"}
    assert all(source["jsonData"][key].startswith("$SPARKFUSE_CLICKHOUSE_") for key in ("host", "port", "username"))


def test_every_query_file_is_on_a_panel() -> None:
    """No statement lies about unused."""
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


def test_every_rule_has_a_panel_and_a_page_with_runbook() -> None:
    """A new rule file brings its panel and page by itself; the alert's link finds its anchor."""
    titles = {panel.title for panel in fleet(load_catalog()).panels}
    for rule in load_catalog().values():
        page = (ROOT / "docs/rules" / f"{rule.id}.md").read_text()
        assert rule.id in titles
        assert "\n## Runbook\n" in page
        assert rule.runbook.strip() in page
        assert all(f"| {case.name} |" in page for case in rule.cases)


def test_links() -> None:
    """A finding's application opens the running job's dashboard, with the variable that it has."""
    (variable,) = running_job().variables
    url = running_job_url("http://grafana:3000", "app 1/2")

    assert url == f"http://grafana:3000/d/{running_job().uid}?var-{variable.name}=app%201%2F2"
    assert fleet_url("http://grafana:3000") == f"http://grafana:3000/d/{fleet(load_catalog()).uid}"
    content = json.dumps(dashboards()["fleet.json"])
    assert re.search(rf"/d/{running_job().uid}\?var-{variable.name}=", content)


def test_same_input_same_text() -> None:
    """Generating twice gives the same bytes."""
    assert generated() == generated()
