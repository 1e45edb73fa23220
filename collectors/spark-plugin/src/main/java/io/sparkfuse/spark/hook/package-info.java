/**
 * The hook: reads signed signals, verifies them with the driver's own counters, acts, and writes
 * receipts.
 */
package io.sparkfuse.spark.hook;
