package io.sparkfuse.windows;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Counts what passes through this JVM, and shows it by JMX.
 *
 * <p>JMX because it is the one registry that the launcher's and the job's class loaders share.
 */
public final class Tally implements TallyMXBean {
  static final String NAME = "io.sparkfuse:type=windows";
  private static final Tally SHOWN = show(new Tally());

  private final LongAdder records = new LongAdder();
  private final LongAdder undecodable = new LongAdder();
  private final AtomicLong lastWindowEndMs = new AtomicLong();

  static void record() {
    SHOWN.records.increment();
  }

  static void undecodable() {
    SHOWN.undecodable.increment();
  }

  static void windowSent(long endMs) {
    SHOWN.lastWindowEndMs.accumulateAndGet(endMs, Math::max);
  }

  @Override
  public long getRecords() {
    return records.sum();
  }

  @Override
  public long getUndecodable() {
    return undecodable.sum();
  }

  @Override
  public long getLastWindowEndMs() {
    return lastWindowEndMs.get();
  }

  /** A restart of the job inside the JVM loads this class again: the new one takes the name over. */
  private static Tally show(Tally tally) {
    try {
      MBeanServer server = ManagementFactory.getPlatformMBeanServer();
      ObjectName name = new ObjectName(NAME);
      if (server.isRegistered(name)) {
        server.unregisterMBean(name);
      }
      server.registerMBean(tally, name);
    } catch (JMException notShown) {
      // The job must run without its metrics; the launcher then shows none, which an alert notices.
      return tally;
    }
    return tally;
  }
}
