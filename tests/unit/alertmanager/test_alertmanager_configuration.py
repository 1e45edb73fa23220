"""Tests the configuration files of Alertmanager and Prometheus."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from sparkfuse_alertmanager.metrics import Metrics
from sparkfuse_alertmanager.render import DestinationError, Destinations, Mail, write_alertmanager, write_prometheus
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.links import docs_url
from sparkfuse_contracts.settings import DEFAULTS
from sparkfuse_rules.runbooks import runbook_page_url

RULE_FILES = ("pipeline", "fuse")


@pytest.fixture
def folder(repository) -> Path:
    return repository / "alertmanager"


@pytest.fixture
def secrets(tmp_path) -> Path:
    (tmp_path / "slack_url").write_text("https://hooks.slack.com/services/T/B/X")
    (tmp_path / "pager_key").write_text("key")
    return tmp_path


@pytest.fixture
def rendered(secrets) -> Path:
    return write_alertmanager(
        secrets / "out",
        Destinations(
            "http://127.0.0.1:1/webhook", secrets / "slack_url", secrets / "pager_key", "http://127.0.0.1:1/heartbeat"
        ),
    )


def check(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alertmanager_accepts_the_configuration(folder, rendered):
    """Alertmanager's own checker accepts the checked-in file and the rendered file, with their templates."""
    for file in (folder / "alertmanager.yml", rendered):
        assert "SUCCESS" in check("amtool", "check-config", file)


def test_every_route_and_receiver_is_used(folder, rendered):
    """The linter amlint reports no shadowed route and no unused receiver, which amtool would not detect."""
    for file in (folder / "alertmanager.yml", rendered):
        assert "ERROR" not in check(Path(sys.executable).with_name("amlint"), "check", file)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"alertname": "SparkfuseStageSkew", "severity": "critical", "job_key": "orders"}, "pager"),
        ({"alertname": "SparkfuseStageSkew", "severity": "warning", "job_key": "orders"}, "team"),
        ({"alertname": "SparkfuseStageSpill", "severity": "info", "rule": "stage_spill"}, "nobody"),
        ({"alertname": "SparkfuseLoaderSlow", "severity": "info"}, "team"),
        ({"alertname": "SparkfuseWindowsStalled", "severity": "critical"}, "pager"),
        ({"alertname": "SparkfuseDeadLetters", "severity": "warning"}, "team"),
        ({"alertname": "SparkfuseWatchdog", "severity": "info"}, "heartbeat"),
        ({"alertname": "SparkfuseJobFailed", "severity": "warning", "finding_id": "1", "cause": "throttled"}, "team"),
        ({"alertname": "SparkfusePagesHeldBack", "severity": "warning", "rule": "pages_held_back"}, "team"),
        ({"alertname": "SomebodyElses"}, "team"),
    ],
)
def test_labels_are_routed_to_a_receiver(folder, labels, receiver):
    """Critical findings go to the pager, warnings to the team, infos to nobody, the watchdog only to the heartbeat."""
    given = [f"{name}={value}" for name, value in labels.items()]
    routed = check("amtool", "config", "routes", "test", f"--config.file={folder / 'alertmanager.yml'}", *given)

    assert routed.split() == [receiver]


def test_critical_findings_wait_one_second(folder):
    """Alertmanager waits one second to group critical findings.

    The group interval of other findings is below the shortest duration of a finding.
    """
    tree = yaml.safe_load((folder / "alertmanager.yml").read_text())["route"]
    pager = next(route for route in tree["routes"] if route["receiver"] == "pager")

    assert (pager["group_wait"], pager["group_interval"], tree["group_interval"]) == ("1s", "1s", "10s")


def test_files_of_a_folder_choose_the_receivers(tmp_path, secrets):
    """The command uses those of the files slack_url and pager_key that the folder contains, and the real pager."""
    command = (sys.executable, "-m", "sparkfuse_alertmanager.render", tmp_path / "out", "--secrets")
    kinds = []
    for folder in (tmp_path / "none", secrets):
        check(*command, folder)
        pager = next(
            each
            for each in yaml.safe_load((tmp_path / "out" / "alertmanager.yml").read_text())["receivers"]
            if each["name"] == "pager"
        )
        kinds.append(sorted(set(pager) - {"name"}))
        assert "url" not in pager.get("pagerduty_configs", [{}])[0]
    assert kinds == [[], ["pagerduty_configs", "slack_configs"]]


def test_receivers_without_address_are_removed(tmp_path):
    """A receiver without an address is removed.

    Otherwise Alertmanager would fail at each notification to this receiver.
    """
    rendered = yaml.safe_load(write_alertmanager(tmp_path, Destinations("http://127.0.0.1:1/webhook")).read_text())

    kinds = {receiver["name"]: sorted(set(receiver) - {"name"}) for receiver in rendered["receivers"]}
    assert kinds == {"nobody": [], "team": ["webhook_configs"], "pager": ["webhook_configs"], "heartbeat": []}


def test_teams_gets_what_the_team_and_the_pager_get(tmp_path):
    """With the secret teams_url, both receivers get an entry for Teams; the checked-in file has none."""
    (tmp_path / "teams_url").write_text("https://workflow.example")
    destinations = Destinations.from_folder(tmp_path, Destinations())
    rendered = yaml.safe_load(write_alertmanager(tmp_path / "out", destinations).read_text())
    expected = {
        "send_resolved": True,
        "title": '{{ template "sparkfuse.title" . }}',
        "text": '{{ template "sparkfuse.teams" . }}',
        "webhook_url_file": str(tmp_path / "teams_url"),
    }

    assert {each["name"]: each["msteamsv2_configs"] for each in rendered["receivers"] if len(each) > 1} == {
        "team": [expected],
        "pager": [expected],
    }


def test_teams_text_has_only_links_of_sparkfuse(folder, tmp_path):
    """Alertmanager renders the text for Teams; brackets of users' text are removed, so that they make no link."""
    alert = {
        "status": "firing",
        "labels": {"alertname": "SparkfuseStageSkew", "job_key": "orders"},
        "annotations": {
            "summary": "[click](https://evil) <at>all</at> `x`",
            "description": "*bold* one\u202e",
            "finding_url": "http://console.example/findings/f1",
        },
        "startsAt": "2026-01-01T00:00:00Z",
    }
    data = {"status": "firing", "alerts": [alert], "groupLabels": {"job_key": "orders"}, "externalURL": "http://am"}
    (tmp_path / "data.json").write_text(json.dumps(data))
    text = check(
        "amtool", "template", "render", f"--template.glob={folder / 'templates' / '*.tmpl'}",
        f"--template.data={tmp_path / 'data.json'}", '--template.text={{ template "sparkfuse.teams" . }}',
    )  # fmt: skip

    assert "click (https://evil)  at all /at   x" in text
    assert " bold  one\n" in text
    assert "[Finding](http://console.example/findings/f1)" in text
    assert "[Useful or not?](http://console.example/findings/f1#feedback)" in text
    assert len(re.findall(r"\]\(", text)) == 5


@pytest.mark.parametrize(
    ("destinations", "name"),
    [
        (Destinations("ftp://host/"), "ftp://host/"),
        (Destinations("http://"), "webhook"),
        (Destinations(heartbeat_url="nowhere"), "heartbeat"),
        (Destinations(slack_url_file=Path("/not/there")), "/not/there"),
        (Destinations(teams_url_file=Path("/not/there")), "Teams"),
        (Destinations(pager_key_file=Path("/not/there")), "pager"),
        (Destinations(mail=Mail("a@b", "a@b", "")), "SPARKFUSE_SMTP_SERVER"),
        (Destinations(mail=Mail("a@b, nobody", "a@b", "mail:25")), "nobody"),
        (Destinations(mail=Mail("a@b", "a@b", "mail:25", "u", Path("/not/there"))), "password"),
    ],
)
def test_invalid_destination_is_rejected(tmp_path, destinations, name):
    """The error for an invalid destination names the destination and its value."""
    with pytest.raises(DestinationError) as error:
        write_alertmanager(tmp_path, destinations)

    assert name in str(error.value)


def test_prometheus_accepts_the_configuration(folder, tmp_path):
    """Prometheus accepts the checked-in file and the rendered file, with their rules and targets."""
    configuration = write_prometheus(tmp_path, {"sender": "127.0.0.1:19104"}, ["http://user:secret@127.0.0.1:19093"])

    for file in (folder / "prometheus.yml", configuration):
        assert "SUCCESS" in check("promtool", "check", "config", file)
    targets = yaml.safe_load((tmp_path / "targets" / "alertmanagers.yml").read_text())
    assert targets == [{"targets": ["127.0.0.1:19093"]}]


def test_runbook_links_start_with_the_configured_address(tmp_path):
    """The rendered rules link to the address where the documentation is published."""
    configuration = write_prometheus(tmp_path, {}, [], runbook_url="https://wiki.example/docs/")

    assert "SUCCESS" in check("promtool", "check", "config", configuration)
    rules = yaml.safe_load((tmp_path / "prometheus_rules" / "pipeline.yml").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    urls = [alert["annotations"]["runbook_url"] for alert in alerts]
    assert urls[0] == "https://wiki.example/docs/runbooks/pipeline.md#sparkfusewindowsstalled"


@pytest.mark.parametrize("name", RULE_FILES)
def test_prometheus_rules_pass_their_promtool_tests(folder, name):
    """Each alert fires, does not fire just below its threshold, and resolves."""
    cases = folder / "prometheus_rules" / f"{name}_test.yml"

    assert "SUCCESS" in check("promtool", "test", "rules", cases)


def _rules(folder: Path, name: str) -> list[dict]:
    groups = yaml.safe_load((folder / "prometheus_rules" / f"{name}.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _alerts(folder: Path, name: str) -> list[dict]:
    return [rule for rule in _rules(folder, name) if "alert" in rule]


@pytest.mark.parametrize("file", RULE_FILES)
def test_prometheus_alerts_are_complete(folder, repository, file):
    """Each alert has a severity, a summary, a description, promtool cases and a section in the runbook."""
    runbook = (repository / "docs" / "runbooks" / f"{file}.md").read_text()
    cases = yaml.safe_load((folder / "prometheus_rules" / f"{file}_test.yml").read_text())["tests"]
    outcomes = {(each["alertname"], bool(each["exp_alerts"])) for case in cases for each in case["alert_rule_test"]}
    for alert in _alerts(folder, file):
        name = alert["alert"]

        assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
        assert "{{" not in alert["annotations"]["summary"]
        assert alert["annotations"]["runbook_url"] == runbook_page_url(
            docs_url(DEFAULTS["SPARKFUSE_CONSOLE_URL"]), file, name
        )
        assert f"\n## {name}\n" in runbook
        assert alert["labels"]["severity"] in {"critical", "warning", "info"}
        assert (name, True) in outcomes
        assert (name, False) in outcomes or name == "SparkfuseWatchdog"


def test_pipeline_alerts_use_existing_metrics(folder):
    """The contract lists each metric that an alert or a recording rule uses, and each recorded series exists."""
    rules = [rule for name in RULE_FILES for rule in _rules(folder, name)]
    series = {name for rule in rules for name in re.findall(r"sparkfuse[_:][\w:]+", rule["expr"])}
    used = {re.sub(r"_(bucket|count)$", "", name) for name in series if ":" not in name}

    assert used
    assert used <= set(metric_names.ALL)
    assert {name for name in series if ":" in name} == {rule["record"] for rule in rules if "record" in rule}


def test_sender_metrics_follow_conventions():
    """Promtool reports no problem with the names, units and help texts of the sender's metrics."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.peer_up("127.0.0.1:9093", up=True)
    metrics.requested("127.0.0.1:9093", "200")
    metrics.delay(1.5)
    exposed = generate_latest(registry)
    done = subprocess.run(["promtool", "check", "metrics"], input=exposed, capture_output=True, check=False)

    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert b'sparkfuse_alerts_sent_total{outcome="expired"} 0.0' in exposed
