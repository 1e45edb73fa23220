/** What the owner of a job may set. */
package io.sparkfuse.spark.settings;
