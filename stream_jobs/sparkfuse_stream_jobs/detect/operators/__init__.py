"""The steps as Flink operators: their keys, their state and their timers. The logic is in separate modules."""
