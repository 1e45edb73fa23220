"""Offline analysis: reads an event log, builds the views that rules read, and evaluates the rules."""
