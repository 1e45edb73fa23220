package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;

/** Carries out what the hook decided. Called by the hook's thread only. */
interface Actuator {
  /** Shows a text to the owner of the job. */
  void warn(String text);

  /**
   * Stops the target of a signal, and waits for at most a few seconds until its tasks have ended.
   *
   * <p>{@code reason} is shown to the owner. An exception means that nothing is known of the tasks.
   */
  ActResult act(Signal signal, String reason) throws Exception;

  /** Switches the collector of this application. */
  void switchCollector(boolean off);
}
