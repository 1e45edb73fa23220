"""Watches the pods of Spark on Kubernetes, and reports their nodes and why they ended."""
