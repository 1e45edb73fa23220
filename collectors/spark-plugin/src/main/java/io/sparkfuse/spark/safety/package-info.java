/** What keeps the plugin's trouble inside the plugin. */
package io.sparkfuse.spark.safety;
