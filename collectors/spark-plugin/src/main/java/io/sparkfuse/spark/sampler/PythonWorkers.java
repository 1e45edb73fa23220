package io.sparkfuse.spark.sampler;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * CPU and memory of the Python workers below this JVM, from Linux' /proc; zero where there is none.
 *
 * <p>Which worker serves which task cannot be seen from outside, so CPU is given to standing tasks
 * with care: see {@link #cpuBeyond}.
 */
final class PythonWorkers {
  /** Kernel clock ticks are 100 a second on every Linux that Spark runs on. */
  private static final long TICK_NS = 10_000_000;

  private static final long PAGE_BYTES = 4_096;
  private static final int MOST_GENERATIONS = 6;

  /** Without workers the process table is only read on every so many passes. */
  private static final int REST_PASSES = 3;

  private final Path proc;
  private final String ownPid;
  private Map<String, Long> cpuBefore = new HashMap<>();
  private long[] deltas = new long[0];
  private long residentBytes;
  private int rest;

  PythonWorkers() {
    this(Paths.get("/proc"), ownPid());
  }

  PythonWorkers(Path proc, String ownPid) {
    this.proc = proc;
    this.ownPid = ownPid;
  }

  /** Looks at the process table; {@code urgent} when a task stands still. */
  void look(boolean urgent) {
    if (cpuBefore.isEmpty() && !urgent && rest-- > 0) {
      return;
    }
    rest = REST_PASSES;
    Map<String, String[]> table = table();
    Map<String, Long> cpuNow = new HashMap<>();
    residentBytes = 0;
    for (Map.Entry<String, String[]> process : table.entrySet()) {
      if (isOurs(process.getKey(), table)) {
        String[] stat = process.getValue();
        cpuNow.put(process.getKey(), (Long.parseLong(stat[11]) + Long.parseLong(stat[12])));
        residentBytes += Long.parseLong(stat[21]) * PAGE_BYTES;
      }
    }
    deltas = deltas(cpuNow);
    cpuBefore = cpuNow;
  }

  /** Resident memory of all workers. */
  long residentBytes() {
    return residentBytes;
  }

  /**
   * CPU since the pass before that {@code moving} other Python tasks of the same stage do not
   * account for: each moving task has a worker that used some, so only what busy workers are left
   * beyond their number can belong to tasks that stand still.
   */
  long cpuBeyond(int moving) {
    long sum = 0;
    for (int i = 0; i < deltas.length - moving; i++) {
      sum += deltas[i];
    }
    return sum;
  }

  /** The CPU of busy workers, least first. */
  private long[] deltas(Map<String, Long> cpuNow) {
    long[] all = new long[cpuNow.size()];
    int busy = 0;
    for (Map.Entry<String, Long> worker : cpuNow.entrySet()) {
      long ticks = worker.getValue() - cpuBefore.getOrDefault(worker.getKey(), 0L);
      if (ticks > 0) {
        all[busy++] = ticks * TICK_NS;
      }
    }
    long[] found = Arrays.copyOf(all, busy);
    Arrays.sort(found);
    return found;
  }

  private boolean isOurs(String pid, Map<String, String[]> table) {
    String[] stat = table.get(pid);
    if (!stat[0].startsWith("python") && !stat[0].startsWith("pypy")) {
      return false;
    }
    String parent = stat[1];
    for (int i = 0; i < MOST_GENERATIONS && table.containsKey(parent); i++) {
      if (parent.equals(ownPid)) {
        return true;
      }
      parent = table.get(parent)[1];
    }
    return false;
  }

  /** Of each process: its name, its parent, and the fields of stat that follow. */
  private Map<String, String[]> table() {
    Map<String, String[]> table = new HashMap<>();
    String[] names = proc.toFile().list();
    for (String name : names == null ? new String[0] : names) {
      if (Character.isDigit(name.charAt(0))) {
        try {
          byte[] bytes = Files.readAllBytes(proc.resolve(name).resolve("stat"));
          table.put(name, fields(new String(bytes, StandardCharsets.ISO_8859_1)));
        } catch (IOException gone) { // it ended between the two looks
        }
      }
    }
    return table;
  }

  /** The name may hold blanks and brackets, so what follows is counted from its last bracket. */
  static String[] fields(String stat) {
    int nameEnd = stat.lastIndexOf(')');
    String[] fields = stat.substring(nameEnd + 2).split(" ");
    fields[0] = stat.substring(stat.indexOf('(') + 1, nameEnd);
    return fields;
  }

  private static String ownPid() {
    try {
      return new File("/proc/self").getCanonicalFile().getName();
    } catch (IOException noProc) { // no Linux: no process is found below
      return "";
    }
  }
}
