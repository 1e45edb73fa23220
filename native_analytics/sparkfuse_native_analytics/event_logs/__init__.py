"""Reads event logs into Arrow tables and scrubs their texts."""
