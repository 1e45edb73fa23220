/** The driver's own counters of stages and jobs, which the hook uses to verify a signal. */
package io.sparkfuse.spark.counters;
