"""Tests how the demonstration reads the notifications of its webhook."""

from __future__ import annotations

from typing import Any

import pytest

from sparkfuse.demo.event_collector import pages
from sparkfuse.demo.scenario import ALERT_OF_ACT
from sparkfuse_alertmanager.receiver import WEBHOOK, Delivery


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        pytest.param(
            {"alertname": "SparkfuseStageSlow", "rule": "stage_slow", "finding_id": "f1"}, "stage_slow", id="finding"
        ),
        pytest.param({"alertname": ALERT_OF_ACT, "rule": "stage_runaway_spill"}, ALERT_OF_ACT, id="act of the fuse"),
        pytest.param({"alertname": "SparkfuseProcessDown"}, "SparkfuseProcessDown", id="pipeline"),
    ],
)
def test_only_findings_are_named_by_their_rule(labels: dict[str, str], rule: str) -> None:
    """An alert about an act of the fuse also has the label of a rule, but it is no finding of this rule."""
    payload: dict[str, Any] = {"alerts": [{"status": "firing", "labels": labels, "annotations": {}}]}

    assert [page.rule for page in pages(Delivery(1, 0, WEBHOOK, payload))] == [rule]
