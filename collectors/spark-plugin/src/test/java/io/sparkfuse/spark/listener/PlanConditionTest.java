package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlanConditionTest {
  /** The cases of test_rules_plan_conditions.py: both must say the same. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Filter (isnotnull(day#5) AND (day#5 = 2024-05-01)) | isnotnull day AND day =",
        "Filter (name#12 = AND secret) | name = AND",
        "Filter (amount#7L >= 12.50) | amount >=",
        "SortMergeJoin [customer_id#1L], [customer_id#20L], LeftOuter | customer_id customer_id LeftOuter",
        "Filter (note#3 = straße <b>) | note = < >",
      })
  void columnsComparisonsAndKindsStayAndLiteralsGo(String text, String expected) {
    assertEquals(expected, PlanCondition.of(text));
  }

  @Test
  void aLongConditionIsBounded() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 1000; i++) {
      text.append("(column").append(i).append('#').append(i).append(" = 1) AND ");
    }

    assertTrue(PlanCondition.of(text.toString()).length() <= PlanCondition.MAX_CONDITION_CHARS);
  }
}
