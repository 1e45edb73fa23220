/**
 * Sends facts through lanes of limited size, one sending thread and one Kafka client; executors use
 * RPC.
 */
package io.sparkfuse.spark.transport;
