"""The loader writes Kafka topics to the store; a kill at any time neither loses nor duplicates rows."""
