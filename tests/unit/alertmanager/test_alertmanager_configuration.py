import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from sparkfuse_alertmanager.metrics import Metrics
from sparkfuse_alertmanager.render import DestinationRefused, Destinations, write_alertmanager, write_prometheus
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.settings import DEFAULTS
from sparkfuse_rules.runbooks import pipeline_runbook_url


@pytest.fixture
def room(repository) -> Path:
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


def test_alertmanager_takes_the_configuration(room, rendered):
    """The file as it stands, as compose mounts it, and what a machine gets of it are valid, templates included."""
    for file in (room / "alertmanager.yml", rendered):
        assert "SUCCESS" in check("amtool", "check-config", file)


def test_every_route_and_receiver_is_reached(room, rendered):
    """No route is shadowed by another and no receiver is left over: amtool does not see that, amlint does."""
    for file in (room / "alertmanager.yml", rendered):
        assert "ERROR" not in check(Path(sys.executable).with_name("amlint"), "check", file)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"alertname": "SparkfuseStageSkew", "severity": "critical", "job_key": "orders"}, "pager"),
        ({"alertname": "SparkfuseStageSkew", "severity": "warning", "job_key": "orders"}, "team"),
        ({"alertname": "SparkfuseStageSpill", "severity": "info", "job_key": "orders"}, "team"),
        ({"alertname": "SparkfuseWindowsStalled", "severity": "critical"}, "pager"),
        ({"alertname": "SparkfuseDeadLetters", "severity": "warning"}, "team"),
        ({"alertname": "SparkfuseWatchdog", "severity": "info"}, "heartbeat"),
        ({"alertname": "SomebodyElses"}, "team"),
    ],
)
def test_who_is_told(room, labels, receiver):
    """Critical findings page, others reach the team, the dead man's switch reaches nobody but its watcher."""
    given = [f"{name}={value}" for name, value in labels.items()]
    told = check("amtool", "config", "routes", "test", f"--config.file={room / 'alertmanager.yml'}", *given)

    assert told.split() == [receiver]


def test_critical_waits_a_second_at_most(room):
    """A critical finding waits for company for one second; no group changes slower than the shortest finding lasts."""
    tree = yaml.safe_load((room / "alertmanager.yml").read_text())["route"]
    pager = next(route for route in tree["routes"] if route["receiver"] == "pager")

    assert (pager["group_wait"], pager["group_interval"], tree["group_interval"]) == ("1s", "1s", "10s")


def test_a_machine_without_slack_has_no_slack(tmp_path):
    """Receivers that a machine has no address for are left out, so that Alertmanager does not fail on each alert."""
    made = yaml.safe_load(write_alertmanager(tmp_path, Destinations("http://127.0.0.1:1/webhook")).read_text())

    kinds = {receiver["name"]: sorted(set(receiver) - {"name"}) for receiver in made["receivers"]}
    assert kinds == {"team": ["webhook_configs"], "pager": ["webhook_configs"], "heartbeat": []}


@pytest.mark.parametrize(
    ("destinations", "named"),
    [
        (Destinations("ftp://host/"), "ftp://host/"),
        (Destinations("http://"), "webhook"),
        (Destinations(heartbeat_url="nowhere"), "heartbeat"),
        (Destinations(slack_url_file=Path("/not/there")), "/not/there"),
        (Destinations(pager_key_file=Path("/not/there")), "pager"),
    ],
)
def test_useless_destinations_are_refused(tmp_path, destinations, named):
    """An address that cannot be used is said before anything starts, by name and value."""
    with pytest.raises(DestinationRefused) as refusal:
        write_alertmanager(tmp_path, destinations)

    assert named in str(refusal.value)


def test_prometheus_takes_the_configuration(room, tmp_path):
    """The file as it stands and what a machine gets of it are valid, rules and target files included."""
    made = write_prometheus(tmp_path, {"sender": "127.0.0.1:19104"}, ["http://user:secret@127.0.0.1:19093"])

    for file in (room / "prometheus.yml", made):
        assert "SUCCESS" in check("promtool", "check", "config", file)
    targets = yaml.safe_load((tmp_path / "targets" / "alertmanagers.yml").read_text())
    assert targets == [{"targets": ["127.0.0.1:19093"]}]


def test_pipeline_rules_do_what_they_say(room):
    """Promtool's cases hold: each alert fires, does not fire just below, and resolves."""
    cases = room / "prometheus_rules" / "pipeline_test.yml"

    assert "SUCCESS" in check("promtool", "test", "rules", cases)


def _alerts(room: Path) -> list[dict]:
    groups = yaml.safe_load((room / "prometheus_rules" / "pipeline.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_pipeline_alerts_are_complete(room, repository):
    """Each alert has a severity, both texts, cases for firing and not, and a runbook section under its own name."""
    runbook = (repository / "docs" / "runbooks" / "pipeline.md").read_text()
    cases = yaml.safe_load((room / "prometheus_rules" / "pipeline_test.yml").read_text())["tests"]
    outcomes = {(each["alertname"], bool(each["exp_alerts"])) for case in cases for each in case["alert_rule_test"]}
    for alert in _alerts(room):
        name = alert["alert"]

        assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
        assert "{{" not in alert["annotations"]["summary"]
        assert alert["annotations"]["runbook_url"] == pipeline_runbook_url(DEFAULTS["SPARKFUSE_RUNBOOK_URL"], name)
        assert f"\n## {name}\n" in runbook
        assert alert["labels"]["severity"] in {"critical", "warning", "info"}
        assert (name, True) in outcomes
        assert (name, False) in outcomes or name == "SparkfuseWatchdog"


def test_pipeline_alerts_read_metrics_that_exist(room):
    """No rule waits for a metric that the contract does not list."""
    used = {name for alert in _alerts(room) for name in re.findall(r"sparkfuse_\w+", alert["expr"])}

    assert used
    assert used <= set(metric_names.ALL)


def test_the_senders_metrics_follow_the_conventions():
    """Promtool finds nothing to say about names, units and help of what the sender exposes."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.peer_up("127.0.0.1:9093", up=True)
    metrics.requested("127.0.0.1:9093", "200")
    metrics.delay(1.5)
    exposed = generate_latest(registry)
    done = subprocess.run(["promtool", "check", "metrics"], input=exposed, capture_output=True, check=False)

    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert b'sparkfuse_alerts_sent_total{outcome="expired"} 0.0' in exposed
