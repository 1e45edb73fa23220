"""Tasks that fail in different ways on real Spark, each with two retries; they record when each try began."""

import os
import time
from datetime import timedelta
from pathlib import Path

from sparkfuse.airflow import guarded, refuse_doomed_retries
from sparkfuse.hook import CircuitBreaker, FuseBlownError, FuseWarnedError

try:
    from airflow.providers.standard.operators.python import PythonOperator
    from airflow.sdk import DAG, task
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.decorators import task
    from airflow.operators.python import PythonOperator

RETRIES = {"retries": 2, "retry_delay": timedelta(seconds=1)}
# The third try of a task that is retried succeeds.
LAST_TRY = 3


def begin(context) -> int:
    """Record that a try of the task began, and return the number of the try."""
    ti = context["ti"]
    with (Path(os.environ["TRIES"]) / ti.task_id).open("a") as tries:
        tries.write(f"{time.time()}\n")
    return ti.try_number


def session():
    from pyspark.sql import SparkSession

    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()


def read_missing_table(**context):
    begin(context)
    session().sql("SELECT * FROM missing_table").collect()


def call_service(**context):
    def connect(number):
        raise ConnectionRefusedError(111, "Connection refused")

    number = begin(context)
    back_off = context["task"].retry_exponential_backoff
    (Path(os.environ["TRIES"]) / "back_off").write_text(repr(back_off))
    if number < LAST_TRY:
        session().sparkContext.parallelize([1]).map(connect).collect()


with DAG("retries", schedule=None):
    GuardedPython = guarded(PythonOperator)
    GuardedPython(task_id="doomed_operator", python_callable=read_missing_table, **RETRIES)
    GuardedPython(task_id="transient_operator", python_callable=call_service, **RETRIES)

    @task(**RETRIES)
    @refuse_doomed_retries()
    def doomed_function(**context):
        read_missing_table(**context)

    @task(**RETRIES)
    @refuse_doomed_retries()
    def stopped_by_fuse(**context):
        begin(context)
        raise FuseBlownError("stage_runaway_spill", "q7 spilled 60 GiB without progress", "set a hold")

    @task(**RETRIES)
    @refuse_doomed_retries()
    def stopped_by_limit(**context):
        begin(context)
        with CircuitBreaker(session(), "slow", max_seconds=1):
            session().sparkContext.parallelize([1]).map(lambda number: time.sleep(600)).collect()

    @task(**RETRIES)
    @refuse_doomed_retries()
    def warned_by_fuse(**context):
        if begin(context) < LAST_TRY:
            raise FuseWarnedError("gc_pressure", "50 % of the time in garbage collection", "set a hold")

    @task(**RETRIES)
    @refuse_doomed_retries()
    def other_failure(**context):
        if begin(context) < LAST_TRY:
            raise ValueError("AnalysisException is only a word here")

    doomed_function()
    stopped_by_fuse()
    stopped_by_limit()
    warned_by_fuse()
    other_failure()
