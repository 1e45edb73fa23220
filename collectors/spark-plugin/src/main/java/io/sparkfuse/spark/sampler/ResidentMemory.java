package io.sparkfuse.spark.sampler;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Resident memory of a process as Linux tells it in bytes: pages have not one size everywhere. */
final class ResidentMemory {
  private ResidentMemory() {}

  /** By the process' {@code status} below /proc; -1 where there is none. [bytes] */
  static long bytes(Path status) {
    try {
      for (String line : Files.readAllLines(status, StandardCharsets.ISO_8859_1)) {
        if (line.startsWith("VmRSS:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1_024;
        }
      }
    } catch (Exception gone) { // it ended, or this is no Linux
    }
    return -1;
  }
}
