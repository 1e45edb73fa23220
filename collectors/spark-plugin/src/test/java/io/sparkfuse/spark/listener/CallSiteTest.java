package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the user's line is found in call sites, with the cases that all languages share. */
class CallSiteTest {
  static Stream<Map<String, Object>> cases() throws Exception {
    return SharedCases.of("generated/shared/framework_frames.json");
  }

  @ParameterizedTest
  @MethodSource("cases")
  void sharedCaseHasItsCallSite(Map<String, Object> test) {
    String site = CallSite.of((String) test.get("short"), (String) test.get("long"));

    assertEquals(test.get("call_site"), site, (String) test.get("name"));
  }

  @Test
  void longCallSiteIsDropped() {
    char[] method = new char[1_000];
    Arrays.fill(method, 'm');
    String site = CallSite.of(null, "com.acme.Orders." + new String(method) + "(Orders.java:3)");

    assertNull(site);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a at ", "(", ":1", "\n", " ", "a(b:1)\n"})
  void hostileTextIsReadInBoundedTime(String part) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 100_000; i++) {
      text.append(part);
    }

    assertTimeout(Duration.ofSeconds(1), () -> CallSite.of(text + "b:1", text.toString() + text));
  }
}
