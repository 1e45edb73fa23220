/**
 * Sends facts through lanes of limited size, one sending thread and one Kafka client for each
 * cluster; executors use RPC.
 */
package io.sparkfuse.spark.transport;
