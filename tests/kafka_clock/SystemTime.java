package org.apache.kafka.common.utils;

import java.util.function.Supplier;

/**
 * Replaces Kafka's class of the same name in a broker for tests: a clock that is ahead of the system's clock by the
 * property {@code test.clock.ahead.ms}. A negative value means that the clock is behind.
 */
class SystemTime implements Time {
  private static final long AHEAD_MS = Long.getLong("test.clock.ahead.ms", 0);
  private static final SystemTime SYSTEM_TIME = new SystemTime();

  public static SystemTime getSystemTime() {
    return SYSTEM_TIME;
  }

  @Override
  public long milliseconds() {
    return System.currentTimeMillis() + AHEAD_MS;
  }

  @Override
  public long nanoseconds() {
    return System.nanoTime();
  }

  @Override
  public void sleep(long ms) {
    Utils.sleep(ms);
  }

  @Override
  public void waitObject(Object monitor, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
    synchronized (monitor) {
      while (!condition.get()) {
        long leftMs = deadlineMs - milliseconds();
        if (leftMs <= 0) {
          throw new org.apache.kafka.common.errors.TimeoutException("the condition was not met in time");
        }
        monitor.wait(leftMs);
      }
    }
  }
}
