package io.sparkfuse.spark.listener;

import io.sparkfuse.spark.json.JsonReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Reads the cases of contracts/shared, which the tests of each language run. */
public final class SharedCases {
  private static final Path FOLDER = Paths.get("../../contracts");

  private SharedCases() {}

  @SuppressWarnings("unchecked")
  public static Stream<Map<String, Object>> of(String file) throws Exception {
    String json = new String(Files.readAllBytes(FOLDER.resolve(file)), StandardCharsets.UTF_8);
    Map<String, Object> all = (Map<String, Object>) JsonReader.read(json);
    return ((List<Map<String, Object>>) all.get("cases")).stream();
  }
}
