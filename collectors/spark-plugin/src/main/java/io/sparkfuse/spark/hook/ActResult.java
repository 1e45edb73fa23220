package io.sparkfuse.spark.hook;

/** The result of an act: how many task attempts ended, and how many still ran after the wait. */
final class ActResult {
  final boolean ended;
  final long freedTasks;
  final long unfreedTasks;
  final String reason;

  ActResult(boolean ended, long freedTasks, long unfreedTasks, String reason) {
    this.ended = ended;
    this.freedTasks = freedTasks;
    this.unfreedTasks = unfreedTasks;
    this.reason = reason;
  }

  String outcome() {
    return ended ? "ended" : "unfreed";
  }
}
