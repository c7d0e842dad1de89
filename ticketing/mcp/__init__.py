"""What agents use: the wire of MCP, its tools, and the text of /llms.txt."""
