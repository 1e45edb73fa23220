package io.sparkfuse.spark.facts;

/** Identifies one run of an application; these values are the same in all facts of a collector. */
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

  /**
   * Returns the number at the end of Spark's attempt id ("1", "appattempt_17_0004_000002"), or 0 if
   * there is none.
   */
  public static int attemptNumber(String attemptId) {
    String digits = attemptId == null ? "" : attemptId.replaceFirst("^.*[^0-9]", "");
    return digits.isEmpty() || digits.length() > 9 ? 0 : Integer.parseInt(digits);
  }

  /** Returns the fields as one line, which an executor can parse without sharing a class. */
  public String toLine() {
    return String.join(
        SEPARATOR, cluster, tenant, id, Integer.toString(attempt), Long.toString(startMs));
  }

  /**
   * Parses the result of {@link #toLine}.
   *
   * @return null if the line contains no application, because the driver does not know the
   *     application yet
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
