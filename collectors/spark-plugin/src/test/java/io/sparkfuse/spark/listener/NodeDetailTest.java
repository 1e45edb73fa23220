package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the details of plan nodes with the cases that the kernel's tests also use. */
class NodeDetailTest {
  static Stream<Map<String, Object>> cases() throws Exception {
    return SharedCases.of("shared/node_details.json");
  }

  @ParameterizedTest
  @MethodSource("cases")
  @SuppressWarnings("unchecked")
  void sharedCaseHasItsDetail(Map<String, Object> test) {
    String detail =
        NodeDetail.of(
            (String) test.get("node_name"),
            (String) test.get("simple_string"),
            (Map<String, String>) test.get("metadata"));

    assertEquals(test.get("detail"), detail, (String) test.get("case"));
  }

  @Test
  void detailOfAnyTextIsBounded() {
    String[] names = {
      "",
      "Scan",
      "Scan ",
      "BatchScan ,",
      "Execute ",
      "Execute InsertInto",
      "AppendData",
      "Exchange",
      "XJoin",
      "HashAggregate",
      "Scan JDBCRelation(",
      "Scan In-memory table "
    };
    String[] texts = {
      "",
      "[",
      "]]",
      "(((",
      "keys=[",
      "keys=",
      "`",
      "`a",
      "`a`.",
      "#",
      "#1",
      "a#",
      "[a#1",
      "[a#1],",
      "table=",
      "path -> ",
      ",,,",
      "/",
      "a/b",
      "🙂#1",
      "hashpartitioning(",
      "key=[a#1"
    };
    for (String name : names) {
      for (String text : texts) {
        String detail =
            NodeDetail.of(name, name + text, Collections.singletonMap("Location", text));

        assertTrue(detail.length() <= NodeDetail.MAX_CHARS, name + text);
      }
    }
  }
}
