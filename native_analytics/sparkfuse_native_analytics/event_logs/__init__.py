"""Reads event logs into Arrow tables and masks secrets in their texts."""
