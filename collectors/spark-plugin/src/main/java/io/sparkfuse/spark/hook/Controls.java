package io.sparkfuse.spark.hook;

/** The controls, which are the signed orders of operators. Called by the hook's thread only. */
interface Controls {
  /**
   * Reads all controls up to the current end of the topic, for at most {@code limitMs}.
   *
   * @return the controls, or {@link ControlSnapshot#unreachable} if the end was not reached
   */
  ControlSnapshot refresh(long limitMs);
}
