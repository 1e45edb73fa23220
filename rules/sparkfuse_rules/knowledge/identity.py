"""Which job an application is a run of, which run it is, and whom to ask about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_rules.knowledge.naming import without_varying_parts

Properties = Mapping[str, str]

# What a collector must let pass, so that identity can be resolved downstream.
PROPERTY_KEYS = allowed_configuration().identity
_OPENLINEAGE = "spark.openlineage."
_DRIVER_LABEL = "spark.kubernetes.driver.label."
# Databricks names the cluster of a job run so.
_DATABRICKS_CLUSTER = re.compile(r"job-(\d+)-run-\d+")
_DIGITS_AT_END = re.compile(r"\d+\Z", re.ASCII)
# What shells, notebooks and gateways call every application that nobody named: the user tells them apart.
_UNTOLD_NAME = re.compile(
    r"(livy-(session|batch)|py-?spark-?shell|spark[ -]shell|sparkr(-shell)?|sparksql(::.*)?|spark[ -]sql"
    r"|zeppelin.*|databricks shell|spark connect server|thrift jdbc/odbc server)",
    re.IGNORECASE,
)
UNNAMED = "unnamed"
MAX_LENGTH = 200


@dataclass(frozen=True)
class Identity:
    """``job_key`` is what recurs, ``run_key`` this run and attempt of it; None where nobody said an owner or team."""

    job_key: str
    run_key: str
    owner: str | None = None
    team: str | None = None


def identify(
    properties: Properties,
    name: str | None,
    app_id: str,
    app_attempt: int | None,
    app_start_ms: int | None,
    user: str | None = None,
) -> Identity:
    """Resolve who runs; the first source that says something wins, and there is always an answer.

    Sources in order: ``spark.sparkfuse.job``; OpenLineage's parent job, then its root parent (Airflow fills both);
    the id of the Databricks job; the name of the Glue job; the DAG and task that Airflow's Kubernetes operator puts
    on the driver; the Spark operator's label; ``spark.app.name`` without what varies, with the user before it where
    the name is the one that a shell or gateway gives to all.
    Arguments: the allow-listed ``properties`` of the application, Spark's ``name``, id, attempt, start and user of it.
    """
    sources = (_from_sparkfuse, _from_openlineage, _from_databricks, _from_glue, _from_airflow, _from_operator)
    job_key = next((key for source in sources if (key := source(properties))), None) or _from_name(name, user)
    run_key = f"{app_id}/{app_attempt or 0}@{app_start_ms or 0}"
    return Identity(_capped(job_key), run_key, _tagged(properties, "owner"), _tagged(properties, "team"))


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


def _from_glue(properties: Properties) -> str:
    job = _said(properties, "spark.glue.JOB_NAME")
    return f"glue/{job}" if job else ""


def _from_airflow(properties: Properties) -> str:
    dag, task = (_said(properties, f"{_DRIVER_LABEL}{label}") for label in ("dag_id", "task_id"))
    return f"airflow/{dag}.{task}" if dag and task else ""


def _from_operator(properties: Properties) -> str:
    # A ScheduledSparkApplication starts applications that are named after it, with the time of the start behind.
    job = without_varying_parts(_said(properties, f"{_DRIVER_LABEL}sparkoperator.k8s.io/app-name"))
    namespace = _said(properties, "spark.kubernetes.namespace")
    return f"{namespace}/{job}" if job and namespace else job


def _from_name(name: str | None, user: str | None) -> str:
    kept = without_varying_parts(name or "")
    if _UNTOLD_NAME.fullmatch(kept) and user and user.strip():
        # SparkSQL's shell adds the host that it was opened on.
        return f"{user.strip()}/{kept.split('::')[0]}"
    return kept or UNNAMED


def _tagged(properties: Properties, tag: str) -> str | None:
    """An owner or team as the application says it itself: by Sparkfuse's key, else by a label of its driver's pod."""
    said = _said(properties, f"spark.sparkfuse.{tag}") or _said(properties, f"{_DRIVER_LABEL}{tag}")
    return _printable(said) or None


def _capped(job_key: str) -> str:
    return _printable(job_key) or UNNAMED


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_LENGTH].strip()
