"""Finds growing event logs, decompresses them, and reads them line by line."""
