package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.sparkfuse.contracts.SqlMetrics;
import java.util.Arrays;
import java.util.Collections;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.collection.JavaConverters;

class SqlRegistryTest {
  private final SqlRegistry registry = new SqlRegistry();

  private static Object pairs(Object... idsAndValues) {
    Object[] pairs = new Object[idsAndValues.length / 2];
    for (int i = 0; i < pairs.length; i++) {
      pairs[i] = new Tuple2<>(idsAndValues[2 * i], idsAndValues[2 * i + 1]);
    }
    return JavaConverters.asScalaBuffer(Arrays.asList(pairs));
  }

  @Test
  void lastValueOfEachMetricIsReported() {
    registry.started(1).expect(7);
    registry.driverUpdated(1, pairs(7L, 10L, 8L, 3L));
    registry.driverUpdated(1, pairs(7L, 12L));
    registry.driverUpdated(2, pairs(7L, 99L));
    SqlMetrics metrics = registry.ended(1);

    assertEquals(Arrays.asList(7L, 8L), metrics.getAccumulatorIdsList());
    assertEquals(Arrays.asList(12L, 3L), metrics.getValuesList());
    assertEquals(0, metrics.getLeftOut());
    assertNull(registry.ended(1), "it ends once");
  }

  @Test
  void metricWithoutValueIsNotReported() {
    registry.started(1).expect(7);

    assertEquals(Collections.emptyList(), registry.ended(1).getAccumulatorIdsList());
  }

  @Test
  void plansAreNumberedFromZero() {
    SqlRegistry.Execution execution = registry.started(1);

    assertEquals(0, execution.nextVersion());
    assertEquals(1, registry.of(1).nextVersion());
    assertNull(registry.of(2), "whose start was not seen");
  }

  @Test
  void oldestQueriesAreForgottenFirst() {
    for (int i = 0; i < 100_000; i++) {
      registry.started(i).expect(i);
      registry.bound();
    }

    assertEquals(100_000 - SqlRegistry.MAX_EXECUTIONS, registry.forgotten());
    assertNull(registry.ended(0));
    assertNotNull(registry.ended(99_999));
  }

  @Test
  void totalMetricsAreBounded() {
    long id = 0;
    for (int i = 0; i < 100; i++) {
      SqlRegistry.Execution execution = registry.started(i);
      for (int metric = 0; metric < 2 * SqlRegistry.MAX_METRICS; metric++) {
        execution.expect(id++);
      }
      registry.bound();
    }

    int kept = SqlRegistry.MAX_METRICS_IN_ALL / SqlRegistry.MAX_METRICS;
    assertEquals(100 - kept, registry.forgotten());
    assertEquals(SqlRegistry.MAX_METRICS, registry.ended(99).getLeftOut());
  }
}
