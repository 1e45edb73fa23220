"""Collectors that run beside Spark: the event-log shipper."""
