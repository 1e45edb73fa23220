"""Event logs: found wherever they lie, and read by the kernel."""
