/** The settings of a job. */
package io.sparkfuse.spark.settings;
