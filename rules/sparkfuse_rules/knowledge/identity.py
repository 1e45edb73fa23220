"""Which job an application is a run of, and which run it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_rules.knowledge.naming import without_varying_parts

Properties = Mapping[str, str]

# What a collector must let pass, so that identity can be resolved downstream.
PROPERTY_KEYS = (
    "spark.sparkfuse.job",
    "spark.openlineage.parentJobNamespace",
    "spark.openlineage.parentJobName",
    "spark.openlineage.parentRunId",
    "spark.openlineage.rootParentJobNamespace",
    "spark.openlineage.rootParentJobName",
    "spark.openlineage.rootParentRunId",
    "spark.databricks.job.id",
    "spark.databricks.job.runId",
    "spark.databricks.clusterUsageTags.clusterName",
    "spark.kubernetes.namespace",
    "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name",
    "spark.kubernetes.driver.label.sparkoperator.k8s.io/submission-id",
)
_OPENLINEAGE = "spark.openlineage."
_OPERATOR_NAME = "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name"
# Databricks names the cluster of a job run so.
_DATABRICKS_CLUSTER = re.compile(r"job-(\d+)-run-\d+")
_DIGITS_AT_END = re.compile(r"\d+\Z", re.ASCII)
UNNAMED = "unnamed"
MAX_LENGTH = 200


@dataclass(frozen=True)
class Identity:
    """``job_key`` is what recurs, ``run_key`` this run and attempt of it."""

    job_key: str
    run_key: str


def identify(
    properties: Properties, name: str | None, app_id: str, app_attempt: int | None, app_start_ms: int | None
) -> Identity:
    """Resolve who runs; the first source that says something wins, and there is always an answer.

    Sources in order: ``spark.sparkfuse.job``; OpenLineage's parent job, then its root parent (Airflow fills both);
    the id of the Databricks job; the Spark operator's label; ``spark.app.name`` without what varies.
    Arguments: the allow-listed ``properties`` of the application, Spark's ``name``, id, attempt and start of it.
    """
    sources = (_from_sparkfuse, _from_openlineage, _from_databricks, _from_operator)
    job_key = next((key for source in sources if (key := source(properties))), None) or _from_name(name)
    run_key = f"{app_id}/{app_attempt or 0}@{app_start_ms or 0}"
    return Identity(_capped(job_key), run_key)


def attempt_number(attempt: str | None) -> int:
    """The number in Spark's attempt id ("1", "appattempt_17_0004_000002"), 0 where there is none."""
    found = _DIGITS_AT_END.search(attempt or "")
    return int(found[0]) if found and len(found[0]) < 10 else 0


def _said(properties: Properties, key: str) -> str:
    return properties.get(key, "").strip()


def _from_sparkfuse(properties: Properties) -> str:
    return _said(properties, "spark.sparkfuse.job")


def _from_openlineage(properties: Properties) -> str:
    for parent in ("parent", "rootParent"):
        if job := _said(properties, f"{_OPENLINEAGE}{parent}JobName"):
            namespace = _said(properties, f"{_OPENLINEAGE}{parent}JobNamespace")
            return f"{namespace}/{job}" if namespace else job
    return ""


def _from_databricks(properties: Properties) -> str:
    named = _DATABRICKS_CLUSTER.match(_said(properties, "spark.databricks.clusterUsageTags.clusterName"))
    job = _said(properties, "spark.databricks.job.id") or (named[1] if named else "")
    return f"databricks-job-{job}" if job else ""


def _from_operator(properties: Properties) -> str:
    # A ScheduledSparkApplication starts applications that are named after it, with the time of the start behind.
    job = without_varying_parts(_said(properties, _OPERATOR_NAME))
    namespace = _said(properties, "spark.kubernetes.namespace")
    return f"{namespace}/{job}" if job and namespace else job


def _from_name(name: str | None) -> str:
    return without_varying_parts(name or "") or UNNAMED


def _capped(job_key: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in job_key)[:MAX_LENGTH].strip() or UNNAMED
