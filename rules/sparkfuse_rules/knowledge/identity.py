"""Resolve the job key, run key, owner and team of an application from its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_rules.knowledge.naming import without_varying_parts

Properties = Mapping[str, str]

# The settings that collectors must send, because the detect job and the analyses compute the identity from them.
PROPERTY_KEYS = allowed_configuration().identity
_OPENLINEAGE = "spark.openlineage."
_DRIVER_LABEL = "spark.kubernetes.driver.label."
_DAGSTER, _ARGO = f"{_DRIVER_LABEL}dagster/", f"{_DRIVER_LABEL}workflows.argoproj.io/"
# Dataproc adds the id of its job to the tags of the YARN application.
_DATAPROC_TAG = "dataproc_job_"
# The name that Databricks gives to the cluster of a job run.
_DATABRICKS_CLUSTER = re.compile(r"job-(\d+)-run-\d+")
_DIGITS_AT_END = re.compile(r"\d+\Z", re.ASCII)
# Default application names of shells, notebooks, gateways and Airflow's SparkSubmitOperator; only the user
# distinguishes these applications.
_DEFAULT_NAME = re.compile(
    r"(livy-(session|batch)|py-?spark-?shell|spark[ -]shell|sparkr(-shell)?|sparksql(::.*)?|spark[ -]sql"
    r"|zeppelin.*|databricks shell|spark connect server|thrift jdbc/odbc server|arrow-spark|aws glue)",
    re.IGNORECASE,
)
UNNAMED = "unnamed"
MAX_LENGTH = 200


@dataclass(frozen=True)
class Identity:
    """The identity of an application: ``job_key`` names the recurring job, ``run_key`` this run and its attempt."""

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
    """Return the identity of an application; the first source below that is set is used, so a job key always exists.

    Sources in order: ``spark.sparkfuse.job``; OpenLineage's parent job, then its root parent (Airflow sets both); the
    id of the Databricks job; the name of the Glue job; the notebook of Synapse; the id of the Dataproc job without
    varying parts; the labels of Airflow, Dagster or Argo on the driver; the Spark operator's label; ``spark.app.name``
    without varying parts. If ``spark.app.name`` is the default
    name of a shell or gateway, the user's name precedes it.
    Arguments: the allow-listed ``properties`` of the application, its name, id, attempt, start and user.
    """
    sources = (
        _from_sparkfuse, _from_openlineage, _from_databricks, _from_glue, _from_synapse, _from_dataproc, _from_airflow,
        _from_dagster, _from_argo, _from_operator,
    )  # fmt: skip
    job_key = next((key for source in sources if (key := source(properties))), None) or _from_name(name, user)
    run_key = f"{app_id}/{app_attempt or 0}@{app_start_ms or 0}"
    return Identity(_capped(job_key), run_key, _tagged(properties, "owner"), _tagged(properties, "team"))


def attempt_number(attempt: str | None) -> int:
    """Return the number in Spark's attempt id ("1", "appattempt_17_0004_000002"), or 0 if it has no number."""
    found = _DIGITS_AT_END.search(attempt or "")
    return int(found[0]) if found and len(found[0]) < 10 else 0


def _setting(properties: Properties, key: str) -> str:
    return properties.get(key, "").strip()


def _from_sparkfuse(properties: Properties) -> str:
    return _setting(properties, "spark.sparkfuse.job")


def _from_openlineage(properties: Properties) -> str:
    for parent in ("parent", "rootParent"):
        if job := _setting(properties, f"{_OPENLINEAGE}{parent}JobName"):
            namespace = _setting(properties, f"{_OPENLINEAGE}{parent}JobNamespace")
            return f"{namespace}/{job}" if namespace else job
    return ""


def _from_databricks(properties: Properties) -> str:
    named = _DATABRICKS_CLUSTER.match(_setting(properties, "spark.databricks.clusterUsageTags.clusterName"))
    job = _setting(properties, "spark.databricks.job.id") or (named[1] if named else "")
    return f"databricks-job-{job}" if job else ""


def _from_glue(properties: Properties) -> str:
    job = _setting(properties, "spark.glue.JOB_NAME")
    return f"glue/{job}" if job else ""


def _from_synapse(properties: Properties) -> str:
    notebook = _setting(properties, "spark.synapse.context.notebookname")
    return f"synapse/{notebook}" if notebook else ""


def _from_dataproc(properties: Properties) -> str:
    tags = (tag.strip() for tag in _setting(properties, "spark.yarn.tags").split(","))
    ids = (tag.removeprefix(_DATAPROC_TAG) for tag in tags if tag.startswith(_DATAPROC_TAG))
    # Without an id from the user, the job's id is a UUID, and nothing remains of it.
    job = without_varying_parts(next(ids, ""))
    return f"dataproc/{job}" if job else ""


def _from_airflow(properties: Properties) -> str:
    dag, task = (_setting(properties, f"{_DRIVER_LABEL}{label}") for label in ("dag_id", "task_id"))
    return f"airflow/{dag}.{task}" if dag and task else ""


def _from_dagster(properties: Properties) -> str:
    job, op = _setting(properties, f"{_DAGSTER}job"), _setting(properties, f"{_DAGSTER}op")
    return f"dagster/{job}.{op}" if job and op else f"dagster/{job}" if job else ""


def _from_argo(properties: Properties) -> str:
    names = (_setting(properties, f"{_ARGO}{label}") for label in ("cron-workflow", "workflow-template"))
    job = next(filter(None, names), "")
    return f"argo/{job}" if job else ""


def _from_operator(properties: Properties) -> str:
    # An application that a ScheduledSparkApplication starts has the name of this resource, followed by the start time.
    job = without_varying_parts(_setting(properties, f"{_DRIVER_LABEL}sparkoperator.k8s.io/app-name"))
    namespace = _setting(properties, "spark.kubernetes.namespace")
    return f"{namespace}/{job}" if job and namespace else job


def _from_name(name: str | None, user: str | None) -> str:
    job = without_varying_parts(name or "")
    if _DEFAULT_NAME.fullmatch(job) and user and user.strip():
        # The Spark SQL shell appends the name of its host to the application name.
        return f"{user.strip()}/{job.split('::')[0]}"
    return job or UNNAMED


def _tagged(properties: Properties, tag: str) -> str | None:
    """Return the owner or team from the application's settings; if it is not set, from a label of the driver's pod."""
    value = _setting(properties, f"spark.sparkfuse.{tag}") or _setting(properties, f"{_DRIVER_LABEL}{tag}")
    return _printable(value) or None


def _capped(job_key: str) -> str:
    return _printable(job_key) or UNNAMED


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_LENGTH].strip()
