"""Send findings to Alertmanager, and render the configuration of Alertmanager and Prometheus."""
