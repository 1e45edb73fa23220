"""Event logs that grow: found, decompressed and read line by line."""
