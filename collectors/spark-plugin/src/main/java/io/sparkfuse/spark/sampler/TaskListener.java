package io.sparkfuse.spark.sampler;

/** Is told by the threads of tasks that they begin and end; returns at once. */
public interface TaskListener {
  void start();

  void taskBegan();

  void taskEnded();

  void stop();
}
