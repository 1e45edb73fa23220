"""Tests the alerts about the pipeline, with the real Prometheus, sender and Alertmanager."""

from __future__ import annotations

from urllib.parse import urlsplit

import requests

from sparkfuse_alertmanager.processes import prometheus_command
from sparkfuse_alertmanager.render import write_prometheus
from tests.waiting import wait_for


def test_prometheus_alerts_about_the_pipeline(alertmanager, receiver, findings, sender, part, free_port, tmp_path):
    """The shipped alert rules notify about a dead letter of the sender, and the dead man's switch keeps reporting."""
    running = sender(alertmanager.url)
    port, folder = free_port(), tmp_path / "prometheus"
    processes = {"sender": urlsplit(running.ready_url).netloc}
    configuration = write_prometheus(folder, processes, [alertmanager.url])
    url = f"http://127.0.0.1:{port}"
    part("prometheus", prometheus_command(configuration, folder / "data", port), f"{url}/-/ready").start()
    findings.publish_bytes(b"junk")
    wait_for(lambda: receiver.deliveries, 120, "the page about the dead letter")
    beats = wait_for(lambda: receiver.received("/heartbeat"), 120, "the dead man's switch")

    [delivery] = receiver.deliveries
    [page] = delivery.payload["alerts"]
    assert (page["labels"]["alertname"], page["labels"]["component"]) == ("SparkfuseDeadLetters", "sender")
    assert page["annotations"]["description"].startswith("sender wrote about 1 records of")
    assert [beat.payload["commonLabels"]["alertname"] for beat in beats][:1] == ["SparkfuseWatchdog"]
    wait_for(lambda: health_of_targets(url) == {("sparkfuse", "up"), ("alertmanager", "up")}, 60, "both targets")


def health_of_targets(url: str) -> set[tuple[str, str]]:
    """Return the result of Prometheus's last scrape of each job."""
    targets = requests.get(f"{url}/api/v1/targets", timeout=30).json()["data"]["activeTargets"]
    return {(each["labels"]["job"], each["health"]) for each in targets}
