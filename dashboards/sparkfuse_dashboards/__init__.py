"""The Grafana dashboards as Python code, and the HTML report."""
