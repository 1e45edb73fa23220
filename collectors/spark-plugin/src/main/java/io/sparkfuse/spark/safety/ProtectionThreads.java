package io.sparkfuse.spark.safety;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Runs the periodic checks of self-protection: one thread checks this JVM every second, and another
 * checks whether the switch file exists, if one is configured.
 *
 * <p>There are two threads because access to a file on a dead network mount can block forever.
 */
public final class ProtectionThreads {
  static final long CHECK_MS = 1_000;
  static final long FILE_CHECK_MS = 500;

  private final CollectorProtection protection;
  private final FaultCounter faults;
  private final CountDownLatch stop = new CountDownLatch(1);

  private ProtectionThreads(CollectorProtection protection, FaultCounter faults) {
    this.protection = protection;
    this.faults = faults;
  }

  /** Starts the checks; {@code switchFile} may be empty. */
  public static ProtectionThreads start(
      CollectorProtection protection, String switchFile, FaultCounter faults) {
    ProtectionThreads threads = new ProtectionThreads(protection, faults);
    Runnable check = () -> protection.check(SteadyClock.ms());
    DaemonThreads.of("guard", faults, () -> threads.repeat(CHECK_MS, check)).start();
    if (!switchFile.isEmpty()) {
      Path path = Paths.get(switchFile);
      Runnable checkFile = () -> protection.setOff("the file " + path, Files.exists(path));
      DaemonThreads.of("switch", faults, () -> threads.repeat(FILE_CHECK_MS, checkFile)).start();
    }
    return threads;
  }

  /** Ends both threads without waiting for them. */
  public void stop() {
    stop.countDown();
  }

  private void repeat(long everyMs, Runnable check) {
    boolean stopped = false;
    while (!stopped && faults.on()) {
      try {
        check.run();
      } catch (Throwable fault) {
        faults.caught(fault);
      }
      stopped = pause(everyMs);
    }
  }

  private boolean pause(long ms) {
    try {
      return stop.await(ms, TimeUnit.MILLISECONDS);
    } catch (InterruptedException ignored) { // the loop checks again
      return false;
    }
  }
}
