/** The driver's hand: takes signed signals, checks them against its own counters, acts, answers. */
package io.sparkfuse.spark.hook;
