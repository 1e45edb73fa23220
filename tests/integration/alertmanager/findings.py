"""Creates findings as the detect job publishes them, and short summaries of notifications."""

from __future__ import annotations

import time
from typing import Any

from sparkfuse_alertmanager.receiver import Delivery
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def finding(scope: str = "stage:1", app_id: str = "app-1", **fields) -> Finding:
    """Return a finding as the detect job would publish it now."""
    base: dict[str, Any] = {
        "finding_id": f"id-{fields.get('rule', 'stage_skew')}-{scope.replace(':', '-')}",
        "rule": "stage_skew",
        "severity": "critical",
        "state": "firing",
        "job_key": "nightly_orders",
        "scope": scope,
        "summary": "One task of the stage has most of the data",
        "description": "Task 7 read 2.1 GB",
        "runbook_url": "https://docs.sparkfuse.example/rules/stage_skew.md#runbook",
        "started_ms": now_ms() - 1000,
        "updated_ms": now_ms(),
        "evidence_ms": now_ms() - 500,
        "completeness": 1.0,
    }
    merged = base | fields
    if merged["state"] == "resolved":
        merged.setdefault("resolved_ms", now_ms())
    run = FindingRun(run_key=f"{app_id}/0", app_id=app_id, stage_id=3, started_ms=now_ms(), state=str(merged["state"]))
    return Finding(**merged, runs=[run])


def summarize(deliveries: list[Delivery]) -> list[tuple[str, ...]]:
    """Return severity, scope and status of the alerts of each delivery."""
    return [
        tuple(
            sorted(
                f"{_of(alert, 'severity')} {_of(alert, 'scope')} {alert['status']}" for alert in each.payload["alerts"]
            )
        )
        for each in deliveries
    ]


def _of(alert: dict, name: str) -> str:
    return alert["labels"].get(name, "-")
