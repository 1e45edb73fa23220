package io.sparkfuse.spark.sampler;

/** Receives the start and the end of each task, from the task's own thread. Does not block. */
public interface TaskListener {
  void start();

  void taskStarted();

  void taskEnded();

  void stop();
}
