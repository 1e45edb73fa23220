package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;

/**
 * What the driver tells an executor in answer to a batch: whose it is, and whether facts are wanted
 * now. Text, so that the two need not share a class.
 */
public final class DriverReply {
  private static final String OFF = "off\n";

  /** The application, or null while the driver does not know it. */
  final Application application;

  /** Whether the collector is switched on. */
  final boolean wanted;

  private DriverReply(Application application, boolean wanted) {
    this.application = application;
    this.wanted = wanted;
  }

  /** {@code application} may be null. */
  public static String text(Application application, boolean wanted) {
    return (wanted ? "" : OFF) + (application == null ? "" : application.toLine());
  }

  /** Reads what {@link #text} wrote; anything else is an answer that tells nothing. */
  static DriverReply of(Object text) {
    String line = String.valueOf(text);
    boolean off = line.startsWith(OFF);
    return new DriverReply(Application.ofLine(off ? line.substring(OFF.length()) : line), !off);
  }
}
