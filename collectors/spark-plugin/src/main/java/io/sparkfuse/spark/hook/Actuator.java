package io.sparkfuse.spark.hook;

import io.sparkfuse.contracts.Signal;
import java.util.Collections;
import java.util.Set;

/** Carries out what the hook decided. Called by the hook's thread only. */
interface Actuator {
  /** Shows a text to the owner of the job. */
  void warn(String text);

  /**
   * Stops the target of a signal, and waits for at most a few seconds until its tasks have ended.
   *
   * <p>{@code reason} is shown to the owner. If this method throws, it is not known which tasks
   * have ended.
   */
  ActResult act(Signal signal, String reason) throws Exception;

  /**
   * Waits while job code of the target is in a safe point, for at most the configured time. Returns
   * the length of the wait in ms.
   */
  default long awaitSafePoint(Signal signal) throws InterruptedException {
    return 0;
  }

  /** Returns the tags of the blocks of job code that the target belongs to. */
  default Set<String> blocks(Signal signal) {
    return Collections.emptySet();
  }

  /** Switches the collector of this application. */
  void switchCollector(boolean off);
}
