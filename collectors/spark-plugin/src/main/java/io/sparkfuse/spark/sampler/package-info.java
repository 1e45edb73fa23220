/** The executor's eyes: one thread that looks at the JVM, its running tasks and Python workers. */
package io.sparkfuse.spark.sampler;
