/** The interface for Java and Scala job code. */
package io.sparkfuse.spark.api;
