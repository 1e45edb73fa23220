package io.sparkfuse.spark.hook;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The actions that a signal can ask for. */
final class Actions {
  static final String WARN = "warn";
  static final String KILL_TASK = "kill_task";
  static final String CANCEL_QUERY = "cancel_query";
  static final String CANCEL_STAGE = "cancel_stage";
  static final String CANCEL_JOBS = "cancel_jobs";
  static final String STOP_APPLICATION = "stop_application";

  /** Only the external actuator carries out this action; the hook never does. */
  static final String EXTERNAL_STOP = "external_stop";

  static final String COLLECTOR_OFF = "collector_off";
  static final String COLLECTOR_ON = "collector_on";

  /** The actions that stop work, narrowest first. */
  static final List<String> STOPS =
      Collections.unmodifiableList(
          Arrays.asList(KILL_TASK, CANCEL_QUERY, CANCEL_STAGE, CANCEL_JOBS, STOP_APPLICATION));

  private Actions() {}

  /** Returns whether the action only switches the collector and does not affect the job's work. */
  static boolean isSwitch(String action) {
    return action.equals(COLLECTOR_OFF) || action.equals(COLLECTOR_ON);
  }
}
