"""The embedded stack: real Kafka, Flink, ClickHouse's engine, Alertmanager and Prometheus on one machine."""
