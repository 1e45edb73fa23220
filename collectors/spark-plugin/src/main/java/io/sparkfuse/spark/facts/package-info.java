/** From what was seen to the record of a fact: identity, event ids, scrubbing, Protobuf. */
package io.sparkfuse.spark.facts;
