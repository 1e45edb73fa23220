package io.sparkfuse.windows;

/** What the job tells its launcher, which serves it as metrics. */
public interface TallyMXBean {
  /** Records read from the topic facts since the job started. */
  long getRecords();

  /** Of those: records that are no facts. */
  long getUndecodable();

  /** End of the last window that was sent. [ms since epoch] */
  long getLastWindowEndMs();
}
