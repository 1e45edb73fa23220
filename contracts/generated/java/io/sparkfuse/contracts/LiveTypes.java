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
          + "`properties` MAP<STRING, STRING>, "
          + "`configuration` MAP<STRING, STRING>>";

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
          + "`job_group` STRING, "
          + "`job_tags` ARRAY<STRING>>";

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
          + "`plan_nodes` ARRAY<STRING>, "
          + "`root_execution_id` BIGINT>";

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
          + "`sql_execution_id` BIGINT, "
          + "`resource_profile_id` INT, "
          + "`depth` INT>";

  /** StageEnded. */
  public static final String STAGE_ENDED =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`num_tasks` INT, "
          + "`submitted_ms` BIGINT, "
          + "`completed_ms` BIGINT, "
          + "`succeeded` BOOLEAN, "
          + "`failure_reason` STRING, "
          + "`operator_rows_max` BIGINT>";

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
          + "`shuffle_write_records` BIGINT, "
          + "`result_serialization_ms` BIGINT, "
          + "`getting_result_ms` BIGINT, "
          + "`deserialize_cpu_ns` BIGINT, "
          + "`shuffle_write_ns` BIGINT, "
          + "`remote_shuffle_read_bytes` BIGINT, "
          + "`remote_shuffle_to_disk_bytes` BIGINT, "
          + "`local_shuffle_read_bytes` BIGINT, "
          + "`remote_shuffle_blocks` BIGINT, "
          + "`local_shuffle_blocks` BIGINT, "
          + "`remote_requests_ms` BIGINT, "
          + "`merged_shuffle_read_bytes` BIGINT, "
          + "`corrupt_merged_chunks` BIGINT, "
          + "`merged_fallbacks` BIGINT, "
          + "`peak_on_heap_execution_memory_bytes` BIGINT, "
          + "`peak_off_heap_execution_memory_bytes` BIGINT, "
          + "`exit_code` INT, "
          + "`exit_caused_by_app` BOOLEAN, "
          + "`fetch_failed_host` STRING, "
          + "`fetch_failed_executor_id` STRING, "
          + "`fetch_failed_shuffle_id` INT, "
          + "`locality` STRING>";

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
          + "`stack` STRING, "
          + "`python_worker` STRING>";

  /** ExecutorAdded. */
  public static final String EXECUTOR_ADDED =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`cores` INT, "
          + "`added_ms` BIGINT, "
          + "`resource_profile_id` INT>";

  /** ExecutorRemoved. */
  public static final String EXECUTOR_REMOVED =
      "ROW<"
          + "`executor_id` STRING, "
          + "`removed_ms` BIGINT, "
          + "`reason` STRING, "
          + "`exit_code` INT>";

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
          + "`running_tasks` INT, "
          + "`gc_pauses` ARRAY<ROW<`started_ms` BIGINT, `duration_ms` BIGINT, `collector` STRING, `cause` STRING, `heap_before_bytes` BIGINT, `heap_after_bytes` BIGINT>>, "
          + "`gc_pause_max_ms` BIGINT, "
          + "`gc_pauses_left_out` INT, "
          + "`direct_memory_bytes` BIGINT, "
          + "`mapped_memory_bytes` BIGINT, "
          + "`open_files` BIGINT, "
          + "`max_open_files` BIGINT, "
          + "`threads` INT, "
          + "`python_workers` INT, "
          + "`python_cpu_ns` BIGINT, "
          + "`storage_memory_used_bytes` BIGINT, "
          + "`execution_memory_used_bytes` BIGINT>";

  /** CollectorHealth. */
  public static final String COLLECTOR_HEALTH =
      "ROW<"
          + "`queued` BIGINT, "
          + "`dropped_bulk` BIGINT, "
          + "`dropped_reserved` BIGINT, "
          + "`acknowledged` BIGINT, "
          + "`send_errors` BIGINT, "
          + "`faults` BIGINT, "
          + "`protection` STRING, "
          + "`spark_dropped_events` BIGINT, "
          + "`callback_p99_ns` BIGINT, "
          + "`callback_p999_ns` BIGINT, "
          + "`callback_max_ns` BIGINT, "
          + "`protection_reason` STRING, "
          + "`passed_over` BIGINT, "
          + "`cut_facts` BIGINT, "
          + "`queued_bytes` BIGINT, "
          + "`behind_bytes` BIGINT, "
          + "`malformed_lines` BIGINT, "
          + "`torn` BOOLEAN>";

  /** Tick. */
  public static final String TICK =
      "ROW<"
          + "`sent_ms` BIGINT>";

  /** SqlPlan. */
  public static final String SQL_PLAN =
      "ROW<"
          + "`sql_execution_id` BIGINT, "
          + "`plan_version` INT, "
          + "`node_names` ARRAY<STRING>, "
          + "`node_parents` ARRAY<INT>, "
          + "`metrics` ARRAY<ROW<`node` INT, `accumulator_id` BIGINT, `name` STRING, `type` STRING>>, "
          + "`left_out_nodes` INT, "
          + "`left_out_metrics` INT>";

  /** SqlMetrics. */
  public static final String SQL_METRICS =
      "ROW<"
          + "`sql_execution_id` BIGINT, "
          + "`accumulator_ids` ARRAY<BIGINT>, "
          + "`values` ARRAY<BIGINT>, "
          + "`left_out` INT>";

  /** BlockManagerAdded. */
  public static final String BLOCK_MANAGER_ADDED =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`max_memory_bytes` BIGINT, "
          + "`max_on_heap_memory_bytes` BIGINT, "
          + "`max_off_heap_memory_bytes` BIGINT, "
          + "`added_ms` BIGINT>";

  /** BlockManagerRemoved. */
  public static final String BLOCK_MANAGER_REMOVED =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`removed_ms` BIGINT>";

  /** StreamingStarted. */
  public static final String STREAMING_STARTED =
      "ROW<"
          + "`query_id` STRING, "
          + "`run_id` STRING, "
          + "`name` STRING, "
          + "`started_ms` BIGINT>";

  /** StreamingProgress. */
  public static final String STREAMING_PROGRESS =
      "ROW<"
          + "`query_id` STRING, "
          + "`run_id` STRING, "
          + "`name` STRING, "
          + "`batch_id` BIGINT, "
          + "`triggered_ms` BIGINT, "
          + "`batch_duration_ms` BIGINT, "
          + "`add_batch_ms` BIGINT, "
          + "`latest_offset_ms` BIGINT, "
          + "`input_rows` BIGINT, "
          + "`input_rows_per_second` DOUBLE, "
          + "`processed_rows_per_second` DOUBLE, "
          + "`state_rows` BIGINT, "
          + "`state_memory_bytes` BIGINT, "
          + "`dropped_by_watermark_rows` BIGINT, "
          + "`watermark_ms` BIGINT, "
          + "`source_lag_records` BIGINT, "
          + "`source_lag_bytes` BIGINT, "
          + "`sources` ARRAY<STRING>>";

  /** StreamingEnded. */
  public static final String STREAMING_ENDED =
      "ROW<"
          + "`query_id` STRING, "
          + "`run_id` STRING, "
          + "`ended_ms` BIGINT, "
          + "`failure_reason` STRING>";

  /** ResourceProfileAdded. */
  public static final String RESOURCE_PROFILE_ADDED =
      "ROW<"
          + "`profile_id` INT, "
          + "`executor_cores` INT, "
          + "`executor_memory_bytes` BIGINT, "
          + "`memory_overhead_bytes` BIGINT, "
          + "`pyspark_memory_bytes` BIGINT, "
          + "`off_heap_memory_bytes` BIGINT, "
          + "`task_cpus` DOUBLE, "
          + "`resources` MAP<STRING, STRING>>";

  /** NodeEvent. */
  public static final String NODE_EVENT =
      "ROW<"
          + "`event` STRING, "
          + "`host` STRING, "
          + "`executor_id` STRING, "
          + "`stage_id` INT, "
          + "`task_failures` INT, "
          + "`happened_ms` BIGINT>";

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
          + "`fetch_failed_tasks` BIGINT, "
          + "`lost_tasks` BIGINT, "
          + "`resubmitted_tasks` BIGINT, "
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
          + "`slowest_task_index` INT, "
          + "`slowest_task_ms` BIGINT, "
          + "`slowest_task_bytes` BIGINT, "
          + "`slowest_task_executor_id` STRING, "
          + "`slowest_task_host` STRING, "
          + "`slowest_task_bytes_ratio` DOUBLE, "
          + "`slowest_task_lost_ms` BIGINT, "
          + "`slowest_task_lost_share` DOUBLE, "
          + "`slowest_task_gc_ms` BIGINT, "
          + "`stage_fingerprint` STRING, "
          + "`baseline_runs` BIGINT, "
          + "`expected_ms` BIGINT, "
          + "`expected_p95_ms` BIGINT, "
          + "`expected_cpu_ms` BIGINT, "
          + "`expected_cpu_p95_ms` BIGINT, "
          + "`moved` STRING, "
          + "`work_known` BOOLEAN, "
          + "`projected_ms` BIGINT, "
          + "`projected_p95_ms` BIGINT, "
          + "`judged_ms` BIGINT, "
          + "`runs_python` BOOLEAN, "
          + "`operator_rows_max` BIGINT, "
          + "`work_measure` STRING>";

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
          + "`stage_fingerprint` STRING, "
          + "`outlived_ms` BIGINT>";

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
          + "`running_tasks` INT, "
          + "`gc_pause_max_ms` BIGINT, "
          + "`heap_after_gc_bytes` BIGINT, "
          + "`direct_memory_bytes` BIGINT, "
          + "`process_rss_bytes` BIGINT, "
          + "`memory_limit_bytes` BIGINT, "
          + "`silent_ms` BIGINT, "
          + "`age_ms` BIGINT>";

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
          + "`work_known` BOOLEAN, "
          + "`idle_ms` BIGINT, "
          + "`stalled_ms` BIGINT, "
          + "`driver_silent_ms` BIGINT, "
          + "`outlived_ms` BIGINT, "
          + "`unfinished_tasks` BIGINT, "
          + "`deadline_ms` BIGINT, "
          + "`deadline_left_ms` BIGINT, "
          + "`remaining_ms` BIGINT, "
          + "`remaining_p95_ms` BIGINT, "
          + "`late_chance` DOUBLE, "
          + "`deadline_source` STRING, "
          + "`operator_rows` BIGINT, "
          + "`work_measure` STRING, "
          + "`between_jobs_ms` BIGINT, "
          + "`expected_between_p95_ms` BIGINT, "
          + "`log_silent_ms` BIGINT>";

  /** FailureLive. */
  public static final String FAILURE =
      "ROW<"
          + "`stage_id` INT, "
          + "`stage_attempt` INT, "
          + "`stage_name` STRING, "
          + "`stage_fingerprint` STRING, "
          + "`failure_class` STRING, "
          + "`failure_reason` STRING, "
          + "`failed_tasks` BIGINT, "
          + "`finished_tasks` BIGINT, "
          + "`num_tasks` INT, "
          + "`task_index` INT, "
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`hosts` BIGINT, "
          + "`failing_tasks` BIGINT, "
          + "`attempts_max` BIGINT, "
          + "`failure_kind` STRING, "
          + "`failure` STRING, "
          + "`retry` STRING, "
          + "`first_cause` STRING>";

  /** JobLive. */
  public static final String JOB =
      "ROW<"
          + "`job_id` INT, "
          + "`description` STRING, "
          + "`status` STRING, "
          + "`elapsed_ms` BIGINT, "
          + "`failure_reason` STRING, "
          + "`failure_kind` STRING, "
          + "`failure` STRING, "
          + "`retry` STRING, "
          + "`first_cause` STRING, "
          + "`failed_stage_id` INT>";

  /** ExecutorLoss. */
  public static final String EXECUTOR_LOSS =
      "ROW<"
          + "`executor_id` STRING, "
          + "`host` STRING, "
          + "`removed_ms` BIGINT, "
          + "`reason` STRING, "
          + "`exit_code` INT, "
          + "`lived_ms` BIGINT, "
          + "`failure_kind` STRING, "
          + "`failure` STRING, "
          + "`lost_executors` BIGINT, "
          + "`peak_executors` BIGINT, "
          + "`lost_alike` BIGINT>";

  /** HostLive. */
  public static final String HOST =
      "ROW<"
          + "`host` STRING, "
          + "`applications` BIGINT, "
          + "`failing_applications` BIGINT, "
          + "`slow_applications` BIGINT, "
          + "`storage_applications` BIGINT, "
          + "`elsewhere_applications` BIGINT, "
          + "`failure` STRING, "
          + "`application_ids` STRING>";

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
          + "`owner` STRING, "
          + "`team` STRING, "
          + "`stage` ROW<`stage_id` INT, `stage_attempt` INT, `name` STRING, `num_tasks` INT, `status` STRING, `submitted_ms` BIGINT, `completed_ms` BIGINT, `elapsed_ms` BIGINT, `job_id` INT, `sql_execution_id` BIGINT, `failure_reason` STRING, `finished_tasks` BIGINT, `succeeded_tasks` BIGINT, `failed_tasks` BIGINT, `killed_tasks` BIGINT, `speculative_tasks` BIGINT, `finished_run_ms` BIGINT, `finished_cpu_ms` BIGINT, `finished_gc_ms` BIGINT, `finished_input_bytes` BIGINT, `finished_input_records` BIGINT, `finished_shuffle_read_bytes` BIGINT, `finished_shuffle_read_records` BIGINT, `finished_fetch_wait_ms` BIGINT, `finished_shuffle_write_bytes` BIGINT, `finished_shuffle_write_records` BIGINT, `finished_output_bytes` BIGINT, `finished_output_records` BIGINT, `finished_memory_spilled_bytes` BIGINT, `finished_disk_spilled_bytes` BIGINT, `finished_spilled_tasks` BIGINT, `finished_spilled_duration_ms` BIGINT, `finished_duration_ms` BIGINT, `fetch_failed_tasks` BIGINT, `lost_tasks` BIGINT, `resubmitted_tasks` BIGINT, `duration_p50_ms` DOUBLE, `duration_p95_ms` DOUBLE, `duration_max_ms` BIGINT, `task_bytes_p50` DOUBLE, `task_bytes_p95` DOUBLE, `task_bytes_max` BIGINT, `running_tasks` BIGINT, `running_input_bytes` BIGINT, `running_input_records` BIGINT, `running_shuffle_read_bytes` BIGINT, `running_shuffle_read_records` BIGINT, `running_shuffle_write_bytes` BIGINT, `running_output_bytes` BIGINT, `running_memory_spilled_bytes` BIGINT, `running_disk_spilled_bytes` BIGINT, `running_cpu_ms` BIGINT, `running_age_max_ms` BIGINT, `running_stalled_max_ms` BIGINT, `running_untracked_tasks` BIGINT, `since_finish_ms` BIGINT, `disk_spilled_bytes` BIGINT, `memory_spilled_bytes` BIGINT, `work_bytes` BIGINT, `work_records` BIGINT, `biggest_task_index` INT, `biggest_task_bytes` BIGINT, `biggest_task_ms` BIGINT, `bytes_ratio` DOUBLE, `lost_ms` BIGINT, `lost_share` DOUBLE, `slowest_task_index` INT, `slowest_task_ms` BIGINT, `slowest_task_bytes` BIGINT, `slowest_task_executor_id` STRING, `slowest_task_host` STRING, `slowest_task_bytes_ratio` DOUBLE, `slowest_task_lost_ms` BIGINT, `slowest_task_lost_share` DOUBLE, `slowest_task_gc_ms` BIGINT, `stage_fingerprint` STRING, `baseline_runs` BIGINT, `expected_ms` BIGINT, `expected_p95_ms` BIGINT, `expected_cpu_ms` BIGINT, `expected_cpu_p95_ms` BIGINT, `moved` STRING, `work_known` BOOLEAN, `projected_ms` BIGINT, `projected_p95_ms` BIGINT, `judged_ms` BIGINT, `runs_python` BOOLEAN, `operator_rows_max` BIGINT, `work_measure` STRING>, "
          + "`task` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `age_ms` BIGINT, `stalled_ms` BIGINT, `cpu_since_progress_ms` BIGINT, `activity` STRING, `work_bytes` BIGINT, `work_records` BIGINT, `disk_spilled_bytes` BIGINT, `stack` STRING, `stage_name` STRING, `stage_fingerprint` STRING, `outlived_ms` BIGINT>, "
          + "`executor` ROW<`executor_id` STRING, `host` STRING, `heap_used_bytes` BIGINT, `heap_max_bytes` BIGINT, `non_heap_used_bytes` BIGINT, `gc_delta_ms` BIGINT, `interval_ms` BIGINT, `gc_share` DOUBLE, `cpu_ns` BIGINT, `rss_bytes` BIGINT, `python_rss_bytes` BIGINT, `running_tasks` INT, `gc_pause_max_ms` BIGINT, `heap_after_gc_bytes` BIGINT, `direct_memory_bytes` BIGINT, `process_rss_bytes` BIGINT, `memory_limit_bytes` BIGINT, `silent_ms` BIGINT, `age_ms` BIGINT>, "
          + "`application` ROW<`name` STRING, `status` STRING, `ended_ms` BIGINT, `elapsed_ms` BIGINT, `running_jobs` BIGINT, `succeeded_jobs` BIGINT, `failed_jobs` BIGINT, `running_stages` BIGINT, `ended_stages` BIGINT, `running_tasks` BIGINT, `finished_tasks` BIGINT, `failed_tasks` BIGINT, `executors` BIGINT, `disk_spilled_bytes` BIGINT, `facts_seen` BIGINT, `facts_expected` BIGINT, `facts_dropped` BIGINT, `user_name` STRING, `spark_version` STRING, `finished_cpu_ms` BIGINT, `work_bytes` BIGINT, `work_records` BIGINT, `baseline_runs` BIGINT, `expected_ms` BIGINT, `expected_p95_ms` BIGINT, `expected_cpu_ms` BIGINT, `expected_cpu_p95_ms` BIGINT, `moved` STRING, `work_known` BOOLEAN, `idle_ms` BIGINT, `stalled_ms` BIGINT, `driver_silent_ms` BIGINT, `outlived_ms` BIGINT, `unfinished_tasks` BIGINT, `deadline_ms` BIGINT, `deadline_left_ms` BIGINT, `remaining_ms` BIGINT, `remaining_p95_ms` BIGINT, `late_chance` DOUBLE, `deadline_source` STRING, `operator_rows` BIGINT, `work_measure` STRING, `between_jobs_ms` BIGINT, `expected_between_p95_ms` BIGINT, `log_silent_ms` BIGINT>, "
          + "`failure` ROW<`stage_id` INT, `stage_attempt` INT, `stage_name` STRING, `stage_fingerprint` STRING, `failure_class` STRING, `failure_reason` STRING, `failed_tasks` BIGINT, `finished_tasks` BIGINT, `num_tasks` INT, `task_index` INT, `executor_id` STRING, `host` STRING, `hosts` BIGINT, `failing_tasks` BIGINT, `attempts_max` BIGINT, `failure_kind` STRING, `failure` STRING, `retry` STRING, `first_cause` STRING>, "
          + "`job` ROW<`job_id` INT, `description` STRING, `status` STRING, `elapsed_ms` BIGINT, `failure_reason` STRING, `failure_kind` STRING, `failure` STRING, `retry` STRING, `first_cause` STRING, `failed_stage_id` INT>, "
          + "`executor_loss` ROW<`executor_id` STRING, `host` STRING, `removed_ms` BIGINT, `reason` STRING, `exit_code` INT, `lived_ms` BIGINT, `failure_kind` STRING, `failure` STRING, `lost_executors` BIGINT, `peak_executors` BIGINT, `lost_alike` BIGINT>, "
          + "`host` ROW<`host` STRING, `applications` BIGINT, `failing_applications` BIGINT, `slow_applications` BIGINT, `storage_applications` BIGINT, `elsewhere_applications` BIGINT, `failure` STRING, `application_ids` STRING>, "
          + "`application_started` ROW<`name` STRING, `user_name` STRING, `spark_version` STRING, `plugin_version` STRING, `master` STRING, `properties` MAP<STRING, STRING>, `configuration` MAP<STRING, STRING>>, "
          + "`application_ended` ROW<`ended_ms` BIGINT, `succeeded_jobs` BIGINT, `failed_jobs` BIGINT>, "
          + "`job_started` ROW<`job_id` INT, `submitted_ms` BIGINT, `stage_ids` ARRAY<INT>, `description` STRING, `sql_execution_id` BIGINT, `job_group` STRING, `job_tags` ARRAY<STRING>>, "
          + "`job_ended` ROW<`job_id` INT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING>, "
          + "`sql_started` ROW<`sql_execution_id` BIGINT, `started_ms` BIGINT, `description` STRING, `plan_nodes` ARRAY<STRING>, `root_execution_id` BIGINT>, "
          + "`sql_ended` ROW<`sql_execution_id` BIGINT, `ended_ms` BIGINT, `failure_reason` STRING>, "
          + "`stage_started` ROW<`stage_id` INT, `stage_attempt` INT, `name` STRING, `num_tasks` INT, `parent_stage_ids` ARRAY<INT>, `scope_names` ARRAY<STRING>, `submitted_ms` BIGINT, `job_id` INT, `sql_execution_id` BIGINT, `resource_profile_id` INT, `depth` INT>, "
          + "`stage_ended` ROW<`stage_id` INT, `stage_attempt` INT, `num_tasks` INT, `submitted_ms` BIGINT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING, `operator_rows_max` BIGINT>, "
          + "`executor_added` ROW<`executor_id` STRING, `host` STRING, `cores` INT, `added_ms` BIGINT, `resource_profile_id` INT>, "
          + "`executor_removed` ROW<`executor_id` STRING, `removed_ms` BIGINT, `reason` STRING, `exit_code` INT>, "
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
          + "`application_started` ROW<`name` STRING, `user_name` STRING, `spark_version` STRING, `plugin_version` STRING, `master` STRING, `properties` MAP<STRING, STRING>, `configuration` MAP<STRING, STRING>>, "
          + "`application_ended` ROW<`ended_ms` BIGINT, `succeeded_jobs` BIGINT, `failed_jobs` BIGINT>, "
          + "`job_started` ROW<`job_id` INT, `submitted_ms` BIGINT, `stage_ids` ARRAY<INT>, `description` STRING, `sql_execution_id` BIGINT, `job_group` STRING, `job_tags` ARRAY<STRING>>, "
          + "`job_ended` ROW<`job_id` INT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING>, "
          + "`sql_started` ROW<`sql_execution_id` BIGINT, `started_ms` BIGINT, `description` STRING, `plan_nodes` ARRAY<STRING>, `root_execution_id` BIGINT>, "
          + "`sql_ended` ROW<`sql_execution_id` BIGINT, `ended_ms` BIGINT, `failure_reason` STRING>, "
          + "`stage_started` ROW<`stage_id` INT, `stage_attempt` INT, `name` STRING, `num_tasks` INT, `parent_stage_ids` ARRAY<INT>, `scope_names` ARRAY<STRING>, `submitted_ms` BIGINT, `job_id` INT, `sql_execution_id` BIGINT, `resource_profile_id` INT, `depth` INT>, "
          + "`stage_ended` ROW<`stage_id` INT, `stage_attempt` INT, `num_tasks` INT, `submitted_ms` BIGINT, `completed_ms` BIGINT, `succeeded` BOOLEAN, `failure_reason` STRING, `operator_rows_max` BIGINT>, "
          + "`task_started` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `speculative` BOOLEAN, `launched_ms` BIGINT, `locality` STRING>, "
          + "`task_ended` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `speculative` BOOLEAN, `launched_ms` BIGINT, `finished_ms` BIGINT, `duration_ms` BIGINT, `outcome` STRING, `failure_class` STRING, `failure_reason` STRING, `has_metrics` BOOLEAN, `run_ms` BIGINT, `cpu_ns` BIGINT, `gc_ms` BIGINT, `deserialize_ms` BIGINT, `result_bytes` BIGINT, `peak_execution_memory_bytes` BIGINT, `memory_spilled_bytes` BIGINT, `disk_spilled_bytes` BIGINT, `input_bytes` BIGINT, `input_records` BIGINT, `output_bytes` BIGINT, `output_records` BIGINT, `shuffle_read_bytes` BIGINT, `shuffle_read_records` BIGINT, `fetch_wait_ms` BIGINT, `shuffle_write_bytes` BIGINT, `shuffle_write_records` BIGINT, `result_serialization_ms` BIGINT, `getting_result_ms` BIGINT, `deserialize_cpu_ns` BIGINT, `shuffle_write_ns` BIGINT, `remote_shuffle_read_bytes` BIGINT, `remote_shuffle_to_disk_bytes` BIGINT, `local_shuffle_read_bytes` BIGINT, `remote_shuffle_blocks` BIGINT, `local_shuffle_blocks` BIGINT, `remote_requests_ms` BIGINT, `merged_shuffle_read_bytes` BIGINT, `corrupt_merged_chunks` BIGINT, `merged_fallbacks` BIGINT, `peak_on_heap_execution_memory_bytes` BIGINT, `peak_off_heap_execution_memory_bytes` BIGINT, `exit_code` INT, `exit_caused_by_app` BOOLEAN, `fetch_failed_host` STRING, `fetch_failed_executor_id` STRING, `fetch_failed_shuffle_id` INT, `locality` STRING>, "
          + "`task_progress` ROW<`stage_id` INT, `stage_attempt` INT, `task_id` BIGINT, `task_index` INT, `task_attempt` INT, `executor_id` STRING, `host` STRING, `age_ms` BIGINT, `stalled_ms` BIGINT, `cpu_since_progress_ms` BIGINT, `cpu_ns` BIGINT, `activity` STRING, `memory_spilled_bytes` BIGINT, `disk_spilled_bytes` BIGINT, `input_bytes` BIGINT, `input_records` BIGINT, `output_bytes` BIGINT, `output_records` BIGINT, `shuffle_read_bytes` BIGINT, `shuffle_read_records` BIGINT, `shuffle_write_bytes` BIGINT, `shuffle_write_records` BIGINT, `stack` STRING, `python_worker` STRING>, "
          + "`executor_added` ROW<`executor_id` STRING, `host` STRING, `cores` INT, `added_ms` BIGINT, `resource_profile_id` INT>, "
          + "`executor_removed` ROW<`executor_id` STRING, `removed_ms` BIGINT, `reason` STRING, `exit_code` INT>, "
          + "`executor_sample` ROW<`executor_id` STRING, `host` STRING, `interval_ms` BIGINT, `heap_used_bytes` BIGINT, `heap_max_bytes` BIGINT, `non_heap_used_bytes` BIGINT, `gc_count` BIGINT, `gc_ms` BIGINT, `gc_delta_ms` BIGINT, `cpu_ns` BIGINT, `rss_bytes` BIGINT, `python_rss_bytes` BIGINT, `running_tasks` INT, `gc_pauses` ARRAY<ROW<`started_ms` BIGINT, `duration_ms` BIGINT, `collector` STRING, `cause` STRING, `heap_before_bytes` BIGINT, `heap_after_bytes` BIGINT>>, `gc_pause_max_ms` BIGINT, `gc_pauses_left_out` INT, `direct_memory_bytes` BIGINT, `mapped_memory_bytes` BIGINT, `open_files` BIGINT, `max_open_files` BIGINT, `threads` INT, `python_workers` INT, `python_cpu_ns` BIGINT, `storage_memory_used_bytes` BIGINT, `execution_memory_used_bytes` BIGINT>, "
          + "`collector_health` ROW<`queued` BIGINT, `dropped_bulk` BIGINT, `dropped_reserved` BIGINT, `acknowledged` BIGINT, `send_errors` BIGINT, `faults` BIGINT, `protection` STRING, `spark_dropped_events` BIGINT, `callback_p99_ns` BIGINT, `callback_p999_ns` BIGINT, `callback_max_ns` BIGINT, `protection_reason` STRING, `passed_over` BIGINT, `cut_facts` BIGINT, `queued_bytes` BIGINT, `behind_bytes` BIGINT, `malformed_lines` BIGINT, `torn` BOOLEAN>, "
          + "`tick` ROW<`sent_ms` BIGINT>, "
          + "`sql_plan` ROW<`sql_execution_id` BIGINT, `plan_version` INT, `node_names` ARRAY<STRING>, `node_parents` ARRAY<INT>, `metrics` ARRAY<ROW<`node` INT, `accumulator_id` BIGINT, `name` STRING, `type` STRING>>, `left_out_nodes` INT, `left_out_metrics` INT>, "
          + "`sql_metrics` ROW<`sql_execution_id` BIGINT, `accumulator_ids` ARRAY<BIGINT>, `values` ARRAY<BIGINT>, `left_out` INT>, "
          + "`block_manager_added` ROW<`executor_id` STRING, `host` STRING, `max_memory_bytes` BIGINT, `max_on_heap_memory_bytes` BIGINT, `max_off_heap_memory_bytes` BIGINT, `added_ms` BIGINT>, "
          + "`block_manager_removed` ROW<`executor_id` STRING, `host` STRING, `removed_ms` BIGINT>, "
          + "`streaming_started` ROW<`query_id` STRING, `run_id` STRING, `name` STRING, `started_ms` BIGINT>, "
          + "`streaming_progress` ROW<`query_id` STRING, `run_id` STRING, `name` STRING, `batch_id` BIGINT, `triggered_ms` BIGINT, `batch_duration_ms` BIGINT, `add_batch_ms` BIGINT, `latest_offset_ms` BIGINT, `input_rows` BIGINT, `input_rows_per_second` DOUBLE, `processed_rows_per_second` DOUBLE, `state_rows` BIGINT, `state_memory_bytes` BIGINT, `dropped_by_watermark_rows` BIGINT, `watermark_ms` BIGINT, `source_lag_records` BIGINT, `source_lag_bytes` BIGINT, `sources` ARRAY<STRING>>, "
          + "`streaming_ended` ROW<`query_id` STRING, `run_id` STRING, `ended_ms` BIGINT, `failure_reason` STRING>, "
          + "`resource_profile_added` ROW<`profile_id` INT, `executor_cores` INT, `executor_memory_bytes` BIGINT, `memory_overhead_bytes` BIGINT, `pyspark_memory_bytes` BIGINT, `off_heap_memory_bytes` BIGINT, `task_cpus` DOUBLE, `resources` MAP<STRING, STRING>>, "
          + "`node_event` ROW<`event` STRING, `host` STRING, `executor_id` STRING, `stage_id` INT, `task_failures` INT, `happened_ms` BIGINT>, "
          + "`undecodable` ROW<`payload` BYTES, `reason` STRING>>";

  private LiveTypes() {}
}
