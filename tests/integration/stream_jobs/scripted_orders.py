"""The application `orders`: one stage of four tasks that covers all outcomes of a task, in three parts."""

from __future__ import annotations

from typing import Any

from sparkfuse_contracts.generated import fact_pb2
from tests.integration.stream_jobs.scripted_application import EXECUTOR, ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen

STAGE: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0}


def begin(app: ScriptedApplication, seen: Seen) -> None:
    """Send four task starts: one task succeeds, one fails without metrics, two report progress.

    Invalid records are sent between the facts.
    """
    zero = app.start_ms
    app.send_pod("1", node="worker-8")  # the pods of an application start before Spark
    app.send_pod("1", node="worker-9")
    app.send_fact("application_started", name="orders", user_name="ann", spark_version="3.5.9", properties={"k": "v"})
    app.send_fact("executor_added", executor_id="1", host="h1", cores=4, added_ms=zero + 100)
    app.send_fact("job_started", job_id=7, submitted_ms=zero + 900, stage_ids=[3])
    app.send_fact(
        "sql_started", sql_execution_id=5, root_execution_id=5, started_ms=zero + 800, plan_nodes=["Sort", "Exchange"],
        description="count orders", call_site="main at orders.py:3",
    )  # fmt: skip
    app.send_fact(
        "sql_plan", sql_execution_id=5, plan_version=0, node_names=["Sort", "Exchange"], node_details=["", "k"]
    )
    app.send_fact(
        "stage_started", **STAGE, name="count at X", num_tasks=4, parent_stage_ids=[1, 2], submitted_ms=zero + 1000,
        job_id=7, sql_execution_id=5,
    )  # fmt: skip
    for index in range(4):
        app.send_fact("task_started", **STAGE, task_id=10 + index, task_index=index, launched_ms=zero + 1100)
    app.send_fact(
        "task_ended", **STAGE, task_id=10, task_index=0, outcome="success", launched_ms=zero + 1100,
        finished_ms=zero + 2100, duration_ms=1000, has_metrics=True, run_ms=900, cpu_ns=1_600_000, gc_ms=30,
        input_bytes=100, input_records=10, shuffle_write_bytes=50, shuffle_write_records=5,
    )  # fmt: skip
    app.send_fact(
        "task_ended", lane="reserved", **STAGE, task_id=11, task_index=1, outcome="failed", failure_class="IOException",
        failure_reason="disk full", executor_id="1", host="h1", finished_ms=zero + 1600, duration_ms=500,
        has_metrics=False,
    )  # fmt: skip
    app.send(b"\xff\xffno fact")
    app.send(None)
    app.send(fact_pb2.Fact(app_id="orders").SerializeToString())
    app.send(fact_pb2.Fact(tick=fact_pb2.Tick(sent_ms=1)).SerializeToString())
    for age_ms, spilled in ((1500, 70), (500, 20)):  # the lower age arrives last, as after a delay
        app.send_fact(
            "task_progress", collector=EXECUTOR, **STAGE, task_id=12, task_index=2, executor_id="1", host="h1",
            age_ms=age_ms, stalled_ms=age_ms - 400, cpu_since_progress_ms=3, cpu_ns=age_ms * 1_000_000,
            activity="busy", input_bytes=4000, input_records=40, shuffle_read_bytes=7, shuffle_read_records=2,
            disk_spilled_bytes=spilled, memory_spilled_bytes=2 * spilled, stack="at x.Y",
        )  # fmt: skip
    for sent, heap in ((1, 100), (2, 200)):
        app.send_fact(
            "executor_sample", collector=EXECUTOR, executor_id="1", host="h1", interval_ms=1000, gc_delta_ms=sent * 50,
            heap_used_bytes=heap, running_tasks=2,
        )  # fmt: skip
    app.send_fact("collector_health", dropped_bulk=0, dropped_reserved=0, queued=3)
    app.flush()
    seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 2)


def continue_run(app: ScriptedApplication, seen: Seen) -> None:
    """Send a retry of the failed task that spills, the end of the largest task, and a killed speculative copy."""
    zero = app.start_ms
    app.send_pod("1", node="worker-9", cause="spot_notice")
    app.send_fact("task_started", **STAGE, task_id=14, task_index=1, task_attempt=1, launched_ms=zero + 2000)
    app.send_fact("task_started", **STAGE, task_id=15, task_index=3, speculative=True, launched_ms=zero + 2500)
    app.send_fact(
        "task_ended", **STAGE, task_id=14, task_index=1, task_attempt=1, outcome="success", finished_ms=zero + 4000,
        duration_ms=2000, has_metrics=True, run_ms=1900, cpu_ns=1_600_000, gc_ms=0, input_bytes=300, input_records=30,
        disk_spilled_bytes=50, memory_spilled_bytes=90,
    )  # fmt: skip
    app.send_fact(
        "task_ended", **STAGE, task_id=12, task_index=2, outcome="success", finished_ms=zero + 5100, duration_ms=4000,
        executor_id="1", host="h1",
        has_metrics=True, run_ms=3900, cpu_ns=1_600_000, gc_ms=5, input_bytes=6000, input_records=60,
        shuffle_read_bytes=9, shuffle_read_records=3, disk_spilled_bytes=80, memory_spilled_bytes=160, fetch_wait_ms=4,
    )  # fmt: skip
    app.send_fact(
        "task_ended", lane="reserved", **STAGE, task_id=15, task_index=3, speculative=True, outcome="killed",
        finished_ms=zero + 5000, duration_ms=2500,
    )  # fmt: skip
    app.send_fact(
        "task_progress", collector=EXECUTOR, **STAGE, task_id=13, task_index=3, age_ms=4000, stalled_ms=0,
        cpu_ns=5_000_000, activity="moving", input_bytes=200, disk_spilled_bytes=11, since_progress_ms=900,
        spilled_since_progress_bytes=7, since_spill_ms=0,
    )  # fmt: skip
    app.flush()
    seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 5)


def finish(app: ScriptedApplication) -> None:
    """Send the facts that arrive while the job is down: late progress, a dropped fact, the last task, and all ends."""
    zero = app.start_ms
    app.send_fact("task_progress", collector=EXECUTOR, **STAGE, task_id=12, task_index=2, age_ms=3900, input_bytes=5900)
    app.drop(EXECUTOR)
    app.send_fact(
        "executor_sample", collector=EXECUTOR, executor_id="1", host="h1", interval_ms=1000, gc_delta_ms=0,
        heap_used_bytes=300, running_tasks=0,
    )  # fmt: skip
    app.send_fact(
        "task_ended", **STAGE, task_id=10, task_index=0, outcome="failed", failure_class="Resubmitted", duration_ms=1000
    )
    app.send_fact(
        "task_ended", **STAGE, task_id=13, task_index=3, outcome="success", finished_ms=zero + 7100, duration_ms=6000,
        has_metrics=True, run_ms=5900, cpu_ns=1_600_000, input_bytes=500, input_records=50,
    )  # fmt: skip
    app.send_fact(
        "stage_ended", lane="reserved", **STAGE, num_tasks=4, submitted_ms=zero + 1000, completed_ms=zero + 8000,
        succeeded=True, operator_rows_max=4_000, result_bytes=9_000,
    )  # fmt: skip
    app.send_fact("sql_metrics", sql_execution_id=5, accumulator_ids=[31, 32], values=[400, -1], left_out=0)
    app.send_fact("sql_ended", lane="reserved", sql_execution_id=5, ended_ms=zero + 8100)
    app.send_fact("application_ended", lane="reserved", ended_ms=zero + 9000, succeeded_jobs=1, failed_jobs=0)
    app.send_fact("job_ended", lane="reserved", job_id=7, completed_ms=zero + 8050, succeeded=True)
    app.flush()
