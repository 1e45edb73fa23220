"""Grafana dashboards as code, and the HTML report."""
