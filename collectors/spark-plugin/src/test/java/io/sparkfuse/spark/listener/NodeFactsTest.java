package io.sparkfuse.spark.listener;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.NodeEvent;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorBlacklisted;
import org.apache.spark.scheduler.SparkListenerExecutorExcluded;
import org.apache.spark.scheduler.SparkListenerExecutorExcludedForStage;
import org.apache.spark.scheduler.SparkListenerExecutorUnexcluded;
import org.apache.spark.scheduler.SparkListenerNodeBlacklistedForStage;
import org.apache.spark.scheduler.SparkListenerNodeExcluded;
import org.apache.spark.scheduler.SparkListenerNodeUnblacklisted;
import org.junit.jupiter.api.Test;

class NodeFactsTest {
  private final NodeFacts facts = new NodeFacts();

  private NodeEvent reported(SparkListenerEvent event) {
    assertTrue(NodeFacts.isNodeEvent(event.getClass().getName()));
    return facts.of(event).getNodeEvent();
  }

  @Test
  void eventsAreRecognisedByAllNames() {
    NodeEvent executor = reported(new SparkListenerExecutorExcludedForStage(9, "4", 2, 7, 1));

    assertEquals("excluded", executor.getEvent());
    assertEquals("4", executor.getExecutorId());
    assertEquals(7, executor.getStageId());
    assertEquals(2, executor.getTaskFailures());
    assertEquals(9, executor.getHappenedMs());
    assertFalse(executor.hasHost(), "the event does not say it");
    NodeEvent node = reported(new SparkListenerNodeBlacklistedForStage(9, "w4", 1, 7, 0));
    assertEquals("w4", node.getHost());
    assertFalse(node.hasTaskFailures(), "it counts executors");
    assertEquals("excluded", reported(new SparkListenerNodeExcluded(9, "w5", 1)).getEvent());
    assertEquals("taken back", reported(new SparkListenerExecutorUnexcluded(9, "4")).getEvent());
    assertEquals("taken back", reported(new SparkListenerNodeUnblacklisted(9, "w4")).getEvent());
    assertFalse(NodeFacts.isNodeEvent(SparkListenerExecutorAdded.class.getName()));
  }

  @Test
  void eventPostedUnderTwoNamesIsReportedOnce() {
    assertNotNull(facts.of(new SparkListenerExecutorBlacklisted(9, "4", 2)));
    assertNull(facts.of(new SparkListenerExecutorExcluded(9, "4", 2)));
    assertNotNull(facts.of(new SparkListenerExecutorExcluded(10, "4", 2)));
  }
}
