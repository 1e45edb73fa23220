"""The store: ClickHouse through its HTTP interface, a server or the embedded engine."""
