/** The driver's eyes: one listener, and one class for each kind of thing that it copies. */
package io.sparkfuse.spark.listener;
