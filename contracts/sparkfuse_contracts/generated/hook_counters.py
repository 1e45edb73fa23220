"""Generated from contracts/shared/hook_counters.yaml; do not edit."""

from typing import NamedTuple


class Scope(NamedTuple):
    view: str
    scope: str


SCOPES = (
    Scope(
        view="task_live",
        scope="task",
    ),
    Scope(
        view="stage_live",
        scope="stage",
    ),
    Scope(
        view="failure_live",
        scope="stage",
    ),
    Scope(
        view="query_live",
        scope="query",
    ),
    Scope(
        view="app_live",
        scope="application",
    ),
    Scope(
        view="executor_live",
        scope="application",
    ),
    Scope(
        view="executor_loss",
        scope="application",
    ),
    Scope(
        view="job_live",
        scope="application",
    ),
)

class Setting(NamedTuple):
    counter: str
    setting: str


SETTINGS = (
    Setting(
        counter="application_cost",
        setting="spark.sparkfuse.price.coreHour",
    ),
    Setting(
        counter="application_late_ms",
        setting="spark.sparkfuse.deadline",
    ),
    Setting(
        counter="application_late_ratio",
        setting="spark.sparkfuse.deadline",
    ),
)

class Counter(NamedTuple):
    name: str
    scope: str
    unit: str
    meaning: str


COUNTERS = (
    Counter(
        name="task_age_ms",
        scope="task",
        unit="ms",
        meaning="Time since the thread of the task started.",
    ),
    Counter(
        name="task_stalled_ms",
        scope="task",
        unit="ms",
        meaning="Time since a counter of the task last changed.",
    ),
    Counter(
        name="task_stalled_ratio",
        scope="task",
        unit="ratio",
        meaning="task_stalled_ms divided by the longest duration of a succeeded task of the stage; absent if none succeeded.",
    ),
    Counter(
        name="task_cpu_percent",
        scope="task",
        unit="number",
        meaning="CPU time of the task's thread and Python workers since a counter last changed, in percent of that time.",
    ),
    Counter(
        name="task_idle",
        scope="task",
        unit="flag",
        meaning="1 if neither counters nor CPU time of the task grow, else 0.",
    ),
    Counter(
        name="num_tasks",
        scope="stage",
        unit="count",
        meaning="Tasks of the stage attempt.",
    ),
    Counter(
        name="elapsed_ms",
        scope="stage",
        unit="ms",
        meaning="Time since the stage attempt was submitted.",
    ),
    Counter(
        name="since_finish_ms",
        scope="stage",
        unit="ms",
        meaning="Time since the last task ended, or since the stage was submitted if none has.",
    ),
    Counter(
        name="finished_tasks",
        scope="stage",
        unit="count",
        meaning="Task attempts that ended.",
    ),
    Counter(
        name="succeeded_tasks",
        scope="stage",
        unit="count",
        meaning="Ended task attempts that succeeded.",
    ),
    Counter(
        name="failed_tasks",
        scope="stage",
        unit="count",
        meaning="Ended task attempts that failed.",
    ),
    Counter(
        name="killed_tasks",
        scope="stage",
        unit="count",
        meaning="Ended task attempts that were killed.",
    ),
    Counter(
        name="running_tasks",
        scope="stage",
        unit="count",
        meaning="Running task attempts.",
    ),
    Counter(
        name="pending_tasks",
        scope="stage",
        unit="count",
        meaning="Tasks that have not succeeded and are not running now.",
    ),
    Counter(
        name="moving_tasks",
        scope="stage",
        unit="count",
        meaning="Running task attempts that have not reported yet, or whose counters changed within the last minute.",
    ),
    Counter(
        name="same_failure_attempts",
        scope="stage",
        unit="count",
        meaning="Largest number of attempts of one task that failed with the same class and, apart from numbers, the same beginning of the reason.",
    ),
    Counter(
        name="same_failure_hosts",
        scope="stage",
        unit="count",
        meaning="Number of hosts on which the attempts counted in same_failure_attempts failed.",
    ),
    Counter(
        name="running_age_max_ms",
        scope="stage",
        unit="ms",
        meaning="Age of the oldest running task.",
    ),
    Counter(
        name="running_stalled_max_ms",
        scope="stage",
        unit="ms",
        meaning="Longest time in which no counter of a running task changed.",
    ),
    Counter(
        name="running_since_progress_min_ms",
        scope="stage",
        unit="ms",
        meaning="Time in which no running task read or wrote; 0 if this time is unknown for any running task.",
    ),
    Counter(
        name="running_spilled_since_progress_max_bytes",
        scope="stage",
        unit="bytes",
        meaning="Largest number of bytes that a running task spilled to disk since it last read or wrote.",
    ),
    Counter(
        name="running_since_spill_ms",
        scope="stage",
        unit="ms",
        meaning="Time since the spill of the task in running_spilled_since_progress_max_bytes last grew.",
    ),
    Counter(
        name="running_disk_spilled_bytes",
        scope="stage",
        unit="bytes",
        meaning="Bytes spilled to disk by running tasks.",
    ),
    Counter(
        name="disk_spilled_bytes",
        scope="stage",
        unit="bytes",
        meaning="Bytes spilled to disk by ended and running tasks.",
    ),
    Counter(
        name="memory_spilled_bytes",
        scope="stage",
        unit="bytes",
        meaning="Memory freed by spilling in ended and running tasks.",
    ),
    Counter(
        name="work_bytes",
        scope="stage",
        unit="bytes",
        meaning="Input and shuffle bytes read by ended and running tasks.",
    ),
    Counter(
        name="work_records",
        scope="stage",
        unit="count",
        meaning="Input and shuffle records read by ended and running tasks.",
    ),
    Counter(
        name="written_bytes",
        scope="stage",
        unit="bytes",
        meaning="Bytes written to shuffle and sinks by ended and running tasks.",
    ),
    Counter(
        name="running_written_bytes",
        scope="stage",
        unit="bytes",
        meaning="Bytes written to shuffle and sinks by running tasks.",
    ),
    Counter(
        name="written_ratio",
        scope="stage",
        unit="ratio",
        meaning="written_bytes divided by work_bytes; absent if nothing was read.",
    ),
    Counter(
        name="query_elapsed_ms",
        scope="query",
        unit="ms",
        meaning="Time since the oldest running job of the SQL execution started.",
    ),
    Counter(
        name="query_running_tasks",
        scope="query",
        unit="count",
        meaning="Running task attempts of the SQL execution.",
    ),
    Counter(
        name="query_written_bytes",
        scope="query",
        unit="bytes",
        meaning="Bytes written by the running stages of the SQL execution.",
    ),
    Counter(
        name="application_elapsed_ms",
        scope="application",
        unit="ms",
        meaning="Time since the plugin started in the driver.",
    ),
    Counter(
        name="application_core_ms",
        scope="application",
        unit="ms",
        meaning="Sum over all executors of cores times the time for which the executor was registered.",
    ),
    Counter(
        name="application_cost",
        scope="application",
        unit="number",
        meaning="Whole units of money: application_core_ms times the price of a core-hour in spark.sparkfuse.price.coreHour; absent without this setting.",
    ),
    Counter(
        name="application_late_ms",
        scope="application",
        unit="ms",
        meaning="Time since the deadline in spark.sparkfuse.deadline, negative before it; absent without a valid deadline.",
    ),
    Counter(
        name="application_late_ratio",
        scope="application",
        unit="ratio",
        meaning="application_elapsed_ms divided by the time from the start to the deadline; absent without a valid deadline.",
    ),
    Counter(
        name="application_lost_executors",
        scope="application",
        unit="count",
        meaning="Executors that were removed within the last ten minutes, except those that Spark itself released.",
    ),
    Counter(
        name="application_lost_ratio",
        scope="application",
        unit="ratio",
        meaning="application_lost_executors divided by application_peak_executors.",
    ),
    Counter(
        name="application_peak_executors",
        scope="application",
        unit="count",
        meaning="Largest number of executors that the application had at the same time.",
    ),
    Counter(
        name="application_since_success_ms",
        scope="application",
        unit="ms",
        meaning="Time since a task of the application last succeeded, or since the plugin started if none has.",
    ),
    Counter(
        name="application_gc_percent",
        scope="application",
        unit="number",
        meaning="Share of time spent in garbage collection, in percent, over the last samples of all executors; absent if the last sample of any executor is older than 30 s.",
    ),
)
