"""The two Flink jobs between the facts and the findings."""
