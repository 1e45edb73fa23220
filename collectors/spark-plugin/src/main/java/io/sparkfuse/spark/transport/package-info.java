/** Sends facts: bounded lanes, one sending thread, one Kafka client; RPC for executors. */
package io.sparkfuse.spark.transport;
