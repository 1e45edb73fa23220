/** JSON for signals, receipts and the state that job code reads. */
package io.sparkfuse.spark.json;
