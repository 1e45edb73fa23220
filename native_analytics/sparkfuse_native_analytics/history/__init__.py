"""Reads the logs of ended applications in worker processes: rows for the store and training samples for baselines."""
