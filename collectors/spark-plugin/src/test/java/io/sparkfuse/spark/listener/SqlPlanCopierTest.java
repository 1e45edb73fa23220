package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.SqlPlan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class SqlPlanCopierTest {
  private final List<Long> ids = new ArrayList<>();

  private SqlPlan copy(Object root) {
    return SqlPlanCopier.copy(
        root, SqlPlan.newBuilder().setSqlExecutionId(1).setPlanVersion(0), ids::add, null);
  }

  @Test
  void nodesAreCopiedInPreOrder() {
    PlanNode join =
        new PlanNode("SortMergeJoin", 3)
            .with(
                new PlanNode("Sort", 4, 5).with(new PlanNode("Scan parquet", 6)),
                new PlanNode("Exchange"));
    SqlPlan plan = copy(new PlanNode("AdaptiveSparkPlan").with(join));

    assertEquals(
        Arrays.asList("AdaptiveSparkPlan", "SortMergeJoin", "Sort", "Scan parquet", "Exchange"),
        plan.getNodeNamesList());
    assertEquals(Arrays.asList(-1, 0, 1, 2, 1), plan.getNodeParentsList());
    assertEquals(4, plan.getMetricsCount());
    assertEquals(2, plan.getMetrics(2).getNode());
    assertEquals(5, plan.getMetrics(2).getAccumulatorId());
    assertEquals("sum", plan.getMetrics(2).getType());
    assertEquals(Arrays.asList(3L, 4L, 5L, 6L), ids);
    assertEquals(0, plan.getLeftOutNodes());
    assertTrue(plan.hasLeftOutMetrics());
  }

  @Test
  void detailsAreParallelToNames() {
    PlanNode scan =
        new PlanNode("Scan parquet ")
            .described("FileScan parquet [id#1L] Batched: true")
            .withMetadata("Location", "InMemoryFileIndex(1 paths)[file:/lake/orders]")
            .withMetadata("PushedFilters", "[EqualTo(name,secret)]");
    PlanNode exchange = new PlanNode("Exchange").described("Exchange hashpartitioning(id#1L, 2)");
    SqlPlan plan = copy(new PlanNode("Project").with(exchange.with(scan)));

    assertEquals(
        Arrays.asList("", "hashpartitioning id", "lake/orders parquet"), plan.getNodeDetailsList());
  }

  @Test
  void detailsOfHugePlanAreBounded() {
    StringBuilder keys = new StringBuilder("HashAggregate(keys=[");
    for (int i = 0; i < 10_000; i++) {
      keys.append("column").append(i).append('#').append(i).append(", ");
    }
    PlanNode root = new PlanNode("Union");
    for (int i = 0; i < 2_000; i++) {
      root.with(new PlanNode("HashAggregate").described(keys.toString()));
    }
    SqlPlan plan = copy(root);

    int chars = plan.getNodeDetailsList().stream().mapToInt(String::length).sum();
    assertEquals(plan.getNodeNamesCount(), plan.getNodeDetailsCount());
    assertTrue(
        chars < SqlPlanCopier.MAX_DETAIL_CHARS + NodeDetail.MAX_CHARS, chars + " characters");
    assertTrue(plan.getSerializedSize() < 256 * 1_024);
  }

  @Test
  void hugePlanIsCutAndCounted() {
    PlanNode root = new PlanNode("Union");
    for (int i = 0; i < 5_000; i++) {
      root.with(new PlanNode("Scan", i, 10_000 + i, 20_000 + i));
    }
    SqlPlan plan = copy(root);

    assertEquals(SqlPlanCopier.MAX_NODES, plan.getNodeNamesCount());
    assertEquals(5_001 - SqlPlanCopier.MAX_NODES, plan.getLeftOutNodes());
    assertEquals(SqlPlanCopier.MAX_METRICS, plan.getMetricsCount());
    assertEquals(3 * 999 - SqlPlanCopier.MAX_METRICS, plan.getLeftOutMetrics());
    assertTrue(plan.getSerializedSize() < 256 * 1_024);
  }

  @Test
  void deepPlanDoesNotOverflowStack() {
    PlanNode root = new PlanNode("Project");
    for (int i = 0; i < 100_000; i++) {
      root = new PlanNode("Project").with(root);
    }
    SqlPlan plan = copy(root);

    assertEquals(SqlPlanCopier.MAX_NODES, plan.getNodeNamesCount());
    assertEquals(
        SqlPlanCopier.MAX_VISITS - SqlPlanCopier.MAX_NODES + 1,
        plan.getLeftOutNodes(),
        "what lies below the last visit is one");
  }

  @Test
  void recordSizeIsBoundedForWideCharacters() {
    char[] wide = new char[5_000];
    Arrays.fill(wide, '\u20ac');
    PlanNode root = new PlanNode(new String(wide));
    for (int i = 0; i < 2_000; i++) {
      root.with(new PlanNode(new String(wide), i));
    }

    assertTrue(copy(root).getSerializedSize() < 256 * 1_024);
  }

  @Test
  void missingPlanGivesEmptyPlan() {
    assertEquals(0, copy(null).getNodeNamesCount());
  }
}
