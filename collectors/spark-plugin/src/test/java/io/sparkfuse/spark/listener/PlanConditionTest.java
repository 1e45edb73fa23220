package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PlanConditionTest {
  static Stream<Map<String, Object>> cases() throws Exception {
    return SharedCases.of("generated/shared/plan_conditions.json");
  }

  @ParameterizedTest
  @MethodSource("cases")
  void sharedCaseHasItsCondition(Map<String, Object> test) {
    String condition = PlanCondition.of((String) test.get("text"));

    assertEquals(test.get("condition"), condition, (String) test.get("name"));
  }

  @Test
  void longConditionIsBounded() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 1000; i++) {
      text.append("(column").append(i).append('#').append(i).append(" = 1) AND ");
    }

    assertTrue(PlanCondition.of(text.toString()).length() <= PlanCondition.MAX_CONDITION_CHARS);
  }
}
