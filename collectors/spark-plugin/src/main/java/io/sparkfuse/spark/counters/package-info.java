/** What the driver itself knows of stages and jobs: evidence of its own for the fuse. */
package io.sparkfuse.spark.counters;
