"""What `sparkfuse ship` and `sparkfuse backfill` are made of beside the shipper: history and baselines."""
