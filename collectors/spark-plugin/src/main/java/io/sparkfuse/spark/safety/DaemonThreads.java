package io.sparkfuse.spark.safety;

/** Creates the threads of the plugin: daemons with the name {@code sparkfuse-*}. */
public final class DaemonThreads {
  private DaemonThreads() {}

  /**
   * Returns a thread that has not been started. If the thread's work throws, the fault is counted
   * and not passed on.
   */
  public static Thread of(String name, FaultCounter faults, Runnable work) {
    Thread thread = new Thread(work, "sparkfuse-" + name);
    thread.setDaemon(true);
    // The handler is needed because Spark's default handler in an executor ends the JVM on an
    // Error.
    thread.setUncaughtExceptionHandler((dead, fault) -> faults.caught(fault));
    return thread;
  }
}
