package io.sparkfuse.spark.safety;

/** Makes the plugin's threads: daemons by the name {@code sparkfuse-*}, that die without a word. */
public final class DaemonThreads {
  private DaemonThreads() {}

  /** A thread that is not started yet; what it throws is counted, never passed on. */
  public static Thread of(String name, FaultCounter faults, Runnable work) {
    Thread thread = new Thread(work, "sparkfuse-" + name);
    thread.setDaemon(true);
    // The default handler of an executor ends the JVM on an Error.
    thread.setUncaughtExceptionHandler((dead, fault) -> faults.caught(fault));
    return thread;
  }
}
