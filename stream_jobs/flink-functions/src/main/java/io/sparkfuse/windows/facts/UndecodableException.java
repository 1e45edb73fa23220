package io.sparkfuse.windows.facts;

/** A record is no fact; the message says why in a few words. */
final class UndecodableException extends Exception {
  private static final long serialVersionUID = 1L;

  UndecodableException(String reason) {
    // No stack trace: junk may come in floods, and nobody looks at the place in the reader.
    super(reason, null, false, false);
  }
}
