"""The loader: what Kafka has, into the store; nothing lost and nothing doubled, however often it is killed."""
