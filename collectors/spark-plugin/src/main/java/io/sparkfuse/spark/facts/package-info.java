/** Encodes facts: adds the identity and event ids, scrubs texts, and serialises to Protobuf. */
package io.sparkfuse.spark.facts;
