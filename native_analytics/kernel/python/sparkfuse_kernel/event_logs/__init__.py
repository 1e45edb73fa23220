"""Finds and opens event logs: files, rolling folders, Spark 1.x folders, Databricks deliveries, local or remote."""
