/** The way out of a JVM: bounded lanes, one sending thread, one Kafka client; RPC for executors. */
package io.sparkfuse.spark.transport;
