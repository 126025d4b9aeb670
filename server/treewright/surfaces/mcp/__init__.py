"""The MCP server: translates the protocol to the facade and back, and holds no rules."""
