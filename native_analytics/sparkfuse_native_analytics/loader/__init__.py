"""The loader writes Kafka topics to the store; if it is killed at any time, no row is lost or duplicated."""
