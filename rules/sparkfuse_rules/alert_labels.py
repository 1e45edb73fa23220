"""The labels of a finding's alert: they identify the alert in Alertmanager, and silences select alerts by these labels.

The sender attaches the labels. The fuse controller compares silences with these labels before the alert exists.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_rules.catalog_inhibitions import rules_with_host_label
from sparkfuse_rules.plain_text import label

# The kind of failures in failure_classes.yaml that neither the job nor its data causes.
INFRASTRUCTURE = "infrastructure"


def alert_name(rule: str) -> str:
    """Return the alert name of a rule: ``stage_skew`` becomes ``SparkfuseStageSkew``."""
    return "Sparkfuse" + "".join(word.capitalize() for word in rule.split("_"))


def alert_labels(finding: Finding) -> Mapping[str, str]:
    """Return the labels of a finding's alert, without empty ones, because Alertmanager does not store empty labels."""
    labels = {
        "alertname": alert_name(finding.rule),
        "rule": finding.rule,
        "severity": finding.severity,
        "finding_id": finding.finding_id,
        "job_key": label(finding.job_key),
        "scope": label(finding.scope),
        "cluster": label(finding.cluster),
        "tenant": label(finding.tenant),
        "team": label(finding.team),
        "host": label(finding_host(finding)) if finding.rule in rules_with_host_label() else "",
        "cause": _shared_cause(finding),
    }
    return {name: value for name, value in labels.items() if value}


def latest_run(finding: Finding) -> FindingRun:
    """Return the run that the description reports: the latest firing run, or the latest run if none is firing."""
    return max(finding.runs, key=lambda run: (run.state == "firing", run.started_ms), default=FindingRun())


def finding_host(finding: Finding) -> str:
    """Return the host that the evidence of the latest run names; empty if it names none."""
    evidence = latest_run(finding).evidence
    return evidence.get("host") or evidence.get("slowest_task_host") or ""


def _shared_cause(finding: Finding) -> str:
    """Return the class of a failure of the infrastructure; its findings in all jobs become one notification."""
    evidence = latest_run(finding).evidence
    return label(evidence.get("failure", "")) if evidence.get("failure_kind") == INFRASTRUCTURE else ""
