"""From findings to people: the sender to Alertmanager, the receiver that records deliveries, and their files."""
