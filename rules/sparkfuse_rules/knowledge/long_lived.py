"""Decide when the stages of an application are learned: at the end of each query, or at the end of the application.

An *execution* is one query (SQL execution, micro-batch), or one job without a query. A long-lived application, such as
a Connect or Thrift server, a notebook or a stream, may never end, so its successful executions are learned one by one.
All other applications are learned at their end, so that the iterations of a loop count as one run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparkfuse_rules.knowledge.baseline_model import MIN_RUNS

# An application that has run for this long is long-lived, whatever it is. Most repeated queries of a notebook come
# later, and a shorter batch keeps its learning at the end of the run.
LONG_LIVED_MS = 10 * 60_000
# After the first executions of a template, one execution in a period is learned, which doubles up to an hour. So a
# baseline is that of a job that runs every hour, however often the query runs. It is one execution of the period, not
# the median of all: a median would hide the spread between executions, which the p95 needs.
FIRST_EXECUTIONS = MIN_RUNS
FIRST_PERIOD_MS, LONGEST_PERIOD_MS = 60_000, 3_600_000

# Default names of servers and interactive sessions. The name of a SQL shell ends with its host.
_SERVES = re.compile(
    r"(spark connect server|thrift jdbc/odbc server|livy-session(-\d+)?|zeppelin.*|py-?spark-?shell|spark[ -]shell"
    r"|sparkr(-shell)?|sparksql(::.*)?|spark[ -]sql)",
    re.IGNORECASE,
)
# Spark Connect and Structured Streaming describe their jobs so; both collectors and event logs have the description.
_CONNECT = "Spark Connect - "
_MICRO_BATCH = re.compile(r"^id = .*\n\s*runId = .*\n\s*batch = ", re.MULTILINE)
_EXECUTION = re.compile(r"#[qj]\d+\Z")


@dataclass(frozen=True)
class LearnedTemplate:
    """How many executions of a template were learned, and when the last of them ended, in ms since epoch."""

    executions: int = 0
    last_ms: int = 0


def serves_queries(name: str | None) -> bool:
    """Return whether the application's name is the default name of a server, a shell or a notebook."""
    return bool(name and _SERVES.fullmatch(name.strip()))


def is_served(description: str | None) -> bool:
    """Return whether the description of a job is that of a Connect server or of a micro-batch."""
    text = description or ""
    return text.startswith(_CONNECT) or _MICRO_BATCH.search(text) is not None


def has_run_long(started_ms: int, now_ms: int) -> bool:
    """Return whether an application that started at ``started_ms`` is long-lived at ``now_ms``, by its age alone."""
    return bool(started_ms) and now_ms - started_ms >= LONG_LIVED_MS


def learned_after(known: LearnedTemplate | None, ended_ms: int) -> LearnedTemplate | None:
    """Return the state after an execution that ended at ``ended_ms`` was learned; None if it must not be learned.

    The first five executions of a template are learned. Each further one is learned if it ended at least one period
    after the last one that was learned; the period is one minute, and doubles with each execution up to one hour.
    """
    if known is None:
        return LearnedTemplate(1, ended_ms)
    further = known.executions - FIRST_EXECUTIONS
    period_ms = 0 if further < 0 else min(LONGEST_PERIOD_MS, FIRST_PERIOD_MS << min(further, 10))
    if ended_ms - known.last_ms < period_ms:
        return None
    return LearnedTemplate(known.executions + 1, ended_ms)


def key_of_query(run_key: str, query_id: int) -> str:
    """Return the run key of a query's execution, which counts as one run of its template."""
    return f"{run_key}#q{query_id}"


def key_of_job(run_key: str, job_id: int) -> str:
    """Return the run key of the execution of a job without a query."""
    return f"{run_key}#j{job_id}"


def application_run(run_key: str) -> str:
    """Return the run key of the application to whose run or execution ``run_key`` belongs."""
    return _EXECUTION.sub("", run_key)
