"""The store: ClickHouse behind its HTTP interface, be it a server or the engine embedded in one process of ours."""
