package io.sparkfuse.windows.facts;

/** Thrown if a record is not a fact; the message gives the reason. */
final class UndecodableException extends Exception {
  private static final long serialVersionUID = 1L;

  UndecodableException(String reason) {
    // The exception has no stack trace, because a topic can contain many such records and the trace
    // is not used.
    super(reason, null, false, false);
  }
}
