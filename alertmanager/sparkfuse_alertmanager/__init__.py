"""The sender: from findings to Alertmanager."""
