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

class SqlBookTest {
  private final SqlBook book = new SqlBook();

  private static Object pairs(Object... idsAndValues) {
    Object[] made = new Object[idsAndValues.length / 2];
    for (int i = 0; i < made.length; i++) {
      made[i] = new Tuple2<>(idsAndValues[2 * i], idsAndValues[2 * i + 1]);
    }
    return JavaConverters.asScalaBuffer(Arrays.asList(made));
  }

  @Test
  void theLastValueOfEachMetricIsTold() {
    book.started(1).expect(7);
    book.driverUpdated(1, pairs(7L, 10L, 8L, 3L));
    book.driverUpdated(1, pairs(7L, 12L));
    book.driverUpdated(2, pairs(7L, 99L));
    SqlMetrics metrics = book.ended(1);

    assertEquals(Arrays.asList(7L, 8L), metrics.getAccumulatorIdsList());
    assertEquals(Arrays.asList(12L, 3L), metrics.getValuesList());
    assertEquals(0, metrics.getLeftOut());
    assertNull(book.ended(1), "it ends once");
  }

  @Test
  void aMetricWithoutAValueIsNotTold() {
    book.started(1).expect(7);

    assertEquals(Collections.emptyList(), book.ended(1).getAccumulatorIdsList());
  }

  @Test
  void plansAreNumberedFromZero() {
    SqlBook.Execution execution = book.started(1);

    assertEquals(0, execution.nextVersion());
    assertEquals(1, book.of(1).nextVersion());
    assertNull(book.of(2), "whose start was not seen");
  }

  @Test
  void executionsThatNeverEndAreForgottenOldestFirst() {
    for (int i = 0; i < 100_000; i++) {
      book.started(i).expect(i);
      book.bound();
    }

    assertEquals(100_000 - SqlBook.MOST_EXECUTIONS, book.forgotten());
    assertNull(book.ended(0));
    assertNotNull(book.ended(99_999));
  }

  @Test
  void metricsOfAllExecutionsTogetherAreBounded() {
    long id = 0;
    for (int i = 0; i < 100; i++) {
      SqlBook.Execution execution = book.started(i);
      for (int metric = 0; metric < 2 * SqlBook.MOST_METRICS; metric++) {
        execution.expect(id++);
      }
      book.bound();
    }

    int kept = SqlBook.MOST_METRICS_IN_ALL / SqlBook.MOST_METRICS;
    assertEquals(100 - kept, book.forgotten());
    assertEquals(SqlBook.MOST_METRICS, book.ended(99).getLeftOut());
  }
}
