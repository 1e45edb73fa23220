package io.sparkfuse.spark.sampler;

/** Is notified by task threads of their start and end. Does not block. */
public interface TaskListener {
  void start();

  void taskStarted();

  void taskEnded();

  void stop();
}
