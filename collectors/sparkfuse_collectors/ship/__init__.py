"""The shipper: what logs tell into Kafka, each fact once, however often it is killed."""
