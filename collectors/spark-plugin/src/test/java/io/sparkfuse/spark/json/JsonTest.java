package io.sparkfuse.spark.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
  @Test
  void writtenJsonIsParsed() {
    Map<String, Object> value = new LinkedHashMap<>();
    value.put("text", "a \"quoted\" \\ line\nof \u20ac and \ud83d\ude00");
    value.put("number", -9_007_199_254_740_993L);
    value.put("list", Arrays.asList(true, 1L, "x"));

    assertEquals(value, JsonReader.read(JsonWriter.write(value)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "{\"a\":1,}",
        "{\"a\":1}x",
        "{\"a\":1,\"a\":2}",
        "[1 2]",
        "01",
        "+1",
        "nul",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "{1:2}",
        "'a'",
        "NaN",
        "[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]"
      })
  void invalidJsonIsRefusedWithPosition(String text) {
    assertThrows(IllegalArgumentException.class, () -> JsonReader.read(text));
  }
}
