package io.sparkfuse.spark.safety;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The threads that look after the collector's protection: one looks at this JVM every second, one,
 * if it is asked for, whether the switch file is there.
 *
 * <p>Two, because a file on a dead network mount can hang its looker for ever.
 */
public final class ProtectionThreads {
  static final long LOOK_MS = 1_000;
  static final long FILE_MS = 500;

  private final CollectorProtection protection;
  private final FaultCounter faults;
  private final CountDownLatch stop = new CountDownLatch(1);

  private ProtectionThreads(CollectorProtection protection, FaultCounter faults) {
    this.protection = protection;
    this.faults = faults;
  }

  /** Starts to look; {@code switchFile} may be empty. */
  public static ProtectionThreads start(
      CollectorProtection protection, String switchFile, FaultCounter faults) {
    ProtectionThreads guard = new ProtectionThreads(protection, faults);
    Runnable look = () -> protection.look(SteadyClock.ms());
    DaemonThreads.of("guard", faults, () -> guard.repeat(LOOK_MS, look)).start();
    if (!switchFile.isEmpty()) {
      Path path = Paths.get(switchFile);
      Runnable lookAtFile = () -> protection.setOff("the file " + path, Files.exists(path));
      DaemonThreads.of("switch", faults, () -> guard.repeat(FILE_MS, lookAtFile)).start();
    }
    return guard;
  }

  /** TestTaskFacts both threads, without waiting for them. */
  public void stop() {
    stop.countDown();
  }

  private void repeat(long everyMs, Runnable look) {
    boolean stopped = false;
    while (!stopped && faults.on()) {
      try {
        look.run();
      } catch (Throwable fault) {
        faults.caught(fault);
      }
      stopped = rest(everyMs);
    }
  }

  private boolean rest(long ms) {
    try {
      return stop.await(ms, TimeUnit.MILLISECONDS);
    } catch (InterruptedException ignored) { // nobody has a reason to; it looks again
      return false;
    }
  }
}
