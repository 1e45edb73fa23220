package io.sparkfuse.windows;

import io.sparkfuse.windows.wire.BiggestTask;

/** Which of two tasks counts as the bigger one, whatever the order in which they come. */
final class BiggestTasks {
  private BiggestTasks() {}

  /** More bytes, then more time, then the lower index. */
  static BiggestTask bigger(BiggestTask one, BiggestTask other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    if (one.getBytes() != other.getBytes()) {
      return one.getBytes() > other.getBytes() ? one : other;
    }
    if (one.getMs() != other.getMs()) {
      return one.getMs() > other.getMs() ? one : other;
    }
    return one.getTaskIndex() <= other.getTaskIndex() ? one : other;
  }

  static BiggestTask of(int index, long bytes, long ms) {
    return BiggestTask.newBuilder().setTaskIndex(index).setBytes(bytes).setMs(ms).build();
  }
}
