"""The MCP server: the questions of the query core as read-only tools for agents."""
