/**
 * The Sparkfuse plugin: collects facts about one Spark application and, if its owner allows it,
 * stops runaway work.
 *
 * <p>Nothing in this package may throw into Spark, block a thread of Spark, or keep a JVM alive.
 */
package io.sparkfuse.spark;
