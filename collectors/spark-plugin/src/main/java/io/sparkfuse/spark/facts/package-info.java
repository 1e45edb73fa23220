/** Encodes facts: identity, event ids, scrubbing, Protobuf. */
package io.sparkfuse.spark.facts;
