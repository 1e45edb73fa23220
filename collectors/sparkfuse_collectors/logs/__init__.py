"""Event logs that grow: found, followed file by file, and read as bytes."""
