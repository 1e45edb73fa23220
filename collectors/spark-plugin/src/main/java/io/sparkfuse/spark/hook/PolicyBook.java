package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.safety.PluginLog;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The policies that this job accepts, by the SHA-256 of their lines. A signal names its policy by
 * this hash, so that the holder of a key cannot choose conditions.
 */
final class PolicyBook {
  private static final String RESOURCE = "fuse_policies.jsonl";
  private final Map<String, Policy> policies = new HashMap<>();

  private PolicyBook() {}

  /**
   * Reads the file of {@code spark.sparkfuse.fuse.policies}, or the policies in the jar if the
   * setting is empty. If the file cannot be read, no policy is known and each signal is refused.
   */
  static PolicyBook read(String file) {
    try {
      return of(file.isEmpty() ? shipped() : Files.readAllLines(Paths.get(file)));
    } catch (IOException unreadable) {
      PluginLog.warn("Sparkfuse: cannot read the policies of the fuse: " + unreadable);
      return new PolicyBook();
    }
  }

  /** Parses lines; a line that is not a policy is logged and ignored. */
  static PolicyBook of(List<String> lines) {
    PolicyBook book = new PolicyBook();
    for (String line : lines) {
      if (line.trim().isEmpty()) {
        continue;
      }
      try {
        book.policies.put(Hashes.sha256(line), Policy.of(line));
      } catch (IllegalArgumentException malformed) {
        PluginLog.warn(
            "Sparkfuse: a line of the fuse's policies is ignored: " + malformed.getMessage());
      }
    }
    return book;
  }

  static PolicyBook of(String... lines) {
    return of(Arrays.asList(lines));
  }

  /** Returns a policy, or null if its hash is not known. */
  Policy find(String hash) {
    return policies.get(hash);
  }

  private static List<String> shipped() throws IOException {
    try (InputStream in = PolicyBook.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IOException("the jar has no " + RESOURCE);
      }
      return new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))
          .lines()
          .collect(Collectors.toList());
    }
  }
}
