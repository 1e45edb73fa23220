package io.sparkfuse.spark.facts;

/** Which run of which application a collector watches: the same for all facts of a collector. */
public final class Application {
  private static final String SEPARATOR = "\t";

  public final String cluster;
  public final String tenant;
  public final String id;
  public final int attempt;
  public final long startMs;

  public Application(String cluster, String tenant, String id, int attempt, long startMs) {
    this.cluster = cluster;
    this.tenant = tenant;
    this.id = id;
    this.attempt = attempt;
    this.startMs = startMs;
  }

  /** The number in Spark's attempt id ("1", "appattempt_17_0004_000002"), 0 where there is none. */
  public static int attemptNumber(String attemptId) {
    String digits = attemptId == null ? "" : attemptId.replaceFirst("^.*[^0-9]", "");
    return digits.isEmpty() || digits.length() > 9 ? 0 : Integer.parseInt(digits);
  }

  /** One line, so that the driver can tell its executors by RPC without sharing a class. */
  public String toLine() {
    return String.join(
        SEPARATOR, cluster, tenant, id, Integer.toString(attempt), Long.toString(startMs));
  }

  /**
   * Reads what {@link #toLine} wrote.
   *
   * @return null when the line is no application, as while the driver does not know it yet
   */
  public static Application ofLine(Object line) {
    String[] parts = String.valueOf(line).split(SEPARATOR, -1);
    if (parts.length != 5) {
      return null;
    }
    try {
      return new Application(
          parts[0], parts[1], parts[2], Integer.parseInt(parts[3]), Long.parseLong(parts[4]));
    } catch (NumberFormatException malformed) {
      return null;
    }
  }
}
