// Generated from contracts/messages; do not edit.
package io.sparkfuse.contracts;

/** Flink's types of the rows that the jobs pass on, equal to the generated tables. */
public final class LiveTypes {
  /** ApplicationStarted. */
  public static final String APPLICATION_STARTED =
      "ROW<"
          + "`name` STRING, "
          + "`user_name` STRING, "
          + "`spark_version` STRING, "
          + "`plugin_version` STRING, "
          + "`master` STRING, "
          + "`properties` MAP<STRING, STRING>>";

  /** ApplicationEnded. */
  public static final String APPLICATION_ENDED =
      "ROW<"
          + "`ended_ms` BIGINT, "
          + "`succeeded_jobs` BIGINT, "
          + "`failed_jobs` BIGINT>";

  /** JobStarted. */
  public static final String JOB_STARTED =
      "ROW<"
          + "`job_id` INT, "
          + "`submitted_ms` BIGINT, "
          + "`stage_ids` ARRAY<INT>, "
          + "`description` STRING, "
          + "`sql_execution_id` BIGINT, "
          + "`job_group` STRING>";

  /** JobEnded. */
  public static final String JOB_ENDED =
      "ROW<"
          + "`job_id` INT, "
          + "`completed_ms` BIGINT, "
          + "`succeeded` BOOLEAN, "
          + "`failure_reason` STRING>";

  /** SqlStarted. */
  public static final String SQL_STARTED =
      "ROW<"
          + "`sql_execution_id` BIGINT, "
          + "`started_ms` BIGINT, "
          + "`description` STRING, "
          + "`plan_nodes` ARRAY<STRING>>";

  /** SqlEnded. */
  public static final String SQL_ENDED =
      "ROW<"
          + "`sql_execution_id` BIGINT, "
          + "`ended_ms` BIGINT, "
          + "`failure_reason` STRING>";

  /** StageStarted. */
  public static final String STAGE_STARTED =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`name` STRING, "
          + "`num_tasks` INT, "
          + "`parent_stage_ids` ARRAY<INT>, "
          + "`scope_names` ARRAY<STRING>, "
          + "`submitted_ms` BIGINT, "
          + "`job_id` INT, "
          + "`sql_execution_id` BIGINT>";

  /** StageEnded. */
  public static final String STAGE_ENDED =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`num_tasks` INT, "
          + "`submitted_ms` BIGINT, "
          + "`completed_ms` BIGINT, "
          + "`succeeded` BOOLEAN, "
          + "`failure_reason` STRING>";

  /** TaskStarted. */
  public static final String TASK_STARTED =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`task_id` BIGINT, "
          + "`task_index` INT, "
          + "`task_attempt` INT, "
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`speculative` BOOLEAN, "
          + "`launched_ms` BIGINT, "
          + "`locality` STRING>";

  /** TaskEnded. */
  public static final String TASK_ENDED =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`task_id` BIGINT, "
          + "`task_index` INT, "
          + "`task_attempt` INT, "
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`speculative` BOOLEAN, "
          + "`launched_ms` BIGINT, "
          + "`finished_ms` BIGINT, "
          + "`duration_ms` BIGINT, "
          + "`outcome` STRING, "
          + "`failure_class` STRING, "
          + "`failure_reason` STRING, "
          + "`has_metrics` BOOLEAN, "
          + "`run_ms` BIGINT, "
          + "`cpu_ns` BIGINT, "
          + "`gc_ms` BIGINT, "
          + "`deserialize_ms` BIGINT, "
          + "`result_bytes` BIGINT, "
          + "`peak_execution_memory_bytes` BIGINT, "
          + "`memory_spilled_bytes` BIGINT, "
          + "`disk_spilled_bytes` BIGINT, "
          + "`input_bytes` BIGINT, "
          + "`input_records` BIGINT, "
          + "`output_bytes` BIGINT, "
          + "`output_records` BIGINT, "
          + "`shuffle_read_bytes` BIGINT, "
          + "`shuffle_read_records` BIGINT, "
          + "`fetch_wait_ms` BIGINT, "
          + "`shuffle_write_bytes` BIGINT, "
          + "`shuffle_write_records` BIGINT>";

  /** TaskProgress. */
  public static final String TASK_PROGRESS =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`task_id` BIGINT, "
          + "`task_index` INT, "
          + "`task_attempt` INT, "
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`age_ms` BIGINT, "
          + "`stalled_ms` BIGINT, "
          + "`cpu_since_progress_ms` BIGINT, "
          + "`cpu_ns` BIGINT, "
          + "`activity` STRING, "
          + "`memory_spilled_bytes` BIGINT, "
          + "`disk_spilled_bytes` BIGINT, "
          + "`input_bytes` BIGINT, "
          + "`input_records` BIGINT, "
          + "`output_bytes` BIGINT, "
          + "`output_records` BIGINT, "
          + "`shuffle_read_bytes` BIGINT, "
          + "`shuffle_read_records` BIGINT, "
          + "`shuffle_write_bytes` BIGINT, "
          + "`shuffle_write_records` BIGINT, "
          + "`stack` STRING>";

  /** ExecutorAdded. */
  public static final String EXECUTOR_ADDED =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`cores` INT, "
          + "`added_ms` BIGINT>";

  /** ExecutorRemoved. */
  public static final String EXECUTOR_REMOVED =
      "ROW<"
          + "`executor_id` STRING, "
          + "`removed_ms` BIGINT, "
          + "`reason` STRING>";

  /** ExecutorSample. */
  public static final String EXECUTOR_SAMPLE =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`interval_ms` BIGINT, "
          + "`heap_used_bytes` BIGINT, "
          + "`heap_max_bytes` BIGINT, "
          + "`non_heap_used_bytes` BIGINT, "
          + "`gc_count` BIGINT, "
          + "`gc_ms` BIGINT, "
          + "`gc_delta_ms` BIGINT, "
          + "`cpu_ns` BIGINT, "
          + "`rss_bytes` BIGINT, "
          + "`python_rss_bytes` BIGINT, "
          + "`running_tasks` INT>";

  /** CollectorHealth. */
  public static final String COLLECTOR_HEALTH =
      "ROW<"
          + "`queued` BIGINT, "
          + "`dropped_bulk` BIGINT, "
          + "`dropped_reserved` BIGINT, "
          + "`acknowledged` BIGINT, "
          + "`send_errors` BIGINT, "
          + "`faults` BIGINT, "
          + "`breaker` STRING, "
          + "`spark_dropped_events` BIGINT, "
          + "`callback_p99_ns` BIGINT>";

  /** Tick. */
  public static final String TICK =
      "ROW<"
          + "`sent_ms` BIGINT>";

  /** Undecodable. */
  public static final String UNDECODABLE =
      "ROW<"
          + "`payload` BYTES, "
          + "`reason` STRING>";

  /** StageLive. */
  public static final String STAGE =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`name` STRING, "
          + "`num_tasks` INT, "
          + "`status` STRING, "
          + "`submitted_ms` BIGINT, "
          + "`completed_ms` BIGINT, "
          + "`elapsed_ms` BIGINT, "
          + "`job_id` INT, "
          + "`sql_execution_id` BIGINT, "
          + "`failure_reason` STRING, "
          + "`finished_tasks` BIGINT, "
          + "`succeeded_tasks` BIGINT, "
          + "`failed_tasks` BIGINT, "
          + "`killed_tasks` BIGINT, "
          + "`speculative_tasks` BIGINT, "
          + "`finished_run_ms` BIGINT, "
          + "`finished_cpu_ms` BIGINT, "
          + "`finished_gc_ms` BIGINT, "
          + "`finished_input_bytes` BIGINT, "
          + "`finished_input_records` BIGINT, "
          + "`finished_shuffle_read_bytes` BIGINT, "
          + "`finished_shuffle_read_records` BIGINT, "
          + "`finished_fetch_wait_ms` BIGINT, "
          + "`finished_shuffle_write_bytes` BIGINT, "
          + "`finished_shuffle_write_records` BIGINT, "
          + "`finished_output_bytes` BIGINT, "
          + "`finished_output_records` BIGINT, "
          + "`finished_memory_spilled_bytes` BIGINT, "
          + "`finished_disk_spilled_bytes` BIGINT, "
          + "`finished_spilled_tasks` BIGINT, "
          + "`finished_spilled_duration_ms` BIGINT, "
          + "`finished_duration_ms` BIGINT, "
          + "`duration_p50_ms` DOUBLE, "
          + "`duration_p95_ms` DOUBLE, "
          + "`duration_max_ms` BIGINT, "
          + "`task_bytes_p50` DOUBLE, "
          + "`task_bytes_p95` DOUBLE, "
          + "`task_bytes_max` BIGINT, "
          + "`running_tasks` BIGINT, "
          + "`running_input_bytes` BIGINT, "
          + "`running_input_records` BIGINT, "
          + "`running_shuffle_read_bytes` BIGINT, "
          + "`running_shuffle_read_records` BIGINT, "
          + "`running_shuffle_write_bytes` BIGINT, "
          + "`running_output_bytes` BIGINT, "
          + "`running_memory_spilled_bytes` BIGINT, "
          + "`running_disk_spilled_bytes` BIGINT, "
          + "`running_cpu_ms` BIGINT, "
          + "`running_age_max_ms` BIGINT, "
          + "`running_stalled_max_ms` BIGINT, "
          + "`running_untracked_tasks` BIGINT, "
          + "`since_finish_ms` BIGINT, "
          + "`disk_spilled_bytes` BIGINT, "
          + "`memory_spilled_bytes` BIGINT, "
          + "`work_bytes` BIGINT, "
          + "`work_records` BIGINT, "
          + "`biggest_task_index` INT, "
          + "`biggest_task_bytes` BIGINT, "
          + "`biggest_task_ms` BIGINT, "
          + "`bytes_ratio` DOUBLE, "
          + "`lost_ms` BIGINT, "
          + "`lost_share` DOUBLE, "
          + "`stage_fingerprint` STRING, "
          + "`baseline_runs` BIGINT, "
          + "`expected_ms` BIGINT, "
          + "`expected_p95_ms` BIGINT, "
          + "`expected_cpu_ms` BIGINT, "
          + "`expected_cpu_p95_ms` BIGINT, "
          + "`moved` STRING, "
          + "`work_known` BOOLEAN>";

  /** TaskLive. */
  public static final String TASK =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`task_id` BIGINT, "
          + "`task_index` INT, "
          + "`task_attempt` INT, "
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`age_ms` BIGINT, "
          + "`stalled_ms` BIGINT, "
          + "`cpu_since_progress_ms` BIGINT, "
          + "`activity` STRING, "
          + "`work_bytes` BIGINT, "
          + "`work_records` BIGINT, "
          + "`disk_spilled_bytes` BIGINT, "
          + "`stack` STRING, "
          + "`stage_name` STRING, "
          + "`stage_fingerprint` STRING>";

  /** ExecutorLive. */
  public static final String EXECUTOR =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`heap_used_bytes` BIGINT, "
          + "`heap_max_bytes` BIGINT, "
          + "`non_heap_used_bytes` BIGINT, "
          + "`gc_delta_ms` BIGINT, "
          + "`interval_ms` BIGINT, "
          + "`gc_share` DOUBLE, "
          + "`cpu_ns` BIGINT, "
          + "`rss_bytes` BIGINT, "
          + "`python_rss_bytes` BIGINT, "
          + "`running_tasks` INT>";

  /** AppLive. */
  public static final String APPLICATION =
      "ROW<"
          + "`name` STRING, "
          + "`status` STRING, "
          + "`ended_ms` BIGINT, "
          + "`elapsed_ms` BIGINT, "
          + "`running_jobs` BIGINT, "
          + "`succeeded_jobs` BIGINT, "
          + "`failed_jobs` BIGINT, "
          + "`running_stages` BIGINT, "
          + "`ended_stages` BIGINT, "
          + "`running_tasks` BIGINT, "
          + "`finished_tasks` BIGINT, "
          + "`failed_tasks` BIGINT, "
          + "`executors` BIGINT, "
          + "`disk_spilled_bytes` BIGINT, "
          + "`facts_seen` BIGINT, "
          + "`facts_expected` BIGINT, "
          + "`facts_dropped` BIGINT, "
          + "`user_name` STRING, "
          + "`spark_version` STRING, "
          + "`finished_cpu_ms` BIGINT, "
          + "`work_bytes` BIGINT, "
          + "`work_records` BIGINT, "
          + "`baseline_runs` BIGINT, "
          + "`expected_ms` BIGINT, "
          + "`expected_p95_ms` BIGINT, "
          + "`expected_cpu_ms` BIGINT, "
          + "`expected_cpu_p95_ms` BIGINT, "
          + "`moved` STRING, "
          + "`work_known` BOOLEAN>";

  /** LiveRow. */
  public static final String LIVE_ROW =
      "ROW<"
          + "`view` STRING, "
          + "`cluster` STRING, "
          + "`tenant` STRING, "
          + "`app_id` STRING, "
          + "`app_attempt` INT, "
          + "`app_start_ms` BIGINT, "
          + "`window_end_ms` BIGINT, "
          + "`row_seq` BIGINT, "
          + "`completeness` DOUBLE, "
          + "`job_key` STRING, "
          + "`run_key` STRING, "
          + "`stage` ROW<`stage_id` INT, `stage_attempt` INT, `name` STRING, `num_tasks` INT, `status` STRING, `submitted_ms` BIGINT, `completed_ms` BIGINT, `elapsed_ms` BIGINT, `job_id` INT, `sql_execution_id` BIGINT, `failure_reason` STRING, `finished_tasks` BIGINT, `succeeded_tasks` BIGINT, `failed_tasks` BIGINT, `killed_tasks` BIGINT, `speculative_tasks` BIGINT, `finished_run_ms` BIGINT, `finished_cpu_ms` BIGINT, `finished_gc_ms` BIGINT, `finished_input_bytes` BIGINT, `finished_input_records` BIGINT, `finished_shuffle_read_bytes` BIGINT, `finished_shuffle_read_records` BIGINT, `finished_fetch_wait_ms` BIGINT, `finished_shuffle_write_bytes` BIGINT, `finished_shuffle_write_records` BIGINT, `finished_output_bytes` BIGINT, `finished_output_records` BIGINT, `finished_memory_spilled_bytes` BIGINT, `finished_disk_spilled_bytes` BIGINT, `finished_spilled_tasks` BIGINT, `finished_spilled_duration_ms` BIGINT, `finished_duration_ms` BIGINT, `duration_p50_ms` DOUBLE, `duration_p95_ms` DOUBLE, `duration_max_ms` BIGINT, `task_bytes_p50` DOUBLE, `task_bytes_p95` DOUBLE, `task_bytes_max` BIGINT, `running_tasks` BIGINT, `running_input_bytes` BIGINT, `running_input_records` BIGINT, `running_shuffle_read_bytes` BIGINT, `running_shuffle_read_records` BIGINT, `running_shuffle_write_bytes` BIGINT, `running_output_bytes` BIGINT, `running_memory_spilled_bytes` BIGINT, `running_disk_spilled_bytes` BIGINT, `running_cpu_ms` BIGINT, `running_age_max_ms` BIGINT, `running_stalled_max_ms` BIGINT, `running_untracked_tasks` BIGINT, `since_finish_ms` BIGINT, `disk_spilled_bytes` BIGINT, `memory_spilled_bytes` BIGINT, `work_bytes` BIGINT, `work_records` BIGINT, `biggest_task_index` INT, `biggest_task_bytes` BIGINT, `biggest_task_ms` BIGINT, `bytes_ratio` DOUBLE, `lost_ms` BIGINT, `lost_share` DOUBLE, `stage_fingerprint` STRING, `baseline_runs` BIGINT, `expected_ms` BIGINT, `expected_p95_ms` BIGINT, `expected_cpu_ms` BIGINT, `expected_cpu_p95_ms` BIGINT, `moved` STRING, `work_known` BOOLEAN>, "
          + "`task` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `age_ms` BIGINT, `stalled_ms` BIGINT, `cpu_since_progress_ms` BIGINT, `activity` STRING, `work_bytes` BIGINT, `work_records` BIGINT, `disk_spilled_bytes` BIGINT, `stack` STRING, `stage_name` STRING, `stage_fingerprint` STRING>, "
          + "`executor` ROW<`executor_id` STRING, `host` STRING, `heap_used_bytes` BIGINT, `heap_max_bytes` BIGINT, `non_heap_used_bytes` BIGINT, `gc_delta_ms` BIGINT, `interval_ms` BIGINT, `gc_share` DOUBLE, `cpu_ns` BIGINT, `rss_bytes` BIGINT, `python_rss_bytes` BIGINT, `running_tasks` INT>, "
          + "`application` ROW<`name` STRING, `status` STRING, `ended_ms` BIGINT, `elapsed_ms` BIGINT, `running_jobs` BIGINT, `succeeded_jobs` BIGINT, `failed_jobs` BIGINT, `running_stages` BIGINT, `ended_stages` BIGINT, `running_tasks` BIGINT, `finished_tasks` BIGINT, `failed_tasks` BIGINT, `executors` BIGINT, `disk_spilled_bytes` BIGINT, `facts_seen` BIGINT, `facts_expected` BIGINT, `facts_dropped` BIGINT, `user_name` STRING, `spark_version` STRING, `finished_cpu_ms` BIGINT, `work_bytes` BIGINT, `work_records` BIGINT, `baseline_runs` BIGINT, `expected_ms` BIGINT, `expected_p95_ms` BIGINT, `expected_cpu_ms` BIGINT, `expected_cpu_p95_ms` BIGINT, `moved` STRING, `work_known` BOOLEAN>, "
          + "`application_started` ROW<`name` STRING, `user_name` STRING, `spark_version` STRING, `plugin_version` STRING, `master` STRING, `properties` MAP<STRING, STRING>>, "
          + "`application_ended` ROW<`ended_ms` BIGINT, `succeeded_jobs` BIGINT, `failed_jobs` BIGINT>, "
          + "`job_started` ROW<`job_id` INT, `submitted_ms` BIGINT, `stage_ids` ARRAY<INT>, `description` STRING, `sql_execution_id` BIGINT, `job_group` STRING>, "
          + "`job_ended` ROW<`job_id` INT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING>, "
          + "`sql_started` ROW<`sql_execution_id` BIGINT, `started_ms` BIGINT, `description` STRING, `plan_nodes` ARRAY<STRING>>, "
          + "`sql_ended` ROW<`sql_execution_id` BIGINT, `ended_ms` BIGINT, `failure_reason` STRING>, "
          + "`stage_started` ROW<`stage_id` INT, `stage_attempt` INT, `name` STRING, `num_tasks` INT, `parent_stage_ids` ARRAY<INT>, `scope_names` ARRAY<STRING>, `submitted_ms` BIGINT, `job_id` INT, `sql_execution_id` BIGINT>, "
          + "`stage_ended` ROW<`stage_id` INT, `stage_attempt` INT, `num_tasks` INT, `submitted_ms` BIGINT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING>, "
          + "`executor_added` ROW<`executor_id` STRING, `host` STRING, `cores` INT, `added_ms` BIGINT>, "
          + "`executor_removed` ROW<`executor_id` STRING, `removed_ms` BIGINT, `reason` STRING>, "
          + "`tick` ROW<`sent_ms` BIGINT>>";

  /** Fact. */
  public static final String FACT =
      "ROW<"
          + "`event_id` BYTES, "
          + "`event_time_ms` BIGINT, "
          + "`cluster` STRING, "
          + "`tenant` STRING, "
          + "`app_id` STRING, "
          + "`app_attempt` INT, "
          + "`app_start_ms` BIGINT, "
          + "`collector` STRING, "
          + "`lane` STRING, "
          + "`seq` BIGINT, "
          + "`application_started` ROW<`name` STRING, `user_name` STRING, `spark_version` STRING, `plugin_version` STRING, `master` STRING, `properties` MAP<STRING, STRING>>, "
          + "`application_ended` ROW<`ended_ms` BIGINT, `succeeded_jobs` BIGINT, `failed_jobs` BIGINT>, "
          + "`job_started` ROW<`job_id` INT, `submitted_ms` BIGINT, `stage_ids` ARRAY<INT>, `description` STRING, `sql_execution_id` BIGINT, `job_group` STRING>, "
          + "`job_ended` ROW<`job_id` INT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING>, "
          + "`sql_started` ROW<`sql_execution_id` BIGINT, `started_ms` BIGINT, `description` STRING, `plan_nodes` ARRAY<STRING>>, "
          + "`sql_ended` ROW<`sql_execution_id` BIGINT, `ended_ms` BIGINT, `failure_reason` STRING>, "
          + "`stage_started` ROW<`stage_id` INT, `stage_attempt` INT, `name` STRING, `num_tasks` INT, `parent_stage_ids` ARRAY<INT>, `scope_names` ARRAY<STRING>, `submitted_ms` BIGINT, `job_id` INT, `sql_execution_id` BIGINT>, "
          + "`stage_ended` ROW<`stage_id` INT, `stage_attempt` INT, `num_tasks` INT, `submitted_ms` BIGINT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING>, "
          + "`task_started` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `speculative` BOOLEAN, `launched_ms` BIGINT, `locality` STRING>, "
          + "`task_ended` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `speculative` BOOLEAN, `launched_ms` BIGINT, `finished_ms` BIGINT, `duration_ms` BIGINT, `outcome` STRING, `failure_class` STRING, `failure_reason` STRING, `has_metrics` BOOLEAN, `run_ms` BIGINT, `cpu_ns` BIGINT, `gc_ms` BIGINT, `deserialize_ms` BIGINT, `result_bytes` BIGINT, `peak_execution_memory_bytes` BIGINT, `memory_spilled_bytes` BIGINT, `disk_spilled_bytes` BIGINT, `input_bytes` BIGINT, `input_records` BIGINT, `output_bytes` BIGINT, `output_records` BIGINT, `shuffle_read_bytes` BIGINT, `shuffle_read_records` BIGINT, `fetch_wait_ms` BIGINT, `shuffle_write_bytes` BIGINT, `shuffle_write_records` BIGINT>, "
          + "`task_progress` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `age_ms` BIGINT, `stalled_ms` BIGINT, `cpu_since_progress_ms` BIGINT, `cpu_ns` BIGINT, `activity` STRING, `memory_spilled_bytes` BIGINT, `disk_spilled_bytes` BIGINT, `input_bytes` BIGINT, `input_records` BIGINT, `output_bytes` BIGINT, `output_records` BIGINT, `shuffle_read_bytes` BIGINT, `shuffle_read_records` BIGINT, `shuffle_write_bytes` BIGINT, `shuffle_write_records` BIGINT, `stack` STRING>, "
          + "`executor_added` ROW<`executor_id` STRING, `host` STRING, `cores` INT, `added_ms` BIGINT>, "
          + "`executor_removed` ROW<`executor_id` STRING, `removed_ms` BIGINT, `reason` STRING>, "
          + "`executor_sample` ROW<`executor_id` STRING, `host` STRING, `interval_ms` BIGINT, `heap_used_bytes` BIGINT, `heap_max_bytes` BIGINT, `non_heap_used_bytes` BIGINT, `gc_count` BIGINT, `gc_ms` BIGINT, `gc_delta_ms` BIGINT, `cpu_ns` BIGINT, `rss_bytes` BIGINT, `python_rss_bytes` BIGINT, `running_tasks` INT>, "
          + "`collector_health` ROW<`queued` BIGINT, `dropped_bulk` BIGINT, `dropped_reserved` BIGINT, `acknowledged` BIGINT, `send_errors` BIGINT, `faults` BIGINT, `breaker` STRING, `spark_dropped_events` BIGINT, `callback_p99_ns` BIGINT>, "
          + "`tick` ROW<`sent_ms` BIGINT>, "
          + "`undecodable` ROW<`payload` BYTES, `reason` STRING>>";

  private LiveTypes() {}
}
