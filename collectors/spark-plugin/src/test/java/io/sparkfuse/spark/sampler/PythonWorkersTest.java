package io.sparkfuse.spark.sampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PythonWorkersTest {
  @TempDir Path proc;

  private void process(int pid, String name, int parent, int ticks) throws Exception {
    Path folder = Files.createDirectories(proc.resolve(Integer.toString(pid)));
    String stat =
        pid
            + " ("
            + name
            + ") S "
            + parent
            + " 0 0 0 0 0 0 0 0 0 "
            + ticks
            + " 0 0 0 20 0 1 0 5 999 50 18446744073709551615";
    Files.write(folder.resolve("stat"), stat.getBytes(StandardCharsets.US_ASCII));
    Files.write(folder.resolve("cmdline"), "python3".getBytes(StandardCharsets.US_ASCII));
    byte[] status = "Name:\tpython3\nVmRSS:\t    200 kB\n".getBytes(StandardCharsets.US_ASCII);
    Files.write(folder.resolve("status"), status);
  }

  @Test
  void processThatEndsMeanwhileIsSkipped() throws Exception {
    process(10, "java", 1, 5);
    process(20, "python3", 10, 100);
    process(21, "python3", 10, 100);
    Files.write(proc.resolve("20/stat"), new byte[0]);
    Files.delete(proc.resolve("21/status"));
    PythonWorkers workers = new PythonWorkers(proc, "10");
    workers.update(true);

    assertEquals(1_000_000_000, workers.cpuNs());
    assertEquals(0, workers.residentBytes());
  }

  @Test
  void stalledWorkersAreDescribedWithoutDaemon() throws Exception {
    process(10, "java", 1, 5);
    process(20, "python3", 10, 7);
    PythonWorkers workers = new PythonWorkers(proc, "10");
    byte[] daemon = "python3\0-m\0pyspark.daemon".getBytes(StandardCharsets.US_ASCII);
    Files.write(proc.resolve("20/cmdline"), daemon);
    workers.update(true);

    assertEquals(0, workers.count(), "a daemon that has no worker yet");
    assertNull(workers.describeStalled());

    process(21, "python3", 20, 100);
    process(22, "python3", 20, 30);
    workers.update(true);
    process(22, "python3", 20, 31);
    byte[] channel = "hrtimer_nanosleep".getBytes(StandardCharsets.US_ASCII);
    Files.write(proc.resolve("21/wchan"), channel);
    workers.update(true);

    assertEquals(2, workers.count());
    assertEquals(1_380_000_000, workers.cpuNs());
    assertEquals(
        "pid 21, state S, waits in hrtimer_nanosleep; Python frames are not visible to the JVM",
        workers.describeStalled());
  }

  @Test
  void cpuOfEndedWorkersIsKept() throws Exception {
    process(10, "java", 1, 5);
    process(20, "python3", 10, 100);
    PythonWorkers workers = new PythonWorkers(proc, "10");
    workers.update(true);
    Files.delete(proc.resolve("20/stat"));
    workers.update(true);

    assertEquals(0, workers.count());
    assertEquals(1_000_000_000, workers.cpuNs());
  }

  @Test
  void onlyPythonDescendantsOfJvmCount() throws Exception {
    process(10, "java", 1, 5);
    process(20, "python3", 10, 0);
    process(21, "python3 a) b(", 20, 100);
    process(22, "python3", 20, 30);
    process(30, "python3", 1, 1_000);
    process(31, "bash", 10, 1_000);
    process(40, "java", 10, 1_000);
    process(41, "python3", 40, 1_000);
    PythonWorkers workers = new PythonWorkers(proc, "10");
    workers.update(true);
    process(21, "python3 a) b(", 20, 140);
    workers.update(true);

    assertEquals(3 * 200 * 1_024, workers.residentBytes());
    assertEquals(400_000_000, workers.cpuBeyond(0), "one worker used 40 ticks of 10 ms");
    assertEquals(0, workers.cpuBeyond(1), "and it is that of the task that moves");
  }
}
