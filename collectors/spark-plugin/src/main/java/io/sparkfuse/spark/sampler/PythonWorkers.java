package io.sparkfuse.spark.sampler;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads from /proc the CPU time and memory of the Python workers that descend from this JVM's
 * process; on systems other than Linux, all values are zero.
 *
 * <p>The plugin cannot see which worker serves which task, so it assigns CPU time to stalled tasks
 * with care: see {@link #cpuBeyond}.
 */
final class PythonWorkers {
  /** Linux reports 100 clock ticks a second on all platforms that Spark supports. */
  private static final long TICK_NS = 10_000_000;

  private static final int MAX_GENERATIONS = 6;
  private static final int MAX_DESCRIBED = 4;
  private static final String NO_FRAMES = "; Python frames are not visible to the JVM";

  /** While there are no workers, the process table is read in only one of this many passes. */
  private static final int SKIPPED_PASSES = 3;

  private final Path proc;
  private final String ownPid;
  private Map<String, Long> cpuBefore = new HashMap<>();
  private List<String> stalled = new ArrayList<>();
  private long[] deltas = new long[0];
  private long residentBytes;
  private long cpuNs;
  private int count;
  private int passesToSkip;

  PythonWorkers() {
    this(Paths.get("/proc"), ownPid());
  }

  PythonWorkers(Path proc, String ownPid) {
    this.proc = proc;
    this.ownPid = ownPid;
  }

  /** Reads the process table; {@code urgent} is true if a task is stalled. */
  void update(boolean urgent) {
    if (cpuBefore.isEmpty() && !urgent && passesToSkip-- > 0) {
      return;
    }
    passesToSkip = SKIPPED_PASSES;
    Map<String, String[]> table = table();
    Map<String, Long> cpuNow = new HashMap<>();
    Set<String> parents = new HashSet<>();
    residentBytes = 0;
    for (Map.Entry<String, String[]> process : table.entrySet()) {
      if (isOurs(process.getKey(), table)) {
        String[] stat = process.getValue();
        cpuNow.put(process.getKey(), Long.parseLong(stat[11]) + Long.parseLong(stat[12]));
        residentBytes += Math.max(0, ResidentMemory.bytes(status(process.getKey())));
        parents.add(stat[1]);
      }
    }
    List<String> stalledNow = new ArrayList<>();
    count = 0;
    cpuNow.forEach(
        (pid, ticks) -> {
          if (!isDaemon(pid, table.get(pid)[1], parents)) {
            count++;
            if (ticks.equals(cpuBefore.get(pid))) {
              stalledNow.add(pid);
            }
          }
        });
    deltas = deltas(cpuNow);
    cpuNs += Arrays.stream(deltas).sum();
    cpuBefore = cpuNow;
    stalled = stalledNow;
  }

  /** Returns the resident memory of all workers in bytes. */
  long residentBytes() {
    return residentBytes;
  }

  /** Returns the number of live workers, without the daemon that starts them. */
  int count() {
    return count;
  }

  /** Returns the CPU time of all workers so far in ns, including those that have ended. */
  long cpuNs() {
    return cpuNs;
  }

  /**
   * Describes the workers that used no CPU since the previous pass, or returns null if there are
   * none. The plugin cannot see which worker serves which task, nor the Python frames of a worker.
   */
  String describeStalled() {
    StringBuilder out = new StringBuilder();
    int described = 0;
    for (String pid : stalled) {
      String line = described < MAX_DESCRIBED ? describe(pid) : null;
      if (line != null) {
        out.append(described++ == 0 ? "" : "; or ").append(line);
      }
    }
    if (described == 0) {
      return null;
    }
    int more = stalled.size() - described;
    return out + (more > 0 ? "; or one of " + more + " more" : "") + NO_FRAMES;
  }

  /**
   * Returns the process id, state and kernel wait channel of a process, or null if the process has
   * ended.
   */
  private String describe(String pid) {
    try {
      Path folder = proc.resolve(pid);
      String stat = text(folder.resolve("stat"));
      String state = stat.substring(stat.lastIndexOf(')') + 2).substring(0, 1);
      String line = "pid " + pid + ", state " + state;
      Path channel = folder.resolve("wchan");
      String where = Files.isReadable(channel) ? text(channel).trim() : "0";
      return where.isEmpty() || where.equals("0") ? line : line + ", waits in " + where;
    } catch (IOException | RuntimeException gone) {
      return null;
    }
  }

  private Path status(String pid) {
    return proc.resolve(pid).resolve("status");
  }

  private static String text(Path path) throws IOException {
    return new String(Files.readAllBytes(path), StandardCharsets.ISO_8859_1);
  }

  /**
   * Returns the CPU time since the previous pass, in ns, that cannot belong to the {@code moving}
   * other Python tasks of the same stage. Each moving task has a busy worker, so only further busy
   * workers can belong to stalled tasks.
   */
  long cpuBeyond(int moving) {
    long sum = 0;
    for (int i = 0; i < deltas.length - moving; i++) {
      sum += deltas[i];
    }
    return sum;
  }

  /** Returns the CPU time of the busy workers in ns, in ascending order. */
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

  /** Returns whether a child of the JVM is the daemon that starts workers. */
  private boolean isDaemon(String pid, String parent, Set<String> parents) {
    if (!parent.equals(ownPid)) {
      return false;
    }
    try {
      return parents.contains(pid) || text(proc.resolve(pid).resolve("cmdline")).contains("daemon");
    } catch (IOException gone) {
      return false;
    }
  }

  private boolean isOurs(String pid, Map<String, String[]> table) {
    String[] stat = table.get(pid);
    if (!stat[0].startsWith("python") && !stat[0].startsWith("pypy")) {
      return false;
    }
    String parent = stat[1];
    for (int i = 0; i < MAX_GENERATIONS && table.containsKey(parent); i++) {
      if (parent.equals(ownPid)) {
        return true;
      }
      // The worker belongs to an executor that the driver started on the same host.
      if (table.get(parent)[0].equals("java")) {
        return false;
      }
      parent = table.get(parent)[1];
    }
    return false;
  }

  /** Returns for each process the fields of /proc/PID/stat, from the name on. */
  private Map<String, String[]> table() {
    Map<String, String[]> table = new HashMap<>();
    String[] names = proc.toFile().list();
    for (String name : names == null ? new String[0] : names) {
      if (Character.isDigit(name.charAt(0))) {
        try {
          table.put(name, fields(text(proc.resolve(name).resolve("stat"))));
        } catch (IOException | RuntimeException gone) { // the process has just ended
        }
      }
    }
    return table;
  }

  /**
   * Splits the line in /proc/PID/stat. The name of the process can contain blanks and brackets, so
   * fields are counted from the last bracket of the line.
   */
  static String[] fields(String stat) {
    int nameEnd = stat.lastIndexOf(')');
    String[] fields = stat.substring(nameEnd + 2).split(" ");
    fields[0] = stat.substring(stat.indexOf('(') + 1, nameEnd);
    return fields;
  }

  private static String ownPid() {
    try {
      return new File("/proc/self").getCanonicalFile().getName();
    } catch (IOException noProc) { // not Linux: no process is found
      return "";
    }
  }
}
