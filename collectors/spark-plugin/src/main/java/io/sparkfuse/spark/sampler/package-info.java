/** Samples an executor: one thread that reads the JVM, its running tasks and Python workers. */
package io.sparkfuse.spark.sampler;
