"""The store, the loader, the analyses at rest and the breaker."""
