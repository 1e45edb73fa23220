/** The driver's listener, and one class for each kind of event that it copies. */
package io.sparkfuse.spark.listener;
