package io.sparkfuse.spark.hook;

/** The orders of operators. Called by the hook's thread only. */
interface Controls {
  /**
   * Reads all controls to the end that the topic has now, for at most {@code limitMs}.
   *
   * @return the controls, or {@link ControlSnapshot#unreachable} if the end was not reached
   */
  ControlSnapshot refresh(long limitMs);
}
