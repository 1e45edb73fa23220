"""Keyed state of the steps: values in Flink's state, their encoding, and a cache in front of it."""
