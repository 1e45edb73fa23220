package io.sparkfuse.spark.sampler;

/** The stack of a task's thread: what it waits for, in at most {@link #MAX_CHARS}. */
final class StackTrace {
  static final int MAX_CHARS = 2_000;
  private static final int MAX_FRAMES = 30;

  private final StackTraceElement[] frames;

  StackTrace(StackTraceElement[] frames) {
    this.frames = frames;
  }

  /** Whether it waits for a Python worker, or for one that is being started. */
  boolean inPython() {
    return anyFrame("org.apache.spark.api.python.", "")
        || anyFrame("org.apache.spark.sql.execution.python.", "");
  }

  /** Whether a Python worker is being started: looks hung for seconds and is not. */
  boolean startsPython() {
    return anyFrame("org.apache.spark.api.python.PythonWorkerFactory", "startDaemon")
        || anyFrame("org.apache.spark.api.python.PythonWorkerFactory", "create");
  }

  /** The innermost frames, one a line. */
  String text() {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < frames.length && i < MAX_FRAMES; i++) {
      String line = frames[i].toString();
      if (out.length() + line.length() + 1 > MAX_CHARS) {
        break;
      }
      out.append(line).append('\n');
    }
    return out.toString();
  }

  private boolean anyFrame(String typePrefix, String methodPrefix) {
    for (StackTraceElement frame : frames) {
      if (frame.getClassName().startsWith(typePrefix)
          && frame.getMethodName().startsWith(methodPrefix)) {
        return true;
      }
    }
    return false;
  }
}
