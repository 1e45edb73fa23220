"""Reads logs of ended applications in worker processes; gives rows for the store and training samples for baselines."""
