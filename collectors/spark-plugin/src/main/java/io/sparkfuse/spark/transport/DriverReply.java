package io.sparkfuse.spark.transport;

import io.sparkfuse.spark.facts.Application;

/**
 * The driver's reply to a batch of an executor: the application, and whether the collector is on.
 * The reply is text, so that driver and executor need not share a class.
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

  /** Writes a reply; {@code application} may be null. */
  public static String text(Application application, boolean wanted) {
    return (wanted ? "" : OFF) + (application == null ? "" : application.toLine());
  }

  /** Parses the result of {@link #text}; any other text is a reply without an application. */
  static DriverReply of(Object text) {
    String line = String.valueOf(text);
    boolean off = line.startsWith(OFF);
    return new DriverReply(Application.ofLine(off ? line.substring(OFF.length()) : line), !off);
  }
}
