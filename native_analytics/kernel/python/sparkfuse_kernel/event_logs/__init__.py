"""Finds and opens local or remote event logs: files, rolling folders, Spark 1.x folders, Databricks deliveries."""
