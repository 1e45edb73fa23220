"""Follows event logs and sends their facts to Kafka, each fact exactly once."""
