package io.sparkfuse.spark.sampler;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Reads the resident memory of a process on Linux from a file whose values do not depend on the
 * page size.
 */
final class ResidentMemory {
  private ResidentMemory() {}

  /**
   * Returns the resident memory in bytes from the process's {@code status} file, or -1 if there is
   * none.
   */
  static long bytes(Path status) {
    try {
      for (String line : Files.readAllLines(status, StandardCharsets.ISO_8859_1)) {
        if (line.startsWith("VmRSS:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1_024;
        }
      }
    } catch (Exception gone) {
      // the process ended, or this is not Linux
    }
    return -1;
  }
}
