/**
 * The Sparkfuse plugin: watches one Spark application and, if its owner allows it, stops what runs
 * away.
 *
 * <p>Nothing in here may throw into Spark, block a thread of Spark's, or keep a JVM alive.
 */
package io.sparkfuse.spark;
