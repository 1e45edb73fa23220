"""The store: a ClickHouse server or the embedded ClickHouse engine, both used through ClickHouse's HTTP interface."""
