/** Keeps failures of the plugin inside the plugin. */
package io.sparkfuse.spark.safety;
