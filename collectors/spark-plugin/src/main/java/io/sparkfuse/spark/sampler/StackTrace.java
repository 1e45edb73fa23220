package io.sparkfuse.spark.sampler;

/** The stack of a task's thread, at most {@link #MAX_CHARS} characters. */
final class StackTrace {
  static final int MAX_CHARS = 2_000;
  private static final int MAX_FRAMES = 30;

  private final StackTraceElement[] frames;

  StackTrace(StackTraceElement[] frames) {
    this.frames = frames;
  }

  /** Returns whether the thread waits for a Python worker or starts one. */
  boolean inPython() {
    return anyFrame("org.apache.spark.api.python.", "")
        || anyFrame("org.apache.spark.sql.execution.python.", "");
  }

  /** Returns whether the thread starts a Python worker, which can take seconds. */
  boolean startsPython() {
    return anyFrame("org.apache.spark.api.python.PythonWorkerFactory", "startDaemon")
        || anyFrame("org.apache.spark.api.python.PythonWorkerFactory", "create");
  }

  /** Returns the innermost frames, one per line. */
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
